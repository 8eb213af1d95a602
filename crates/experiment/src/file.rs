//! An experiment as its file writes it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use caudal_topology::{TimeValue, TopologyFile};

use super::scalar::{Scalar, Text};

/// An experiment: what is asked, on which network, with which flows, varied how and repeated until when.
///
/// A text may hold `{parameter}`: its value in the case at hand takes that place.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExperimentFile {
    /// What it is about, in a line.
    pub title: String,
    /// What it is to answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// How it is done and why so, for the report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Where the published values come from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Where chance begins: the order of the trials, and every lab. Default 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The network.
    pub topology: PlaceFile,
    /// How long a trial takes.
    #[serde(default)]
    pub time: TimeFile,
    /// How often a case is repeated.
    #[serde(default)]
    pub repeat: RepeatFile,
    /// What is sent, at least one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flow: Vec<FlowFile>,
    /// What is varied: the cases are all combinations of their values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameter: Vec<ParameterFile>,
    /// Cases by name. A parameter that a case sets is not varied in it; without any, the combinations alone are the cases.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub case: Vec<CaseFile>,
    /// Combinations that are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<ExcludeFile>,
    /// Records every interface of the hosts into a capture file beside the report. Default false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<bool>,
    /// What is to hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expect: Vec<ExpectFile>,
    /// What others published.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<PublishedFile>,
    /// What is to be said about which flow starves which.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contention: Option<ContentionFile>,
    /// Sentences that follow from the numbers, for the end of the report.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conclude: Vec<ConcludeFile>,
    /// Tables of the report; without any, one of all cases and the usual metrics.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub table: Vec<TableFile>,
    /// Figures of the report; without any, those that suit the flows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub figure: Vec<FigureFile>,
    /// What `--quick` changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quick: Option<QuickFile>,
}

/// The network of an experiment: exactly one of a preset, a file, a network written here, hosts, or this machine alone.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlaceFile {
    /// A preset of `caudal lab`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// How many of what the preset counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<Scalar>,
    /// A topology file, found from where the experiment's file is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// A network written here, as in a topology file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lab: Option<TopologyFile>,
    /// Hosts of a real network that run `caudal serve`, by the names that flows give them; a name that is missing is this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<BTreeMap<String, String>>,
    /// This machine alone, over its loopback interface; every name is it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loopback: Option<bool>,
    /// Changes of the links, as `bottleneck.rate={rate}`; `*` is every link.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<String>,
    /// The rate of the narrowest link of a real network, for predictions and for rates in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_rate: Option<String>,
}

/// How long a trial takes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimeFile {
    /// How long flows are measured that name no stop. Default 10 s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measure: Option<TimeValue>,
    /// What is left out at the beginning, before `measure`. Default 1 s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<TimeValue>,
    /// How often counters are read. Default 200 ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<TimeValue>,
}

/// How often a case is repeated.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RepeatFile {
    /// The fewest trials of a case. Default 3, or 10 where an error is asked for: stopping earlier makes intervals optimistic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<u64>,
    /// The most. Default: `min`, or 30 where an error is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<u64>,
    /// Repeats until the interval of each metric of `of` is within this part of its mean, as `5%`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relative_error: Option<String>,
    /// The metrics that have to be known so well, as `tcp.goodput`. Default: the goodput of every flow, the round-trip time of echo flows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub of: Vec<String>,
    /// The confidence of all intervals. Default 0.95.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// How often a trial is done again in which the emulator stood still. Default 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<u64>,
}

/// What a flow is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum KindFile {
    /// Throughput over TCP.
    #[default]
    Tcp,
    /// Datagrams at a rate.
    Udp,
    /// Echo over TCP, message by message.
    Rtt,
    /// Echo over UDP.
    #[serde(rename = "rtt-udp")]
    RttUdp,
}

/// Something that is sent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowFile {
    /// What it is called in metrics, tables and figures.
    pub name: String,
    /// What it is.
    pub kind: KindFile,
    /// The host that sends; for echo the one that asks.
    pub from: String,
    /// The host that receives; for echo the one that answers.
    pub to: String,
    /// The case has this flow only where this expression of the parameters holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// Connections at once. Default 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<Scalar>,
    /// Payload per second of each connection: `50M`, `80%` of the payload that `of` can carry, or `max`. Default `max` for TCP; UDP has to say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Scalar>,
    /// The link of which `rate` is a part. Default: the narrowest on the flow's path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// Bytes in a datagram or a block; the sizes of echo messages, as `64` or `1..64Ki`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<Scalar>,
    /// The congestion control at the sender.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion: Option<Text>,
    /// Socket buffers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Scalar>,
    /// The largest segment in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mss: Option<Scalar>,
    /// The DSCP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dscp: Option<Scalar>,
    /// When it starts, after the trial's start. Default 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Scalar>,
    /// When it stops, after the trial's start. Default: with the trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Scalar>,
    /// The payload bytes after which it stops instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Scalar>,
    /// Messages of each size of an echo flow. Default: as many as fit the time with `every`, else 1000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Scalar>,
    /// Echo on a schedule: a message every so often.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Scalar>,
    /// Also measured alone on the same network, as what it is compared with. Default false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<bool>,
    /// Measures the latency beside the load: it is no load itself, and in no sum. Default false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<bool>,
}

