//! Links between two nodes.

use crate::file::{Driver, LateCollision};
use crate::impairments::Impairments;

/// A link between two nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// Its name, unique in the topology.
    pub name: String,
    /// Its first and second end.
    pub ends: [Endpoint; 2],
    /// The impairments from the first end to the second, and back.
    pub directions: [Impairments; 2],
    /// Full duplex, half duplex or a mismatch.
    pub duplex: Duplex,
    /// The largest packet in bytes.
    pub mtu: u32,
    /// `true` when the interfaces at its ends segment TCP and UDP, as network cards do.
    pub segmentation: bool,
    /// The driver that the file asks for; [`crate::Topology::driver`] decides for [`Driver::Auto`].
    pub driver: Driver,
}

/// The node and interface at one end of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The node's number in the topology.
    pub node: usize,
    /// The interface's name at a host or router; the port, counted from 0, at a switch or hub.
    pub device: String,
}

/// One end of one link, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkEnd {
    /// The link's number in the topology.
    pub link: usize,
    /// 0 for its first end, 1 for its second.
    pub end: usize,
}

impl LinkEnd {
    /// End `end` of link `link`.
    #[must_use]
    pub const fn new(link: usize, end: usize) -> Self {
        Self { link, end }
    }

    /// The other end of the same link.
    #[must_use]
    pub const fn opposite(self) -> Self {
        Self::new(self.link, 1 - self.end)
    }
}

/// The duplex mode of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Duplex {
    /// Both ends send and receive at once.
    Full,
    /// At least one end is half duplex; when only one is, the link has a duplex mismatch.
    Half {
        /// The mode of the first and the second end.
        ends: [StationDuplex; 2],
        /// The handling of frames that collide after the slot time.
        late_collision: LateCollision,
        /// The readiness of the first and the second end.
        readiness: [Readiness; 2],
    },
}

/// The time that a half-duplex station needs after each frame it has sent before it can send the next: the latency of an
/// interface and its host, in bit times. The default is none.
///
/// A station that is ready before the interframe gap ends competes for the medium; one that is ready later lets the
/// other go first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Readiness {
    /// The constant part.
    pub constant_bits: u32,
    /// The maximum of the random part, which is uniform from 0 and drawn for each frame.
    pub random_bits: u32,
}

/// The duplex mode of one station.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StationDuplex {
    /// Senses the carrier, detects collisions, backs off.
    Half,
    /// Sends and receives at once and ignores the carrier.
    Full,
}

impl Duplex {
    /// `true` when the station at end `end`, 0 or 1, is half duplex.
    #[must_use]
    pub fn is_half_at(&self, end: usize) -> bool {
        matches!(self, Self::Half { ends, .. } if ends[end] == StationDuplex::Half)
    }

    /// The readiness of the station at end `end`, 0 or 1.
    #[must_use]
    pub fn readiness_at(&self, end: usize) -> Readiness {
        match self {
            Self::Half { readiness, .. } => readiness[end],
            Self::Full => Readiness::default(),
        }
    }
}
