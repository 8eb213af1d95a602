//! Test networks as values: hosts, routers, switches and hubs, the links between them, addresses and routes.
//!
//! A [`TopologyFile`] is what somebody wrote; [`Topology::resolve`] leaves nothing open and refuses what cannot be built.
#![forbid(unsafe_code)]

mod address;
mod file;
mod path;
mod preset;
mod resolve;
mod scalar;

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use caudal_core::units::{BitRate, ByteCount};

pub use address::{Network4, Network6, NextHop, Route, Segment};
pub use file::*;
pub use path::Hop;
pub use preset::{PRESETS, Preset};
pub use scalar::{Bytes, Rate, Share, Time};

/// A network that can be built.
#[derive(Debug, Clone, PartialEq)]
pub struct Topology {
    /// What it is, in a line.
    pub title: Option<String>,
    /// Where chance begins.
    pub seed: u64,
    /// Hosts, routers, switches and hubs, in this order.
    pub nodes: Vec<Node>,
    /// What joins them.
    pub links: Vec<Link>,
    /// The broadcast domains, each with its addresses.
    pub segments: Vec<Segment>,
}

/// A host, router, switch or hub.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// What it is called.
    pub name: String,
    /// What it is.
    pub role: Role,
}

/// What a node is.
#[derive(Debug, Clone, PartialEq)]
pub enum Role {
    /// An end system.
    Host(HostSetup),
    /// Forwards packets between its links.
    Router(HostSetup),
    /// Forwards frames between its links, whole frame by whole frame.
    Switch(SwitchSetup),
    /// Repeats what it hears; the rate of all its links.
    Hub(BitRate),
}

/// How the kernel of a host or router is set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostSetup {
    /// The congestion control; `None` leaves the machine's default.
    pub congestion: Option<String>,
    /// Kernel parameters by their dotted name.
    pub sysctl: BTreeMap<String, String>,
}

/// How a switch behaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwitchSetup {
    /// From a frame's last bit in to its place in the output queue.
    pub latency: Duration,
    /// For how long it remembers a station; `None` floods every frame.
    pub memory: Option<Duration>,
    /// The bytes in an output queue above which, and at which again, stations are asked to hold back and to go on.
    pub pause: Option<(u64, u64)>,
}

impl Node {
    /// Whether it has addresses: a host or a router.
    #[must_use]
    pub const fn has_addresses(&self) -> bool {
        matches!(self.role, Role::Host(_) | Role::Router(_))
    }

    /// The noun for what it is.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self.role {
            Role::Host(_) => "host",
            Role::Router(_) => "router",
            Role::Switch(_) => "switch",
            Role::Hub(_) => "hub",
        }
    }
}

/// What joins two nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// What it is called.
    pub name: String,
    /// Its first and second end.
    pub ends: [End; 2],
    /// From the first end to the second, and back.
    pub courses: [Course; 2],
    /// Whether both ends may send at once.
    pub duplex: Duplex,
    /// The largest packet in bytes.
    pub mtu: u32,
    /// Who was asked to make it behave.
    pub driver: Driver,
}

/// Where a link ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// The number of the node.
    pub node: usize,
    /// The interface at a host or router; the port, counted from 0, at a switch or hub.
    pub device: String,
}

/// Whether the ends of a link may send and receive at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Duplex {
    /// They may.
    Full,
    /// The ends that are `true` may not, and listen before they send; a mismatch when only one is.
    Half {
        /// Which ends keep to half duplex.
        ends: [bool; 2],
        /// Whether a frame that collided late is tried again.
        retries_late: bool,
    },
}

/// One direction of a link.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Course {
    /// The rate over time; `None` is no limit.
    pub rate: Option<RateSetup>,
    /// What waits in front of the line.
    pub queue: QueueSetup,
    /// How long a bit is under way.
    pub delay: Duration,
    /// What comes on top of it.
    pub jitter: Option<JitterSetup>,
    /// The part of frames that is lost, each on its own.
    pub loss: f64,
    /// Losses that come in bursts.
    pub burst_loss: Option<BurstLossSetup>,
    /// The positions of frames that are lost.
    pub lose: Vec<u64>,
    /// The part that is damaged and dropped.
    pub corrupt: f64,
    /// The part that is damaged and delivered.
    pub corrupt_silently: f64,
    /// The part that arrives twice.
    pub duplicate: f64,
    /// Frames that others overtake.
    pub reorder: Option<ReorderSetup>,
    /// What the receiving end drops.
    pub policer: Option<BucketSetup>,
    /// What the sending end holds back.
    pub shaper: Option<BucketSetup>,
    /// Several ways in parallel, in place of rate, queue, delay, jitter and loss.
    pub paths: Vec<Course>,
    /// Whether frames are spread over the paths one by one, and not by flow.
    pub per_frame: bool,
}

