//! The room in which a server holds a message until it is whole.

use crate::{FlowSignals, MemoryReservation, TestLimit};
use caudal_sys::clock::monotonic_ns;
use std::io::{self, Read};

/// The room before anything has arrived, bytes.
const FIRST_BYTES: usize = 16 << 10;

/// The room in which a server holds a message until it is whole. It grows with what arrives of a message, not with what is
/// announced, and is reserved as memory of the clients.
#[derive(Debug)]
pub struct MessageBuffer {
    bytes: Vec<u8>,
    memory: MemoryReservation,
}

impl MessageBuffer {
    /// A buffer without room.
    ///
    /// # Errors
    /// When the memory for clients is used up.
    pub fn new(limit: &TestLimit) -> io::Result<Self> {
        Ok(Self {
            bytes: Vec::new(),
            memory: limit.server().memory.reserve(0)?,
        })
    }

    /// Reads a message of `size` bytes, no faster than the limit allows; `None` when the connection is stopped meanwhile.
    ///
    /// # Errors
    /// Those of the kernel, and when a limit of the server is exceeded.
    pub fn read(
        &mut self,
        mut stream: impl Read,
        size: usize,
        limit: &TestLimit,
        signals: &FlowSignals,
    ) -> io::Result<Option<&[u8]>> {
        let mut filled = 0;
        while filled < size {
            if !limit.wait_to_read(signals) {
                return Ok(None);
            }
            if filled == self.bytes.len() {
                self.grow(size, limit)?;
            }
            let room = limit.max_read(self.bytes.len().min(size) - filled);
            stream.read_exact(&mut self.bytes[filled..filled + room])?;
            filled += room;
            if !limit.is_unlimited() {
                limit
                    .take_stream(room as u64, monotonic_ns())
                    .map_err(io::Error::other)?;
            }
        }
        Ok(Some(&self.bytes[..size]))
    }

    /// Doubles the room, up to a message of `size` bytes.
    fn grow(&mut self, size: usize, limit: &TestLimit) -> io::Result<()> {
        let room = (self.bytes.len() * 2).max(FIRST_BYTES).min(size);
        if let Err(exhausted) = self.memory.grow_to(room as u64) {
            return Err(io::Error::other(limit.reach(exhausted.into())));
        }
        self.bytes.reserve_exact(room - self.bytes.len());
        self.bytes.resize(room, 0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MemoryBudget, PlannedEnd, SessionLimits};
    use caudal_core::units::ByteCount;

    fn limit_of(memory: u64) -> TestLimit {
        let limits = SessionLimits {
            memory: MemoryBudget::new(ByteCount::new(memory)),
            ..SessionLimits::default()
        };
        TestLimit::new(&limits, PlannedEnd::Unknown)
    }

    #[test]
    fn the_memory_of_a_message_is_bounded_by_what_arrived_of_it() {
        let (limit, signals) = (limit_of(1 << 30), FlowSignals::default());
        let mut buffer = MessageBuffer::new(&limit).unwrap();
        for arrived in [0_usize, 1, 100_000, 1 << 20] {
            let part = vec![7; arrived];
            let read = buffer.read(&part[..], 16 << 20, &limit, &signals);
            assert_eq!(
                read.unwrap_err().kind(),
                io::ErrorKind::UnexpectedEof,
                "{arrived}"
            );
            let max = (2 * arrived).max(FIRST_BYTES) as u64;
            let reserved = limit.server().memory.reserved();
            assert!(reserved <= max, "{reserved} for {arrived}");
        }
        let whole = vec![7; 16 << 20];
        let read = buffer.read(&whole[..], whole.len(), &limit, &signals);
        assert_eq!(read.unwrap(), Some(&whole[..]));
        drop(buffer);
        assert_eq!(limit.server().memory.reserved(), 0);
    }

    #[test]
    fn a_message_without_memory_left_ends_the_test_with_the_reason() {
        let (limit, signals) = (limit_of(100_000), FlowSignals::default());
        let mut buffer = MessageBuffer::new(&limit).unwrap();
        let message = vec![7; 200_000];
        let read = buffer.read(&message[..], message.len(), &limit, &signals);
        let reason = read.unwrap_err().to_string();
        assert!(
            reason.starts_with("the memory for clients is used up"),
            "{reason}"
        );
        let reached = limit.exceeded().map(|reached| reached.to_string());
        assert_eq!(reached, Some(reason));
    }
}
