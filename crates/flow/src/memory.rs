//! The memory that the clients of a server may occupy together.

use crate::client_source::ClientSource;
use caudal_core::units::ByteCount;
use caudal_sys::memory::address_space;
use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The default of a server's memory for clients, bytes.
const DEFAULT_BYTES: u64 = 2 << 30;
/// The part of it that one source may take unless another is given: one of so many, and at least the memory of a test, bytes.
const SHARES: u64 = 4;
const MIN_SHARE_BYTES: u64 = 4 << 20;
/// The part of all that is free that one test takes for the buffers of its sockets: one of so many.
const PART_OF_TEST: u64 = 16;
/// The address space of the process that clients leave to the rest of it, bytes.
const SPARE_ADDRESS_SPACE: u64 = 32 << 20;

/// The memory that the clients of a server may occupy together, and that each source of them may. Clones share it.
///
/// Every buffer that a server holds for a client is reserved here before it is allocated: the buffers of flows, messages that are
/// to be sent back whole, datagrams that wait for their flow, and what the kernel may keep in the buffers of their sockets.
#[derive(Debug, Clone)]
pub struct MemoryBudget {
    all: Arc<Share>,
    per_source: u64,
    sources: Arc<Mutex<HashMap<ClientSource, Weak<Share>>>>,
    /// The share of the source that this budget is for; `None` where it is for nobody.
    source: Option<Arc<Share>>,
}

/// Memory of which parts are reserved, bytes.
#[derive(Debug)]
struct Share {
    total: u64,
    reserved: AtomicU64,
}

impl Share {
    fn new(total: u64) -> Arc<Self> {
        Arc::new(Self {
            total,
            reserved: AtomicU64::new(0),
        })
    }

    fn free(&self) -> u64 {
        self.total.saturating_sub(self.reserved.load(Relaxed))
    }

    /// Reserves `bytes`; the error is what is free, which is less.
    fn take(&self, bytes: u64) -> Result<(), u64> {
        let taken = self.reserved.fetch_update(Relaxed, Relaxed, |reserved| {
            reserved.checked_add(bytes).filter(|sum| *sum <= self.total)
        });
        taken
            .map(|_| ())
            .map_err(|reserved| self.total.saturating_sub(reserved))
    }

    fn give_back(&self, bytes: u64) {
        self.reserved.fetch_sub(bytes, Relaxed);
    }
}

/// No memory is left for a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the memory for {whose} is used up: {wanted} more were needed, and {free} of {total} are free; try again later"
)]
pub struct MemoryExhausted {
    /// "clients", "one source of clients", or "this process (ulimit -v)".
    pub whose: &'static str,
    /// The memory that was asked for.
    pub wanted: ByteCount,
    /// The memory that is free.
    pub free: ByteCount,
    /// The memory of all clients, of the source, or of the process.
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
    /// A budget of this much, of which a source may take a quarter, and 4 MiB where that is less.
    #[must_use]
    pub fn new(total: ByteCount) -> Self {
        let total_bytes = total.get();
        let share = (total_bytes / SHARES).max(MIN_SHARE_BYTES).min(total_bytes);
        Self::with_share(total, ByteCount::new(share))
    }

    /// A budget of `total`, of which a source may take `per_source`.
    #[must_use]
    pub fn with_share(total: ByteCount, per_source: ByteCount) -> Self {
        Self {
            all: Share::new(total.get()),
            per_source: per_source.get(),
            sources: Arc::default(),
            source: None,
        }
    }

    /// A budget without end, for a server of this program's own.
    #[must_use]
    pub fn unlimited() -> Self {
        let end = ByteCount::new(u64::MAX);
        Self::with_share(end, end)
    }

