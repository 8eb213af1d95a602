//! Scenarios that cannot be simulated.

use caudal_core::units::BitRate;
use caudal_link::error::LinkError;

/// A scenario that cannot be simulated.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SimulateError {
    /// A link that cannot be built.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// A flow from or to a node that does not exist or has no address.
    #[error("flow {flow}: there is no host or router {node:?}; name one of the topology")]
    NoHost {
        /// The flow, counted from 0.
        flow: usize,
        /// The name.
        node: String,
    },
    /// A flow from a host to itself.
    #[error("flow {0} starts and ends at the same host; name another host")]
    SameHost(usize),
    /// Two hosts without a path between them.
    #[error("flow {0}: there is no path between its hosts; add a link or a router")]
    NoPath(usize),
    /// Packets that have no room for payload beside their headers.
    #[error("flow {flow}: packets of {mtu} bytes have no room for payload; raise the MTU")]
    NoRoom {
        /// The flow, counted from 0.
        flow: usize,
        /// The largest packet on its path.
        mtu: u32,
    },
    /// A UDP source without a rate or a payload.
    #[error(
        "flow {flow}: a UDP source cannot send at {rate} in datagrams of {payload} bytes; give both above zero"
    )]
    EmptySource {
        /// The flow, counted from 0.
        flow: usize,
        /// Its rate.
        rate: BitRate,
        /// The payload of its datagrams in bytes.
        payload: u32,
    },
    /// A congestion control without a model.
    #[error("congestion control {0:?} is not modelled; choose reno or cubic")]
    NotModelled(String),
    /// An echo client without message bytes.
    #[error("flow {0}: an echo needs messages of at least one byte")]
    EmptyMessage(usize),
    /// A duration or an interval out of range.
    #[error(
        "a simulation lasts more than zero and at most {max_seconds} s, in at most {max_intervals} intervals"
    )]
    Duration {
        /// The longest duration in seconds.
        max_seconds: u64,
        /// The largest number of intervals.
        max_intervals: u64,
    },
    /// Too many flows.
    #[error("{count} flows are too many; use at most {max}")]
    TooManyFlows {
        /// The number of flows.
        count: usize,
        /// The largest number of flows.
        max: usize,
    },
}
