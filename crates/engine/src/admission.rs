//! The clients a server admits, whatever protocol they speak: from which networks, and how many at once.

use crate::network::Network;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The admission of clients to a server. Clones share its slots.
#[derive(Debug, Clone)]
pub struct Admission {
    allowed: Vec<Network>,
    capacity: usize,
    in_use: Arc<AtomicUsize>,
    served: Arc<AtomicUsize>,
}

impl Admission {
    /// An admission of `capacity` clients at once, from the networks of `allowed`, or from everywhere when that is empty.
    #[must_use]
    pub fn new(allowed: Vec<Network>, capacity: usize) -> Self {
        Self {
            allowed,
            capacity,
            in_use: Arc::default(),
            served: Arc::default(),
        }
    }

    /// Checks that clients at `address` are admitted at all.
    ///
    /// # Errors
    /// The reason why they are not.
    pub fn check_address(&self, address: IpAddr) -> Result<(), String> {
        if !self.allowed.is_empty() && !self.allowed.iter().any(|network| network.contains(address))
        {
            return Err(format!(
                "{address} is not among the networks this server answers"
            ));
        }
        Ok(())
    }

    /// Admits a client at `address`.
    ///
    /// # Errors
    /// The reason why it is not admitted.
    pub fn admit(&self, address: IpAddr) -> Result<ClientSlot, String> {
        self.check_address(address)?;
        let mut slot = self
            .reserve(self.capacity)
            .map_err(|in_use| format!("all {in_use} places are taken"))?;
        slot.occupy();
        Ok(slot)
    }

    /// Reserves a slot while fewer than `max` are in use; otherwise the number that is.
    pub(crate) fn reserve(&self, max: usize) -> Result<ClientSlot, usize> {
        self.in_use
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |in_use| {
                (in_use < max).then_some(in_use + 1)
            })
            .map(|_| ClientSlot {
                admission: self.clone(),
                is_occupied: false,
            })
    }

    /// The maximum number of clients at once.
    #[must_use]
    pub const fn capacity(&self) -> usize {
        self.capacity
    }

    /// The number of clients that were served and have left.
    #[must_use]
    pub fn served(&self) -> usize {
        self.served.load(Ordering::Acquire)
    }

    /// The number of slots in use.
    #[must_use]
    pub fn in_use(&self) -> usize {
        self.in_use.load(Ordering::Acquire)
    }
}

/// One client's slot, free again when dropped.
#[derive(Debug)]
pub struct ClientSlot {
    admission: Admission,
    is_occupied: bool,
}

impl ClientSlot {
    /// Marks that its client is being served: once dropped it counts as served.
    pub(crate) const fn occupy(&mut self) {
        self.is_occupied = true;
    }
}

impl Drop for ClientSlot {
    fn drop(&mut self) {
        if self.is_occupied {
            self.admission.served.fetch_add(1, Ordering::AcqRel);
        }
        self.admission.in_use.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_free_again_when_its_client_has_left() {
        let admission = Admission::new(vec!["192.0.2.0/24".parse().unwrap()], 1);
        let allowed: IpAddr = "192.0.2.7".parse().unwrap();
        let refused = admission
            .admit("198.51.100.1".parse().unwrap())
            .unwrap_err();
        assert!(refused.contains("not among the networks"), "{refused}");
        let slot = admission.admit(allowed).unwrap();
        assert_eq!(
            admission.admit(allowed).unwrap_err(),
            "all 1 places are taken"
        );
        assert_eq!((admission.in_use(), admission.served()), (1, 0));
        drop(slot);
        assert_eq!((admission.in_use(), admission.served()), (0, 1));
        assert!(admission.admit(allowed).is_ok());
    }

    #[test]
    fn a_slot_that_nobody_came_to_does_not_count_as_served() {
        let admission = Admission::new(Vec::new(), 1);
        drop(admission.reserve(1).unwrap());
        assert_eq!((admission.in_use(), admission.served()), (0, 0));
    }
}
