//! The layout of datagrams in a protocol, so that one loop sends the datagrams of all protocols.

/// The number and departure time that a datagram carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Its number in the flow, from 0.
    pub sequence: u64,
    /// The sender's clock when it was written, ns; `None` where it carries none.
    pub sent_ns: Option<u64>,
}

/// The layout in which the sender of a flow writes its datagrams.
pub trait DatagramFormat {
    /// Fills a datagram's payload; done once for each slot of a batch.
    fn fill(&self, datagram: &mut [u8]);

    /// The time to write into datagrams that leave at `now_ns` of the monotonic clock, ns.
    #[inline]
    fn stamp_ns(&self, now_ns: u64) -> u64 {
        now_ns
    }

    /// Writes number and time into a datagram that has room for them.
    fn write(&self, datagram: &mut [u8], sequence: u64, sent_ns: u64);
}

/// The clock of the times that datagrams carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SenderClock {
    /// The sender's monotonic clock: only differences of transit times have a meaning.
    Monotonic,
    /// The sender's wall clock: transit times are one-way delays where both clocks agree.
    Wall,
}
