//! One packet of a train.

/// The arrival of one packet of a train that left back to back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrainArrival {
    /// Its size on the wire, bytes.
    pub bytes: u32,
    /// When its last bit arrived, ns of any clock.
    pub at_ns: u64,
}
