//! The format of topology files.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::scalar::{ByteValue, FractionValue, RateValue, TimeValue};

/// A test network: hosts, routers, switches and hubs, and the links between them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TopologyFile {
    /// A description in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The seed of all random numbers: the same seed gives the same losses and delays, frame by frame. Default 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The networks that addresses are taken from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub addresses: Option<AddressesFile>,
    /// The congestion control of every host without one of its own. Default: the machine's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion: Option<String>,
    /// Kernel parameters of every host and router, such as `"net.ipv4.tcp_sack" = "0"`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sysctl: BTreeMap<String, String>,
    /// End systems. `caudal lab run` runs its command on the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub host: Vec<HostFile>,
    /// Routers, which forward packets between their links.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub router: Vec<HostFile>,
    /// Store-and-forward Ethernet switches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub switch: Vec<SwitchFile>,
    /// Repeaters: all links of one share a half-duplex medium.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hub: Vec<HubFile>,
    /// Links between two of these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub link: Vec<LinkFile>,
}

/// The networks that addresses are taken from.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddressesFile {
    /// An IPv4 network; every segment gets a /24 of it. Default `10.0.0.0/16`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipv4: Option<String>,
    /// An IPv6 network; every segment gets a /64 of it. Default `fd00:ca:da::/48`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipv6: Option<String>,
}

/// A host or a router.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostFile {
    /// Its name, by which other hosts resolve its address.
    pub name: String,
    /// Its congestion control. Default: that of the topology.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion: Option<String>,
    /// Its kernel parameters, such as `"net.ipv4.tcp_rmem" = "4096 65536 65536"`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sysctl: BTreeMap<String, String>,
}

/// A switch.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SwitchFile {
    /// Its name.
    pub name: String,
    /// The time from a frame's last bit in to its place in the output queue. Default 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<TimeValue>,
    /// The ageing time of learned addresses; 0 floods every frame. Default 300 s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<TimeValue>,
    /// The queue lengths at which it sends PAUSE frames. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<PauseFile>,
}

/// The lengths of an output queue at which PAUSE frames are sent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PauseFile {
    /// Above this length, stations are paused.
    pub high: ByteValue,
    /// At or below this length, they resume.
    pub low: ByteValue,
}

/// A hub.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HubFile {
    /// Its name.
    pub name: String,
    /// The rate of all its links. Default 10 Mbit/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<RateValue>,
}

/// A link. The keys beside `between` apply in both directions, those in `forward` and `backward` in one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkFile {
    /// Its name. Default: the names of its ends, joined by a dash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The names of the nodes at its two ends.
    #[serde(deserialize_with = "pair")]
    pub between: [String; 2],
    /// The names of its interfaces at hosts and routers. Default `eth0`, `eth1` … in the order of the links.
    #[serde(
        default,
        deserialize_with = "some_pair",
        skip_serializing_if = "Option::is_none"
    )]
    pub devices: Option<[String; 2]>,
    /// The largest packet in bytes. Default 1500; below 1280 there is no IPv6.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    /// The duplex mode. Default `full`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplex: Option<DuplexFile>,
    /// The handling of frames that collide after the slot time, at half-duplex ends. Default `drop`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_collision: Option<LateCollision>,
    /// The time that hosts and routers at half-duplex ends need after each frame before they can send the next; without
    /// effect in full duplex. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readiness: Option<ReadinessFile>,
    /// The segmentation of TCP and UDP by the interfaces at its ends: `on` as of network cards, or `off`. What happens on the link is the
    /// same; captures at the hosts, and what the emulator costs, are not. Default `on`, and always `off` in half duplex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segmentation: Option<SegmentationFile>,
    /// The driver: emulator or kernel. Default `auto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<Driver>,
    /// The line rate, preamble and interframe gap included. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<RateValue>,
    /// A line rate that changes over time, in place of `rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceFile>,
    /// The queue in front of the line. Default: drop-tail, the larger of 100 full frames and 50 ms at the line rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueFile>,
    /// The one-way delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<TimeValue>,
    /// A random delay on top of `delay`, drawn for each frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<JitterFile>,
    /// The probability that a frame is lost, independently of others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<FractionValue>,
    /// Loss in bursts (Gilbert–Elliott).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst_loss: Option<BurstLossFile>,
    /// The positions, counted from 0, of frames that are lost.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lose: Vec<u64>,
    /// The probability that a frame is damaged and dropped at the far end, because its check sequence is wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrupt: Option<FractionValue>,
    /// The probability that a frame is delivered with an inverted bit that no check sequence detects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrupt_silently: Option<FractionValue>,
    /// The probability that a frame arrives twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicate: Option<FractionValue>,
    /// Reordering.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reorder: Option<ReorderFile>,
    /// A token bucket at the receiving end, which drops what exceeds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policer: Option<BucketFile>,
    /// A token bucket at the sending end, which delays what exceeds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shaper: Option<BucketFile>,
    /// The load balancing over the paths. Default `per-flow`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub balance: Option<Balancing>,
    /// Parallel paths, in place of the link's own rate, queue, delay, jitter and loss.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<PathFile>,
    /// Keys that apply from the first end to the second only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forward: Option<ImpairmentsFile>,
    /// Keys that apply from the second end to the first only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backward: Option<ImpairmentsFile>,
}

