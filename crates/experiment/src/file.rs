//! The types of experiment files.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use caudal_topology::{TimeValue, TopologyFile};

use crate::scalar::{Scalar, Text};

/// An experiment: a question, a network, flows, the parameters that vary, and the number of repetitions.
///
/// A text may contain `{parameter}`, which is replaced by its value in the case.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExperimentFile {
    /// The title, one line.
    pub title: String,
    /// The question it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// The method and its rationale, for the report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The source of the published values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The random seed: for the order of the trials, and for every lab. Default 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The network.
    pub topology: TestbedFile,
    /// The duration of a trial.
    #[serde(default)]
    pub time: TimeFile,
    /// The number of repetitions of a case.
    #[serde(default)]
    pub repeat: RepeatFile,
    /// The flows, at least one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flow: Vec<FlowFile>,
    /// The parameters that vary: the cases are all combinations of their values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameter: Vec<ParameterFile>,
    /// Named cases. A parameter that a case sets does not vary in it; without any, the cases are the combinations alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub case: Vec<CaseFile>,
    /// Combinations that are excluded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<ExcludeFile>,
    /// Captures every interface of the hosts into a file beside the report. Default false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<bool>,
    /// Turns the offloads (TSO, GSO, GRO, checksums) of every interface of the hosts `on` or `off` for each trial; by default they
    /// stay as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offload: Option<Scalar>,
    /// Keeps the processors from going idle during trials, by threads of the lowest priority: a virtual machine that goes idle wakes an
    /// emulated link late. Default false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub awake: Option<bool>,
    /// The expectations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expect: Vec<ExpectFile>,
    /// The results that others published.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<PublishedFile>,
    /// The analysis of starvation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contention: Option<ContentionFile>,
    /// Conclusions drawn from the numbers, at the end of the report.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conclude: Vec<ConcludeFile>,
    /// The tables of the report; by default one of all cases and the usual metrics.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub table: Vec<TableFile>,
    /// The figures of the report; by default those that suit the flows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub figure: Vec<FigureFile>,
    /// The changes made by `--quick`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quick: Option<QuickFile>,
}

/// The network of an experiment: exactly one of a preset, a file, an inline topology, hosts, or the loopback of this machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PlaceFile")]
pub struct TestbedFile {
    /// A preset of `caudal lab`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// The number parameter of the preset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<Scalar>,
    /// A topology file, relative to the experiment file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// An inline topology, as in a topology file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lab: Option<TopologyFile>,
    /// Hosts of a real network that run `caudal serve`, by the names that flows use; a name that is missing is this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<BTreeMap<String, String>>,
    /// This machine alone, over its loopback interface; every host name refers to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loopback: Option<bool>,
    /// Changes to links, as `bottleneck.rate={rate}`; `*` is every link.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<String>,
    /// The rate of the narrowest link of a real network, for predictions and for rates in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_rate: Option<String>,
}

/// The duration of a trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimeFile {
    /// The time that flows without a `stop` are measured. Default 10 s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measure: Option<TimeValue>,
    /// The warm-up excluded at the beginning, before `measure`. Default 1 s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<TimeValue>,
    /// The interval between readings of the counters. Default 200 ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<TimeValue>,
}

/// The number of repetitions of a case.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RepeatFile {
    /// The minimum number of trials of a case. Default 3, or 10 with an error goal: stopping earlier makes intervals optimistic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<u64>,
    /// The maximum number of trials. Default: `min`, or 30 with an error goal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<u64>,
    /// The error goal: repeats until the interval of each metric of `of` is within this fraction of its mean, as `5%`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relative_error: Option<String>,
    /// The metrics with the error goal, as `tcp.goodput`. Default: the goodput of every flow, the round-trip time of echo flows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub of: Vec<String>,
    /// The confidence of all intervals. Default 0.95.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// The maximum number of times a trial is repeated in which the emulator stalled. Default 10.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<u64>,
}

/// The kind of a flow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "KindFile")]
pub enum FlowKindFile {
    /// Throughput over TCP.
    #[default]
    Tcp,
    /// Datagrams at a rate.
    Udp,
    /// Echo over TCP, one message at a time.
    Rtt,
    /// Echo over UDP.
    #[serde(rename = "rtt-udp")]
    RttUdp,
    /// The transfer of a generated file of `bytes`, verified by its digest.
    File,
    /// Probing of the path from one host to another, as `caudal path` does it.
    Path,
}

/// What is probed of a path, and how.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathProbingFile {
    /// What is measured: `links` (each link, from one end), `ends` (the capacity each way, between both ends), `available` (that and the
    /// available bandwidth), `duplex` (the duplex mode of the links), or `all`. Default `links`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measure: Option<Text>,
    /// The time after which probing from one end ends where its accuracy is not reached before. Default: the time measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Scalar>,
    /// Half the width of a capacity's interval, as a part of the capacity, at which no more is probed. Default `5%`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<Scalar>,
    /// The packets sent right before a probe that looks for shapers. Default 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub primers: Option<Scalar>,
    /// Counts the routes that other flows take. Default false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routes: Option<bool>,
}

