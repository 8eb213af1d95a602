//! What cannot be simulated.

use caudal_core::units::BitRate;
use caudal_link::error::LinkError;

/// A scenario that cannot be run, found before it is.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SimulateError {
    /// A link that cannot be put together.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// A flow from or to something without an address.
    #[error("flow {flow}: there is no host or router {node:?}; name one of the topology")]
    NoHost {
        /// The flow, counted from 0.
        flow: usize,
        /// What was named.
        node: String,
    },
    /// A flow that leads to where it begins.
    #[error("flow {0} leads to where it begins; name another host")]
    ToItself(usize),
    /// Two hosts that do not reach each other.
    #[error("flow {0}: its ends do not reach each other; add a link or a router")]
    NoWay(usize),
    /// Headers that fill the packet.
    #[error("flow {flow}: packets of {mtu} bytes have no room for payload; raise the MTU")]
    NoRoom {
        /// The flow, counted from 0.
        flow: usize,
        /// The largest packet on its way.
        mtu: u32,
    },
    /// A source that never or always sends.
    #[error(
        "flow {flow}: a source of {rate} in datagrams of {payload} bytes cannot be; give both above zero"
    )]
    NoSource {
        /// The flow, counted from 0.
        flow: usize,
        /// Its rate.
        rate: BitRate,
        /// Its datagrams' payload.
        payload: u32,
    },
    /// A congestion control without a model.
    #[error("congestion control {0:?} is not modelled; take reno or cubic")]
    NoModel(String),
    /// A message without a byte.
    #[error("flow {0}: an echo takes messages of at least one byte")]
    NoMessage(usize),
    /// A run without an end, or with too many intervals to keep.
    #[error("a run lasts above zero and at most {longest} s, in at most {intervals} intervals")]
    Length {
        /// The longest run in seconds.
        longest: u64,
        /// The most intervals.
        intervals: u64,
    },
    /// More flows than are told apart.
    #[error("{0} flows are too many; the most is {most}", most = crate::scenario::MAX_FLOWS)]
    TooManyFlows(usize),
}
