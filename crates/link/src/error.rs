//! What cannot be built.

use caudal_core::units::BitRate;

/// A link that cannot exist, found when it is made and never later.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LinkError {
    /// A rate at which nothing would ever arrive.
    #[error("a link at {0} never delivers; give it a rate above zero")]
    NoRate(BitRate),
    /// A rate beyond the arithmetic.
    #[error("{0} is more than the emulator reckons with; the most is 1 Pbit/s")]
    RateTooHigh(BitRate),
    /// A trace whose times do not grow, or that starts after zero.
    #[error("the steps of a rate trace begin at zero and come in growing order; step {0} does not")]
    TraceOutOfOrder(usize),
    /// A share outside of 0 to 1.
    #[error("{0} is no probability; write a number from 0 to 1")]
    NoProbability(f64),
    /// A distribution that has no such parameter.
    #[error("{value} is no {parameter} of a delay distribution")]
    NoDistribution {
        /// What the value was meant for.
        parameter: &'static str,
        /// The value.
        value: f64,
    },
    /// RED's lower threshold is not below the upper one.
    #[error("RED needs 0 ≤ lower < upper threshold, not {low} and {high}")]
    Thresholds {
        /// The lower threshold.
        low: u64,
        /// The upper threshold.
        high: u64,
    },
    /// The half-duplex MAC runs at a rate with whole nanoseconds a bit.
    #[error("{0} is no half-duplex Ethernet; take 10M or 100M")]
    NoHalfDuplex(BitRate),
    /// Fewer stations than can talk, or a full-duplex station among more than two.
    #[error("{0} stations with a full-duplex one among them; full duplex joins two")]
    FullDuplexOfMany(usize),
    /// A medium or switch without enough ports.
    #[error("{0} ports are too few; two can talk")]
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
    /// A port that is taken.
    #[error("port {port} of node {node} is already joined")]
    PortTaken {
        /// The node's number.
        node: usize,
        /// The port's number.
        port: usize,
    },
    /// A join that would let a broadcast circle for ever.
    #[error("joining nodes {0} and {1} closes a loop in which a broadcast would circle for ever")]
    Loop(usize, usize),
}