/// A rate over time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateSetup {
    /// When which rate begins; the first at 0.
    pub steps: Vec<(Duration, BitRate)>,
    /// The period after which it begins anew.
    pub repeat: Option<Duration>,
}

impl RateSetup {
    /// The rate when it never changes.
    #[must_use]
    pub fn constant(&self) -> Option<BitRate> {
        match self.steps[..] {
            [(_, rate)] => Some(rate),
            _ => None,
        }
    }

    /// The highest rate it takes.
    #[must_use]
    pub fn highest(&self) -> BitRate {
        let rates = self.steps.iter().map(|(_, rate)| *rate);
        rates.max().unwrap_or(BitRate::ZERO)
    }
}

/// A queue.
#[derive(Debug, Clone, PartialEq)]
pub struct QueueSetup {
    /// The most that waits.
    pub limit: QueueLimit,
    /// Which frame is dropped, and when.
    pub discipline: Discipline,
}

impl Default for QueueSetup {
    /// No limit, drop-tail.
    fn default() -> Self {
        Self {
            limit: QueueLimit::None,
            discipline: Discipline::DropTail,
        }
    }
}

/// The most that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueLimit {
    /// So many frames.
    Frames(u64),
    /// So many bytes, from destination address to check sequence.
    Bytes(ByteCount),
    /// As much as comes.
    None,
}

/// Which frame is dropped, and when.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Discipline {
    /// What comes when the queue is full.
    DropTail,
    /// Random early detection between two mean lengths in bytes.
    Red {
        /// Below it nothing is dropped.
        low: ByteCount,
        /// Above it everything is.
        high: ByteCount,
        /// The part dropped just below `high`.
        most: f64,
    },
    /// Controlled delay (RFC 8289).
    Codel {
        /// The acceptable time in the queue.
        target: Duration,
        /// The patience.
        interval: Duration,
    },
}

/// A delay that differs from frame to frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JitterSetup {
    /// How it is distributed.
    pub distribution: Distribution,
    /// Whether frames stay in order.
    pub keeps_order: bool,
}

/// How a delay is distributed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Distribution {
    /// Always this.
    Constant(Duration),
    /// Anything between these.
    Uniform(Duration, Duration),
    /// A mean and a standard deviation.
    Normal(Duration, Duration),
    /// The least, and the exponent of the tail.
    Pareto(Duration, f64),
}

/// Losses in bursts, after Gilbert and Elliott.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BurstLossSetup {
    /// The probability, frame by frame, that a good time ends.
    pub worsens: f64,
    /// The probability, frame by frame, that a bad time ends.
    pub recovers: f64,
    /// The part lost in good times.
    pub loss_in_good: f64,
    /// The part lost in bad times.
    pub loss_in_bad: f64,
}

/// Frames that others overtake.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReorderSetup {
    /// The part of frames that is held back.
    pub share: f64,
    /// How many frames overtake each.
    pub places: u64,
    /// The longest it is held back.
    pub patience: Duration,
}

/// A token bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BucketSetup {
    /// The rate at which tokens come.
    pub rate: BitRate,
    /// The tokens it holds, in bytes.
    pub burst: ByteCount,
    /// What of a frame counts.
    pub measure: MeasureFile,
}

impl Course {
    /// The rate when there is one that never changes.
    #[must_use]
    pub fn rate(&self) -> Option<BitRate> {
        self.rate.as_ref().and_then(RateSetup::constant)
    }

    /// Whether a frame passes it at once and for certain.
    #[must_use]
    pub fn does_nothing(&self) -> bool {
        self.rate.is_none() && self.only_rate_and_queue()
    }

    /// Whether it has no more than a constant rate and a drop-tail queue.
    #[must_use]
    pub fn only_rate_and_queue(&self) -> bool {
        let plain = Self {
            rate: self.rate.clone(),
            queue: self.queue.clone(),
            ..Self::default()
        };
        *self == plain
            && self
                .rate
                .as_ref()
                .is_none_or(|rate| rate.constant().is_some())
            && self.queue.discipline == Discipline::DropTail
    }
}

