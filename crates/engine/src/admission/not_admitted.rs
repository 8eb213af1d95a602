//! The reason why a client is not admitted.

use super::places::NoPlace;
use caudal_flow::MemoryExhausted;
use std::net::IpAddr;

/// The reason why a client is not admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotAdmitted {
    /// Its address is of no network that is answered.
    #[error("{0} is not among the networks this server answers")]
    Address(IpAddr),
    /// No place is free for it.
    #[error(transparent)]
    NoPlace(#[from] NoPlace),
    /// The memory of this process does not suffice for it.
    #[error(transparent)]
    Memory(#[from] MemoryExhausted),
}
