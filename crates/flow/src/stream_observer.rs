//! The reading of a protocol's own fields in the stream that a TCP receiver copies.

use super::counters::FlowCounters;
use std::fmt::Debug;

/// A reader of a protocol's own fields in the stream that a TCP receiver copies.
pub trait StreamObserver: Debug + Send {
    /// Takes the next bytes of the stream, which were just read, and counts what it finds in them.
    fn take(&mut self, bytes: &[u8], counters: &FlowCounters);
}