impl Topology {
    /// The number of the node called `name`.
    #[must_use]
    pub fn node(&self, name: &str) -> Option<usize> {
        self.nodes.iter().position(|node| node.name == name)
    }

    /// The number of the link called `name`.
    #[must_use]
    pub fn link(&self, name: &str) -> Option<usize> {
        self.links.iter().position(|link| link.name == name)
    }

    /// The first host: where a command runs unless another is named.
    #[must_use]
    pub fn first_host(&self) -> Option<usize> {
        self.nodes
            .iter()
            .position(|node| matches!(node.role, Role::Host(_)))
    }

    /// Everything `node` is attached to, in the order of the links: link and which of its ends.
    pub fn attachments(&self, node: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.links.iter().enumerate().flat_map(move |(link, it)| {
            (0..2)
                .filter(move |&end| it.ends[end].node == node)
                .map(move |end| (link, end))
        })
    }

    /// The segment of a link, and its addresses at one of its ends, a host or router.
    #[must_use]
    pub fn addresses(
        &self,
        link: usize,
        end: usize,
    ) -> Option<(&Segment, Ipv4Addr, Option<Ipv6Addr>)> {
        self.segments.iter().find_map(|segment| {
            let member = segment.members.iter().position(|m| *m == (link, end))?;
            Some((segment, segment.address4(member), segment.address6(member)))
        })
    }

    /// The addresses of a host or router, those of its first link first.
    #[must_use]
    pub fn addresses_of(&self, node: usize) -> Vec<IpAddr> {
        let mut found = Vec::new();
        for (link, end) in self.attachments(node) {
            if let Some((_, v4, v6)) = self.addresses(link, end) {
                found.push(IpAddr::V4(v4));
                found.extend(v6.map(IpAddr::V6));
            }
        }
        found
    }

    /// Who makes `link` behave as it is told.
    #[must_use]
    pub fn driver(&self, link: usize) -> Driver {
        const FAST: BitRate = BitRate::from_bps(100_000_000);
        let it = &self.links[link];
        let fast = it.courses.iter().all(|course| {
            course.only_rate_and_queue() && course.rate().is_none_or(|rate| rate > FAST)
        });
        match it.driver {
            Driver::Auto if fast && self.kernel_can(link).is_ok() => Driver::Kernel,
            Driver::Auto => Driver::Emulated,
            told => told,
        }
    }

    /// Whether the kernel can make `link` behave as it is told.
    ///
    /// # Errors
    /// What it cannot do.
    pub(crate) fn kernel_can(&self, link: usize) -> Result<(), &'static str> {
        let it = &self.links[link];
        if it
            .ends
            .iter()
            .any(|end| !self.nodes[end.node].has_addresses())
        {
            return Err("switches and hubs are emulated");
        }
        if it.duplex != Duplex::Full {
            return Err("half duplex is emulated");
        }
        if !it.courses.iter().all(Course::only_rate_and_queue) {
            return Err("only a rate and a drop-tail queue can be left to the kernel");
        }
        Ok(())
    }
}

/// The JSON Schema of topology files.
#[must_use]
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(TopologyFile)
}

/// Where in a file something is wrong: keys and positions from the top.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Location(pub Vec<Step>);

/// A step down into a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// To the value of a key.
    Key(String),
    /// To an element, counted from 0.
    Index(usize),
}

impl Location {
    /// The element `index` of the array `key` at the top.
    #[must_use]
    pub fn of(key: &str, index: usize) -> Self {
        Self(vec![Step::Key(key.to_owned()), Step::Index(index)])
    }

    /// The value of `key` there.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        let mut steps = self.0.clone();
        steps.push(Step::Key(key.to_owned()));
        Self(steps)
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(key) if place == 0 => write!(f, "{key}")?,
                Step::Key(key) => write!(f, ".{key}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// A topology that cannot be built, and where its file says so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}; {remedy}")]
pub struct TopologyError {
    /// Where.
    pub at: Location,
    /// What is wrong.
    pub problem: String,
    /// What to do about it.
    pub remedy: String,
}

impl TopologyError {
    fn new(at: &Location, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            at: at.clone(),
            problem: problem.into(),
            remedy: remedy.into(),
        }
    }
}
