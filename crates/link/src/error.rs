//! Links that cannot be built.

use caudal_core::units::BitRate;

/// A value that no link can have, or nodes that cannot be connected.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LinkError {
    /// A rate at which nothing would ever arrive.
    #[error("a link at {0} never delivers; give it a rate above zero")]
    ZeroRate(BitRate),
    /// A rate beyond the range of the arithmetic.
    #[error("{0} is out of range; choose at most 1 Pbit/s")]
    RateTooHigh(BitRate),
    /// A rate trace whose times do not increase, or that starts after zero.
    #[error("the steps of a rate trace start at zero and increase in time; step {0} does not")]
    TraceOutOfOrder(usize),
    /// A number outside of 0 to 1.
    #[error("{0} is not a probability; write a number from 0 to 1")]
    InvalidProbability(f64),
    /// A parameter that a delay distribution cannot have.
    #[error("a delay distribution cannot have {parameter} {value}")]
    InvalidDistribution {
        /// The name of the parameter.
        parameter: &'static str,
        /// Its value.
        value: f64,
    },
    /// RED's lower threshold is not below the upper one.
    #[error("RED needs 0 ≤ lower < upper threshold, not {min} and {max}")]
    InvalidThresholds {
        /// The lower threshold.
        min: u64,
        /// The upper threshold.
        max: u64,
    },
    /// A rate without half-duplex Ethernet; the MAC needs a whole number of nanoseconds for a bit.
    #[error("half-duplex Ethernet has no rate of {0}; choose 10M or 100M")]
    NotHalfDuplex(BitRate),
    /// A full-duplex station on a medium of more than two stations.
    #[error("one of {0} stations is full duplex; a full-duplex link has two stations")]
    FullDuplexAmongMany(usize),
    /// A medium or switch with fewer than two ports.
    #[error("{0} ports are too few; at least two are needed")]
    TooFewPorts(usize),
    /// A balancer without a branch.
    #[error("load balancing needs at least one branch")]
    NoBranches,
    /// A node or port that does not exist.
    #[error("there is no port {port} at node {node}")]
    NoSuchPort {
        /// The node's number.
        node: usize,
        /// The port's number.
        port: usize,
    },
    /// A port that is already connected.
    #[error("port {port} of node {node} is already connected")]
    PortInUse {
        /// The node's number.
        node: usize,
        /// The port's number.
        port: usize,
    },
    /// A connection that closes a loop.
    #[error(
        "connecting nodes {0} and {1} closes a loop, in which a broadcast would circulate for ever"
    )]
    Loop(usize, usize),
}