/// The impairments of one direction of a link, in place of those of the link; the keys mean the same.
// The keys are those of `LinkFile`, listed twice because serde's `flatten` excludes `deny_unknown_fields`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CourseFile")]
pub struct ImpairmentsFile {
    /// The line rate, preamble and interframe gap included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<RateValue>,
    /// A line rate that changes over time, in place of `rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceFile>,
    /// The queue in front of the line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueFile>,
    /// The one-way delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<TimeValue>,
    /// A random delay on top of `delay`, drawn for each frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<JitterFile>,
    /// The probability that a frame is lost, independently of others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<FractionValue>,
    /// Loss in bursts (Gilbert–Elliott).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst_loss: Option<BurstLossFile>,
    /// The positions, counted from 0, of frames that are lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lose: Option<Vec<u64>>,
    /// The probability that a frame is damaged and dropped at the far end, because its check sequence is wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrupt: Option<FractionValue>,
    /// The probability that a frame is delivered with an inverted bit that no check sequence detects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrupt_silently: Option<FractionValue>,
    /// The probability that a frame arrives twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicate: Option<FractionValue>,
    /// Reordering.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reorder: Option<ReorderFile>,
    /// A token bucket at the receiving end, which drops what exceeds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policer: Option<BucketFile>,
    /// A token bucket at the sending end, which delays what exceeds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shaper: Option<BucketFile>,
}

/// One of several parallel paths.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathFile {
    /// Its line rate. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<RateValue>,
    /// Its queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueFile>,
    /// Its delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<TimeValue>,
    /// Its jitter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<JitterFile>,
    /// Its probability of independent loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<FractionValue>,
}

/// The segmentation of TCP and UDP by the interfaces at the ends of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SegmentationFile {
    /// Hosts hand over packets of up to 64 KiB, which their network card cuts, and frames that arrive together are handed to a host as one.
    On,
    /// Hosts send and receive single frames.
    Off,
}

/// The duplex mode of a link, the first end's before the second's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DuplexFile {
    /// Both ends send and receive at once.
    Full,
    /// Both ends are half duplex: carrier sense, collisions, backoff.
    Half,
    /// A duplex mismatch: the first end is half duplex, the second full.
    HalfFull,
    /// A duplex mismatch: the first end is full duplex, the second half.
    FullHalf,
}

/// The time that a half-duplex station needs after each frame before it can send the next, in bit times.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadinessFile {
    /// The constant part. Default 0.
    #[serde(default)]
    pub constant: u32,
    /// The maximum of the random part, drawn for each frame, uniform from 0. Default 0.
    #[serde(default)]
    pub random: u32,
}

/// The handling of a frame that collided after the slot time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "LateCollisionFile")]
pub enum LateCollision {
    /// Drops it, as most hardware does.
    Drop,
    /// Retransmits it as after any other collision, which IEEE 802.3 allows.
    Retry,
}

/// The part of the system that implements a link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Driver {
    /// The kernel for a link without keys, or with only a rate above 100 Mbit/s and a drop-tail queue; else the emulator.
    #[default]
    Auto,
    /// The emulator, frame by frame in virtual time.
    Emulated,
    /// The kernel: a veth pair, with a token bucket if there is a rate.
    Kernel,
}

impl std::fmt::Display for Driver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Auto => "auto",
            Self::Emulated => "emulated",
            Self::Kernel => "kernel",
        })
    }
}

/// A rate that changes over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceFile {
    /// The rates and their start times; the first starts at 0.
    pub steps: Vec<StepFile>,
    /// The period after which the steps repeat. Default: the last rate stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<TimeValue>,
}

/// A rate and its start time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepFile {
    /// The start time.
    pub at: TimeValue,
    /// The rate; 0 is an outage.
    pub rate: RateValue,
}

