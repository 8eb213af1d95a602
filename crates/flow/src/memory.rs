//! The memory that the clients of a server may occupy together.

use caudal_core::units::ByteCount;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The default of a server's memory for clients, bytes.
const DEFAULT_BYTES: u64 = 512 << 20;

/// The memory that the clients of a server may occupy together. Clones share it.
///
/// Every buffer that a server holds for a client is reserved here before it is allocated: the buffers of flows, messages that are
/// to be sent back whole, and datagrams that wait for their flow. What the kernel holds in socket buffers is not counted.
#[derive(Debug, Clone)]
pub struct MemoryBudget {
    total: u64,
    reserved: Arc<AtomicU64>,
}

/// No memory is left for a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the memory for clients is used up: {wanted} more were needed, and {free} of {total} are free"
)]
pub struct MemoryExhausted {
    /// The memory that was asked for.
    pub wanted: ByteCount,
    /// The memory that is free.
    pub free: ByteCount,
    /// The memory of all clients.
    pub total: ByteCount,
}

impl From<MemoryExhausted> for io::Error {
    fn from(error: MemoryExhausted) -> Self {
        Self::new(io::ErrorKind::OutOfMemory, error)
    }
}

impl Default for MemoryBudget {
    fn default() -> Self {
        Self::new(ByteCount::new(DEFAULT_BYTES))
    }
}

impl MemoryBudget {
    /// A budget of this much.
    #[must_use]
    pub fn new(total: ByteCount) -> Self {
        Self {
            total: total.get(),
            reserved: Arc::default(),
        }
    }

    /// A budget without end, for a server of this program's own.
    #[must_use]
    pub fn unlimited() -> Self {
        Self::new(ByteCount::new(u64::MAX))
    }

    /// Reserves `bytes` until the reservation is dropped.
    ///
    /// # Errors
    /// When so much is not free.
    pub fn reserve(&self, bytes: u64) -> Result<MemoryReservation, MemoryExhausted> {
        let mut reservation = MemoryReservation {
            budget: self.clone(),
            bytes: 0,
        };
        reservation.grow_to(bytes)?;
        Ok(reservation)
    }

    /// The memory that is reserved, bytes.
    pub fn reserved(&self) -> u64 {
        self.reserved.load(Relaxed)
    }
}

/// Reserved memory, free again when dropped.
#[derive(Debug)]
pub struct MemoryReservation {
    budget: MemoryBudget,
    bytes: u64,
}

impl MemoryReservation {
    /// Makes this a reservation of at least `bytes`.
    ///
    /// # Errors
    /// When so much is not free; the reservation is as before then.
    pub fn grow_to(&mut self, bytes: u64) -> Result<(), MemoryExhausted> {
        let wanted = bytes.saturating_sub(self.bytes);
        let total = self.budget.total;
        self.budget
            .reserved
            .fetch_update(Relaxed, Relaxed, |reserved| {
                reserved.checked_add(wanted).filter(|sum| *sum <= total)
            })
            .map_err(|reserved| MemoryExhausted {
                wanted: ByteCount::new(wanted),
                free: ByteCount::new(total.saturating_sub(reserved)),
                total: ByteCount::new(total),
            })?;
        self.bytes += wanted;
        Ok(())
    }
}

impl Drop for MemoryReservation {
    fn drop(&mut self) {
        self.budget.reserved.fetch_sub(self.bytes, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_reserved_up_to_the_total_and_free_again_when_dropped() {
        let budget = MemoryBudget::new(ByteCount::new(1000));
        let mut first = budget.reserve(600).unwrap();
        let refused = budget.clone().reserve(500).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "the memory for clients is used up: 500 B more were needed, and 400 B of 1 kB are free"
        );
        first.grow_to(900).unwrap();
        first.grow_to(100).unwrap();
        assert_eq!(budget.reserved(), 900);
        assert!(first.grow_to(1001).is_err());
        drop(first);
        assert_eq!(budget.reserved(), 0);
        assert!(budget.reserve(1000).is_ok());
    }
}
