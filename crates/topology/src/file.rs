//! A topology as its file writes it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::scalar::{Bytes, Rate, Share, Time};

/// A test network: hosts, routers, switches and hubs, and the links between them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TopologyFile {
    /// What this network is, in a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Where chance begins: the same seed gives the same losses and delays to the frame. Default 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Where addresses are taken from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub addresses: Option<AddressesFile>,
    /// The congestion control of every host that names none; without it the machine's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion: Option<String>,
    /// Kernel parameters of every host and router, such as `"net.ipv4.tcp_sack" = "0"`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sysctl: BTreeMap<String, String>,
    /// End systems. The first one is where `caudal lab run` runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub host: Vec<HostFile>,
    /// Systems that forward packets between their links.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub router: Vec<HostFile>,
    /// Store-and-forward Ethernet switches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub switch: Vec<SwitchFile>,
    /// Repeaters: all their links are one half-duplex medium.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hub: Vec<HubFile>,
    /// What joins two of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub link: Vec<LinkFile>,
}

/// The networks that links are numbered from.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddressesFile {
    /// An IPv4 network; every segment takes a /24 of it. Default `10.0.0.0/16`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipv4: Option<String>,
    /// An IPv6 network; every segment takes a /64 of it. Default `fd00:ca:da::/48`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipv6: Option<String>,
}

/// A host or a router.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostFile {
    /// What it is called, also by the others.
    pub name: String,
    /// Its congestion control.
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
    /// What it is called.
    pub name: String,
    /// From a frame's last bit in to its place in the output queue. Default 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Time>,
    /// For how long it remembers where a station is; 0 floods every frame. Default 300 s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Time>,
    /// When it asks stations to hold back; without it never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<PauseFile>,
}

/// The levels of an output queue at which PAUSE frames are sent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PauseFile {
    /// Above this, stations are asked to hold back.
    pub high: Bytes,
    /// At this, they may go on.
    pub low: Bytes,
}

/// A hub.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HubFile {
    /// What it is called.
    pub name: String,
    /// The rate of all its links. Default 10 Mbit/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
}

/// A link. What is said beside `between` holds in both directions, what is said in `forward` or `backward` in one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkFile {
    /// What it is called. Default: the names of its ends with a dash between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The names of its two ends.
    pub between: [String; 2],
    /// What its interfaces are called at hosts and routers. Default `eth0`, `eth1` … in the order of the links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub devices: Option<[String; 2]>,
    /// The largest packet. Default 1500 bytes; below 1280 there is no IPv6.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    /// Whether both ends may send at once. Default `full`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplex: Option<DuplexFile>,
    /// What a half-duplex end does with a frame that collided late. Default `drop`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_collision: Option<LateCollisionFile>,
    /// Who makes the link behave as it is told. Default `auto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<Driver>,
    /// The rate of the line, counted with preamble and gap; without it, no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// A rate that changes over time, in place of `rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceFile>,
    /// What waits in front of the line. Default: the larger of 100 frames and 50 ms at the rate, drop-tail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueFile>,
    /// How long a bit is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Time>,
    /// What comes on top of the delay, frame by frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<JitterFile>,
    /// The part of frames that is lost, each on its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Share>,
    /// Losses that come in bursts, after Gilbert and Elliott.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst_loss: Option<BurstLossFile>,
    /// The positions, counted from 0, of frames that are lost.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lose: Vec<u64>,
    /// The part of frames that is damaged; their check sequence tells, so they are dropped at the far end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrupt: Option<Share>,
    /// The part of frames in which a bit is inverted that no check sequence tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrupt_silently: Option<Share>,
    /// The part of frames that arrives twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicate: Option<Share>,
    /// Frames that others overtake.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reorder: Option<ReorderFile>,
    /// What the receiving end drops because it is too much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policer: Option<BucketFile>,
    /// What the sending end holds back because it is too much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shaper: Option<BucketFile>,
    /// How frames are spread over `path`. Default `per-flow`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub balance: Option<BalanceFile>,
    /// Several ways in parallel, in place of what is said here of rate, queue, delay, jitter and loss.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<PathFile>,
    /// What holds from the first end to the second only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forward: Option<CourseFile>,
    /// What holds from the second end to the first only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backward: Option<CourseFile>,
}

/// What may be different in one direction of a link; the keys mean what they mean beside `between`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CourseFile {
    /// See the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// See the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceFile>,
    /// See the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueFile>,
    /// See the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Time>,
    /// See the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<JitterFile>,
    /// See the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Share>,
    /// See the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst_loss: Option<BurstLossFile>,
    /// See the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lose: Option<Vec<u64>>,
    /// See the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrupt: Option<Share>,
    /// See the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrupt_silently: Option<Share>,
    /// See the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicate: Option<Share>,
    /// See the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reorder: Option<ReorderFile>,
    /// See the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policer: Option<BucketFile>,
    /// See the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shaper: Option<BucketFile>,
}