/// Deserializes two strings; of an array, serde alone would ignore what comes after them.
fn pair<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[String; 2], D::Error> {
    let found = Vec::<String>::deserialize(deserializer)?;
    <[String; 2]>::try_from(found)
        .map_err(|found| de::Error::invalid_length(found.len(), &"two names"))
}

fn some_pair<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<[String; 2]>, D::Error> {
    pair(deserializer).map(Some)
}

/// A queue in front of a line.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueueFile {
    /// Its capacity in frames.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frames: Option<u64>,
    /// Its capacity in bytes; a frame counts from destination address to check sequence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<ByteValue>,
    /// The queueing discipline. Default `drop-tail`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discipline: Option<DisciplineFile>,
    /// RED and CoDel: mark packets of ECN-capable transports CE instead of dropping them. Default `false`; a dual queue always does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ecn: Option<bool>,
    /// CoDel: the acceptable queueing delay. Default 5 ms. Dual queue: that of traffic that is not scalable. Default 15 ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<TimeValue>,
    /// CoDel: the interval over which the delay is observed. Default 100 ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<TimeValue>,
    /// RED: the average length below which nothing is dropped. Required with `red`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<ByteValue>,
    /// RED: the average length at and above which everything is dropped. Required with `red`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<ByteValue>,
    /// RED: the drop probability just below `high`. Default 10 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<FractionValue>,
}

/// A queueing discipline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DisciplineFile {
    /// Drops arriving frames while the queue is full.
    DropTail,
    /// Random early detection.
    Red,
    /// Controlled delay (RFC 8289).
    Codel,
    /// A dual queue with coupled marking for L4S (RFC 9332): packets with ECT(1) or CE wait in a queue of their own.
    Dual,
}

/// A random delay drawn for each frame.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JitterFile {
    /// Its distribution.
    pub distribution: DistributionFile,
    /// `constant`: the delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<TimeValue>,
    /// `uniform`: the minimum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<TimeValue>,
    /// `uniform`: the maximum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<TimeValue>,
    /// `normal`: the mean; negative delays count as zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean: Option<TimeValue>,
    /// `normal`: the standard deviation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deviation: Option<TimeValue>,
    /// `pareto`: the minimum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least: Option<TimeValue>,
    /// `pareto`: the exponent; the smaller, the heavier the tail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exponent: Option<f64>,
    /// `true` keeps frames in order, `false` lets them overtake one another. Default `true`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_order: Option<bool>,
}

/// The distribution of a random delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DistributionFile {
    /// The same `delay` for every frame.
    Constant,
    /// Uniform from `low` to `high`.
    Uniform,
    /// Normal with `mean` and standard `deviation`.
    Normal,
    /// Pareto with minimum `least` and tail `exponent`.
    Pareto,
}

/// Loss in bursts: a channel that is in a good or in a bad state (Gilbert–Elliott).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BurstLossFile {
    /// The probability, per frame, of a transition from the good to the bad state.
    pub worsens: FractionValue,
    /// The probability, per frame, of a transition from the bad to the good state.
    pub recovers: FractionValue,
    /// The loss probability in the good state. Default 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_in_good: Option<FractionValue>,
    /// The loss probability in the bad state. Default 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_in_bad: Option<FractionValue>,
}

/// Reordering by holding frames back.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReorderFile {
    /// The probability that a frame is held back.
    pub share: FractionValue,
    /// The number of frames that overtake each. Default 3.
    #[serde(default, alias = "places", skip_serializing_if = "Option::is_none")]
    pub extent: Option<u64>,
    /// The longest time a frame is held back if fewer follow. Default 10 ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patience: Option<TimeValue>,
}

/// A token bucket.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BucketFile {
    /// The rate at which the bucket fills.
    pub rate: RateValue,
    /// Its capacity. Default: the larger of 10 full frames and 10 ms at the rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<ByteValue>,
    /// The bytes of a frame that count. Default `frame`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measure: Option<Measure>,
}

/// The bytes of a frame that a token bucket counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "MeasureFile")]
pub enum Measure {
    /// The time on the wire: preamble, frame, check sequence and interframe gap.
    Wire,
    /// From destination address to check sequence.
    Frame,
    /// The payload of the Ethernet frame: the IP packet, and padding if it is short.
    Packet,
}

/// Load balancing over parallel paths.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "BalanceFile")]
pub enum Balancing {
    /// All frames of a flow take one path, chosen by a hash of addresses and ports.
    #[default]
    PerFlow,
    /// Frames take the paths in turn (round robin).
    PerFrame,
}