/// A flow.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowFile {
    /// The name in metrics, tables and figures.
    pub name: String,
    /// The kind.
    pub kind: FlowKindFile,
    /// The host that sends; for echo the client.
    pub from: String,
    /// The host that receives; for echo the server.
    pub to: String,
    /// The condition for the flow: an expression of the parameters. Default: in every case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// The number of parallel connections. Default 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<Scalar>,
    /// The payload rate of each connection: `50M`, `80%` of the payload that `of` can carry, or `max`. Default `max` for TCP; required for UDP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Scalar>,
    /// The link that a `rate` in percent refers to. Default: the narrowest on the flow's path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// The bytes in a datagram or a block; of a file over TCP or TLS the bytes of each write; the sizes of echo messages, as `64` or `1..64Ki`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<Scalar>,
    /// The protocol of a file: `tcp`, `tls`, `rbt` or `quic`. Default `tcp`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<Text>,
    /// File bytes in each datagram of RBT. Default 1400.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet: Option<Scalar>,
    /// Nagle's algorithm is on for a file over TCP or TLS. Default false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nagle: Option<bool>,
    /// The congestion control at the sender.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion: Option<Text>,
    /// The size of the socket buffers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Scalar>,
    /// The maximum segment size in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mss: Option<Scalar>,
    /// The DSCP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dscp: Option<Scalar>,
    /// The start, relative to that of the trial. Default 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Scalar>,
    /// The stop, relative to the start of the trial. Default: the end of the trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Scalar>,
    /// The amount of payload in bytes after which it stops instead; the size of a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Scalar>,
    /// The number of messages of each size of an echo flow. Default: as many as fit the time with `every`, otherwise 1000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Scalar>,
    /// The period of scheduled echo messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Scalar>,
    /// What is probed of a path, and how.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathProbingFile>,
    /// Measures the flow also alone on the same network, as the baseline it is compared with. Default false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<bool>,
    /// Measures the latency under load: the flow is no load itself, and in no sum. Default false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<bool>,
}

/// A parameter that varies.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ParameterFile {
    /// The name.
    pub name: String,
    /// The name in tables and on axes. Default: its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The values. None where every case sets it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<Scalar>,
}

/// A named case.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CaseFile {
    /// The name.
    pub name: String,
    /// The title, one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The parameters it sets.
    #[serde(default)]
    pub set: BTreeMap<String, Scalar>,
}

/// Combinations that are excluded.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExcludeFile {
    /// The condition for exclusion: an expression of the parameters.
    pub when: String,
}

/// An expectation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExpectFile {
    /// The condition to be met: an expression of metrics and parameters, as `tcp.goodput < 0.1 * baseline`.
    pub that: String,
    /// The cases: an expression of the parameters. Default: every case that has the flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// The reason for the expectation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

/// A result that others published.
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
    /// The observed value, in the metric's base unit or with a unit, as `8.17M` or `1.94%`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Scalar>,
    /// The predicted value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicted: Option<Scalar>,
    /// The tolerance within which results agree, as a fraction. Default `5%`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// The reason for a difference, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

/// The analysis of starvation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContentionFile {
    /// The flow that may starve.
    pub victim: String,
    /// The parameter that is the load, whose values are numbers or percentages of the link.
    pub load: String,
    /// The link they share. Default: the narrowest on the victim's path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// The fraction of the fair share below which it starves. Default `10%`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<String>,
}

/// A conclusion drawn from the numbers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConcludeFile {
    /// The condition. Default: always.
    #[serde(default, rename = "if", skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// The text; `{expression}` is replaced by its value with its unit.
    pub say: String,
    /// The text when the condition does not hold.
    #[serde(default, rename = "else", skip_serializing_if = "Option::is_none")]
    pub otherwise: Option<String>,
    /// The question this answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<String>,
}

/// A table of the report: one row per case, one column per metric.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TableFile {
    /// The title.
    pub title: String,
    /// The cases: an expression of the parameters. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// The metrics; each has those of predicted, simulated, published and observed values that are known.
    pub metrics: Vec<String>,
}

/// The kind of a figure.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FigureKind {
    /// Rates over time, one line per flow.
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
    /// Boxes of a metric per case, with single trials as dots.
    Boxes,
    /// Bars of a metric per case with intervals: predicted, published, observed.
    Bars,
    /// A metric over a parameter, with intervals, one series per value of another.
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
    /// The kind.
    pub kind: FigureKind,
    /// The title.
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
    /// The parameter of the series of a sweep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// The changes made by `--quick`: fewer values and repetitions, shorter trials.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuickFile {
    /// Replaces the times, key by key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<TimeFile>,
    /// Replaces the repetitions, key by key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<RepeatFile>,
    /// Replaces the values of parameters.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, Vec<Scalar>>,
    /// Further combinations that are excluded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<ExcludeFile>,
    /// The named cases to keep. Default: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cases: Vec<String>,
    /// Replaces keys of flows, by the flow's name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub flow: BTreeMap<String, QuickFlowFile>,
}

/// The changes made by `--quick` to a flow.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuickFlowFile {
    /// Replaces its messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Scalar>,
    /// Replaces its length or sizes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<Scalar>,
    /// Replaces its bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Scalar>,
}