/// One of several ways in parallel.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathFile {
    /// Its rate; without it, no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Its queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueFile>,
    /// Its delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Time>,
    /// Its jitter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<JitterFile>,
    /// Its loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Share>,
}

/// Which ends send and receive at once, the first end first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DuplexFile {
    /// Both ends at once.
    Full,
    /// One at a time: carrier sense, collisions, backoff.
    Half,
    /// A mismatch: the first end believes in half duplex, the second in full.
    HalfFull,
    /// A mismatch: the first end believes in full duplex, the second in half.
    FullHalf,
}

/// What becomes of a frame that collided after the slot time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LateCollisionFile {
    /// It is given up.
    Drop,
    /// It is tried again.
    Retry,
}

/// Who makes a link behave as it is told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Driver {
    /// The kernel for a link that says nothing, or no more than a rate above 100 Mbit/s and a queue; else the emulator.
    #[default]
    Auto,
    /// The emulator: frame by frame in virtual time.
    Emulated,
    /// The kernel: a veth pair, with a token bucket where there is a rate.
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

/// A rate over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceFile {
    /// When which rate begins; the first at 0.
    pub steps: Vec<StepFile>,
    /// The period after which it begins anew; without it the last rate stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<Time>,
}

/// A rate and when it begins.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepFile {
    /// When.
    pub at: Time,
    /// Which; 0 stops the line.
    pub rate: Rate,
}

/// A queue.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueueFile {
    /// The most frames that wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frames: Option<u64>,
    /// The most bytes that wait, from destination address to check sequence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Bytes>,
    /// Which frame is dropped, and when. Default `drop-tail`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discipline: Option<DisciplineFile>,
    /// CoDel's acceptable time in the queue. Default 5 ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Time>,
    /// CoDel's patience. Default 100 ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Time>,
    /// The mean length below which RED drops nothing. Needed with `red`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<Bytes>,
    /// The mean length above which RED drops everything. Needed with `red`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<Bytes>,
    /// The part RED drops just below `high`. Default 10 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<Share>,
}

/// Which frame is dropped, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DisciplineFile {
    /// What comes when the queue is full.
    DropTail,
    /// Random early detection.
    Red,
    /// Controlled delay (RFC 8289).
    Codel,
}

/// A delay that differs from frame to frame.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JitterFile {
    /// How it is distributed.
    pub distribution: DistributionFile,
    /// `constant`: the delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Time>,
    /// `uniform`: the least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<Time>,
    /// `uniform`: the most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<Time>,
    /// `normal`: the mean; a delay below zero counts as none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean: Option<Time>,
    /// `normal`: the standard deviation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deviation: Option<Time>,
    /// `pareto`: the least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least: Option<Time>,
    /// `pareto`: the exponent; the smaller, the heavier the tail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exponent: Option<f64>,
    /// Whether frames stay in order. Default true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_order: Option<bool>,
}

/// How a delay is distributed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DistributionFile {
    /// Always the same: `delay`.
    Constant,
    /// Anything between `low` and `high`.
    Uniform,
    /// Around `mean` with `deviation`.
    Normal,
    /// At least `least`, with a tail of `exponent`.
    Pareto,
}

/// Losses in bursts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BurstLossFile {
    /// The probability, frame by frame, that a good time ends.
    pub worsens: Share,
    /// The probability, frame by frame, that a bad time ends.
    pub recovers: Share,
    /// The part lost in good times. Default 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_in_good: Option<Share>,
    /// The part lost in bad times. Default 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_in_bad: Option<Share>,
}

/// Frames that others overtake.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReorderFile {
    /// The part of frames that is held back.
    pub share: Share,
    /// How many frames overtake each. Default 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub places: Option<u64>,
    /// The longest it is held back when fewer come. Default 10 ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patience: Option<Time>,
}

/// A token bucket.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BucketFile {
    /// The rate at which tokens come.
    pub rate: Rate,
    /// The tokens it holds. Default: the larger of 10 frames and 10 ms at the rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<Bytes>,
    /// What of a frame counts. Default `frame`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measure: Option<MeasureFile>,
}

/// What of a frame counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MeasureFile {
    /// With preamble and gap.
    Wire,
    /// From destination address to check sequence.
    Frame,
    /// The packet inside.
    Packet,
}

/// How frames are spread over several ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BalanceFile {
    /// All frames of a flow take one way, by a hash of addresses and ports.
    PerFlow,
    /// One after the other.
    PerFrame,
}