    /// The same for clients of one source, which share what one may take.
    #[must_use]
    pub fn of_source(&self, source: ClientSource) -> Self {
        let mut sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        sources.retain(|_, share| share.strong_count() > 0);
        let known = sources.get(&source).and_then(Weak::upgrade);
        let share = known.unwrap_or_else(|| Share::new(self.per_source));
        sources.insert(source, Arc::downgrade(&share));
        drop(sources);
        Self {
            source: Some(share),
            ..self.clone()
        }
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

    /// The memory that one test of this source may take for the buffers of its sockets, bytes: some of what is free, so that as many
    /// others as there are places find some as well.
    #[must_use]
    pub fn share_of_test(&self) -> u64 {
        let of_source = self
            .source
            .as_ref()
            .map_or(u64::MAX, |share| share.free() / 2);
        of_source.min(self.all.free() / PART_OF_TEST)
    }

    /// Checks that this process may map `bytes` more, and some beside them: an allocation that fails ends it. One without a budget serves
    /// its own user, who sets the limit, and refuses nobody.
    ///
    /// # Errors
    /// When its limit (`ulimit -v`) does not leave so much.
    pub fn check_address_space(&self, bytes: u64) -> Result<(), MemoryExhausted> {
        if self.all.total == u64::MAX {
            return Ok(());
        }
        let Some(space) = address_space() else {
            return Ok(());
        };
        let free = space.left.saturating_sub(SPARE_ADDRESS_SPACE);
        if bytes <= free {
            return Ok(());
        }
        Err(MemoryExhausted {
            whose: "this process (ulimit -v)",
            wanted: ByteCount::new(bytes),
            free: ByteCount::new(free),
            total: ByteCount::new(space.total),
        })
    }

    /// `true` where more than half of the memory of all clients is reserved.
    #[must_use]
    pub fn is_short(&self) -> bool {
        self.all.free() < self.all.total / 2
    }

    /// The memory that is reserved for all clients, bytes.
    #[must_use]
    pub fn reserved(&self) -> u64 {
        self.all.reserved.load(Relaxed)
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
        let exhausted = |whose, share: &Share, free| MemoryExhausted {
            whose,
            wanted: ByteCount::new(wanted),
            free: ByteCount::new(free),
            total: ByteCount::new(share.total),
        };
        let budget = &self.budget;
        if wanted > 0 {
            budget.check_address_space(wanted)?;
        }
        if let Some(source) = &budget.source {
            source
                .take(wanted)
                .map_err(|free| exhausted("one source of clients", source, free))?;
        }
        if let Err(free) = budget.all.take(wanted) {
            if let Some(source) = &budget.source {
                source.give_back(wanted);
            }
            return Err(exhausted("clients", &budget.all, free));
        }
        self.bytes += wanted;
        Ok(())
    }
}

impl Drop for MemoryReservation {
    fn drop(&mut self) {
        self.budget.all.give_back(self.bytes);
        if let Some(source) = &self.budget.source {
            source.give_back(self.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::IpAddr;

    #[test]
    fn memory_is_reserved_up_to_the_total_and_free_again_when_dropped() {
        let budget = MemoryBudget::new(ByteCount::new(1000));
        let mut first = budget.reserve(600).unwrap();
        let refused = budget.clone().reserve(500).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "the memory for clients is used up: 500 B more were needed, and 400 B of 1 kB are free; try again later"
        );
        first.grow_to(900).unwrap();
        first.grow_to(100).unwrap();
        assert_eq!(budget.reserved(), 900);
        assert!(budget.is_short());
        assert!(first.grow_to(1001).is_err());
        drop(first);
        assert_eq!(budget.reserved(), 0);
        assert!(!budget.is_short());
        assert!(budget.reserve(1000).is_ok());
    }
    #[test]
    fn a_source_takes_its_share_and_leaves_the_others_theirs() {
        let budget = MemoryBudget::with_share(ByteCount::new(1000), ByteCount::new(250));
        let source = |last: u8| budget.of_source(IpAddr::from([192, 0, 2, last]).into());
        let first = source(1).reserve(200).unwrap();
        let refused = source(1).reserve(100).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "the memory for one source of clients is used up: 100 B more were needed, and 50 B of 250 B are free; try again later"
        );
        let shares = [1, 2].map(|last| source(last).share_of_test());
        assert_eq!(shares, [25, 50]);
        let others: Vec<_> = (2..6)
            .filter_map(|last| source(last).reserve(250).ok())
            .collect();
        assert_eq!(others.len(), 3);
        // What all have used up is not taken from a source's share.
        assert!(source(9).reserve(100).is_err());
        assert_eq!(source(9).share_of_test(), 3);
        drop(others);
        assert_eq!(budget.reserved(), 200);
        drop(first);
        assert!(source(1).reserve(250).is_ok());
        // Sources without a client are forgotten.
        drop(source(7));
        assert_eq!(source(8).sources.lock().unwrap().len(), 1);
    }
}