/// Something that is varied.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ParameterFile {
    /// What it is called.
    pub name: String,
    /// What it is called in tables and on axes. Default: its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its values. None where every case sets it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<Scalar>,
}

/// A case by name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CaseFile {
    /// What it is called.
    pub name: String,
    /// What it is, in a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The parameters it sets.
    #[serde(default)]
    pub set: BTreeMap<String, Scalar>,
}

/// Combinations that are left out.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExcludeFile {
    /// Left out where this expression of the parameters holds.
    pub when: String,
}

/// Something that is to hold.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExpectFile {
    /// An expression of metrics and parameters that is to be true, as `tcp.goodput < 0.1 * baseline`.
    pub that: String,
    /// Only in cases where this expression of the parameters holds. Default: in every case that has the flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// Why it should.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

/// What others published about a case.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PublishedFile {
    /// The cases: an expression of the parameters, or the name of a case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<String>,
    /// The cases by an expression of the parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// The metric, as `tcp.goodput`.
    pub metric: String,
    /// What was observed, in the metric's base unit or with a unit, as `8.17M` or `1.94%`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Scalar>,
    /// What was predicted there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicted: Option<Scalar>,
    /// How far ours may be from it to agree, as a part. Default `5%`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// Why ours differs, where it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

/// Which flow may starve, and from what.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContentionFile {
    /// The flow that may starve.
    pub victim: String,
    /// The parameter that is the load, whose values are numbers or parts of the link.
    pub load: String,
    /// The link they share. Default: the narrowest on the victim's path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// It starves below this part of its fair share. Default `10%`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<String>,
}

/// A sentence that follows from the numbers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConcludeFile {
    /// The condition. Default: always.
    #[serde(default, rename = "if", skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// What is said; `{expression}` is replaced by its value with its unit.
    pub say: String,
    /// What is said otherwise.
    #[serde(default, rename = "else", skip_serializing_if = "Option::is_none")]
    pub otherwise: Option<String>,
    /// The question this answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<String>,
}

/// A table of the report: a row a case, a column a metric.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TableFile {
    /// What it is about.
    pub title: String,
    /// The cases: an expression of the parameters. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// The metrics; each has as many of predicted, simulated, published and observed as are known.
    pub metrics: Vec<String>,
}

/// What a figure shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FigureKind {
    /// Rates over time, a line a flow.
    #[default]
    Rates,
    /// The share of the link of each flow over time, stacked.
    Share,
    /// Round-trip times over time: median with the band from p5 to p95.
    Rtt,
    /// Congestion window and retransmissions over time.
    Window,
    /// Loss and reordering over time.
    Loss,
    /// The cumulative distribution of round-trip times.
    Cdf,
    /// Boxes of a metric a case, with single trials as dots.
    Boxes,
    /// Bars of a metric a case with intervals: predicted, published, observed.
    Bars,
    /// A metric over a parameter, with intervals, a series a value of another.
    Sweep,
    /// Round-trip time over message size, with intervals.
    Sizes,
    /// The first round trips of each connection.
    First,
    /// The rates of interfaces over time.
    Interfaces,
}

/// A figure of the report.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FigureFile {
    /// What it shows.
    pub kind: FigureKind,
    /// What it is about.
    pub title: String,
    /// The cases: an expression of the parameters. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// The metric or metrics.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<String>,
    /// The parameter along the horizontal axis of a sweep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<String>,
    /// The parameter that makes the series of a sweep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// What `--quick` changes: fewer values and repetitions, shorter trials.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuickFile {
    /// In place of the times, key by key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<TimeFile>,
    /// In place of the repetitions, key by key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<RepeatFile>,
    /// In place of the values of parameters.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, Vec<Scalar>>,
    /// Further combinations that are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<ExcludeFile>,
    /// Only these of the named cases.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cases: Vec<String>,
    /// In place of keys of flows, by the flow's name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub flow: BTreeMap<String, QuickFlowFile>,
}

/// What `--quick` changes in a flow.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuickFlowFile {
    /// In place of its messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Scalar>,
    /// In place of its length or sizes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<Scalar>,
    /// In place of its bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Scalar>,
}
