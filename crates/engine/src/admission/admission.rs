//! The clients a server admits, whatever protocol they speak: from which networks, and how many at once.

use super::activity::PlaceActivity;
use super::not_admitted::NotAdmitted;
use super::places::{Place, PlaceLimits, Places, Release};
use crate::network::Network;
use caudal_flow::{ClientSource, MemoryBudget};
use caudal_sys::clock::{monotonic_ns, sleep_until};
use std::net::{IpAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The part of all places that one source may take unless another number is given.
const SHARE_OF_SOURCE: usize = 4;

/// The time a client has to say what it is for before its slot may be given to another, ns.
const OPENING_NS: u64 = 500_000_000;
/// The time a client may wait for a slot when all are in use: one that has its result frees its slot shortly after.
const SLOT_WAIT_NS: u64 = 1_000_000_000;
/// Address space that serves one client: the stack of its thread, and what that allocates, bytes.
const SESSION_BYTES: u64 = 1 << 20;
/// The interval at which a client that waits asks again, ns.
const SLOT_RETRY_NS: u64 = 5_000_000;

/// The admission of clients to a server. Clones share its slots.
#[derive(Debug, Clone)]
pub struct Admission {
    allowed: Vec<Network>,
    places: Arc<Places>,
    served: Arc<AtomicUsize>,
    /// The memory of clients, for which tests that move next to nothing give way as well.
    memory: Option<MemoryBudget>,
}

impl Admission {
    /// An admission of `capacity` clients at once, from the networks of `allowed`, or from everywhere when that is empty.
    #[must_use]
    pub fn new(allowed: Vec<Network>, capacity: usize) -> Self {
        Self::with_share(allowed, capacity, capacity)
    }

    /// An admission of `capacity` clients at once, of which at most `per_source` are from one source: an IPv4 address, or a /64
    /// of IPv6.
    #[must_use]
    pub fn with_share(allowed: Vec<Network>, capacity: usize, per_source: usize) -> Self {
        Self {
            allowed,
            places: Places::new(PlaceLimits {
                all: capacity,
                per_source,
                patience_ns: OPENING_NS,
            }),
            served: Arc::default(),
            memory: None,
        }
    }

    /// The same, where tests that move next to nothing also give way when `memory` becomes short.
    #[must_use]
    pub fn with_memory(self, memory: MemoryBudget) -> Self {
        Self {
            memory: Some(memory),
            ..self
        }
    }

    /// The default number of clients of one source, of `capacity` in all.
    #[must_use]
    pub const fn default_share(capacity: usize) -> usize {
        capacity.div_ceil(SHARE_OF_SOURCE)
    }

    /// Checks that clients at `address` are admitted at all.
    ///
    /// # Errors
    /// The reason why they are not.
    pub fn check_address(&self, address: IpAddr) -> Result<(), NotAdmitted> {
        if !self.allowed.is_empty() && !self.allowed.iter().any(|network| network.contains(address))
        {
            return Err(NotAdmitted::Address(address));
        }
        Ok(())
    }

    /// Checks that this process has room for what serves one more client.
    ///
    /// # Errors
    /// When its limit (`ulimit -v`) does not leave so much.
    pub fn check_memory(&self) -> Result<(), NotAdmitted> {
        match &self.memory {
            Some(memory) => Ok(memory.check_address_space(SESSION_BYTES)?),
            None => Ok(()),
        }
    }

    /// Admits a client at `address`, whose place gives way to others by `release` while it is silent.
    ///
    /// # Errors
    /// The reason why it is not admitted.
    pub fn admit(
        &self,
        address: IpAddr,
        release: impl FnOnce() -> Release,
    ) -> Result<ClientSlot, NotAdmitted> {
        self.check_address(address)?;
        self.reserve(address, self.capacity(), release)
    }

    /// Admits the client at the other end of `stream`, which has a thread of its own, after a wait where all slots are in use.
    ///
    /// # Errors
    /// The reason why it is not admitted.
    pub fn admit_patiently(
        &self,
        address: IpAddr,
        stream: &TcpStream,
    ) -> Result<ClientSlot, NotAdmitted> {
        let until_ns = monotonic_ns() + SLOT_WAIT_NS;
        loop {
            match self.admit(address, || Release::of_connection(stream)) {
                Err(_) if monotonic_ns() < until_ns && self.check_address(address).is_ok() => {
                    sleep_until(monotonic_ns() + SLOT_RETRY_NS);
                }
                admitted => return admitted,
            }
        }
    }

    /// Reserves a slot for a client at `address` while fewer than `max` are in use.
    ///
    /// # Errors
    /// The reason why it gets none.
    pub(crate) fn reserve(
        &self,
        address: IpAddr,
        max: usize,
        release: impl FnOnce() -> Release,
    ) -> Result<ClientSlot, NotAdmitted> {
        self.check_memory()?;
        let source = ClientSource::from(address);
        let mut is_proven = false;
        let release = || {
            let release = release();
            is_proven = matches!(release, Release::Connection(_));
            release
        };
        let place = self.places.take(source, max, release)?;
        // No test ends for the sake of an address that may be forged.
        if is_proven && self.memory.as_ref().is_some_and(MemoryBudget::is_short) {
            self.places.end_slow_test(source);
        }
        Ok(ClientSlot {
            place,
            served: Arc::clone(&self.served),
            has_test: AtomicBool::new(false),
        })
    }

    /// The maximum number of clients at once.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.places.limits().all
    }

    /// The number of clients that had a test and have left.
    #[must_use]
    pub fn served(&self) -> usize {
        self.served.load(Ordering::Acquire)
    }

    /// The number of slots in use.
    #[must_use]
    pub fn in_use(&self) -> usize {
        self.places.in_use()
    }
}

/// One client's slot, free again when dropped.
#[derive(Debug)]
pub struct ClientSlot {
    place: Place,
    served: Arc<AtomicUsize>,
    has_test: AtomicBool,
}

impl ClientSlot {
    /// Takes note that the client has a test: once the slot is dropped it counts as served.
    pub fn count_test(&self) {
        self.has_test.store(true, Ordering::Relaxed);
    }

    /// Takes note that a test of the client runs, so that its place gives way to nobody.
    pub fn test_begins(&self) {
        self.count_test();
        self.activity().test_begins();
    }

    /// The activity of the client.
    pub fn activity(&self) -> &PlaceActivity {
        self.place.activity()
    }

    /// The reason why the client's session has ended, where its place was given to another.
    pub fn given_up(&self) -> Option<String> {
        let reason = "it was silent, and another client was in need of its place or memory";
        let is_given_up = self.activity().given_up().load(Ordering::Relaxed);
        is_given_up.then(|| reason.to_owned())
    }
}

impl Drop for ClientSlot {
    fn drop(&mut self) {
        if self.has_test.load(Ordering::Relaxed) {
            self.served.fetch_add(1, Ordering::AcqRel);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_free_again_when_its_client_has_left() {
        let admission = Admission::new(vec!["192.0.2.0/24".parse().unwrap()], 1);
        let allowed: IpAddr = "192.0.2.7".parse().unwrap();
        let admit = |address| admission.admit(address, || Release::Never);
        let refused = admit("198.51.100.1".parse().unwrap()).unwrap_err();
        let refused = refused.to_string();
        assert!(refused.contains("not among the networks"), "{refused}");
        let slot = admit(allowed).unwrap();
        slot.test_begins();
        let refused = admit(allowed).unwrap_err().to_string();
        assert!(refused.contains("all 1 places are taken"), "{refused}");
        assert_eq!((admission.in_use(), admission.served()), (1, 0));
        drop(slot);
        assert_eq!((admission.in_use(), admission.served()), (0, 1));
        assert!(admit(allowed).is_ok());
    }

    #[test]
    fn a_client_without_a_test_does_not_count_as_served() {
        let admission = Admission::new(Vec::new(), 1);
        let address: IpAddr = "192.0.2.7".parse().unwrap();
        drop(admission.admit(address, || Release::Never).unwrap());
        assert_eq!((admission.in_use(), admission.served()), (0, 0));
    }

    #[test]
    fn a_source_has_a_quarter_of_the_places_by_default() {
        let shares = [1, 2, 4, 5, 256].map(Admission::default_share);
        assert_eq!(shares, [1, 1, 1, 2, 64]);
    }
}
