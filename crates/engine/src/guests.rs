//! Places at a server, whatever protocol a guest speaks.

use crate::allow::Network;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Who may come in, and how many at once.
#[derive(Debug, Clone)]
pub struct Guests {
    allow: Vec<Network>,
    most: usize,
    taken: Arc<AtomicUsize>,
    served: Arc<AtomicUsize>,
}

impl Guests {
    /// Places of their own: `most` at once, from the networks of `allow`, or from everywhere when that is empty.
    #[must_use]
    pub fn new(allow: Vec<Network>, most: usize) -> Self {
        Self {
            allow,
            most,
            taken: Arc::default(),
            served: Arc::default(),
        }
    }

    /// Whether `address` may come in at all.
    ///
    /// # Errors
    /// Says why it may not.
    pub fn may_enter(&self, address: IpAddr) -> Result<(), String> {
        if !self.allow.is_empty() && !self.allow.iter().any(|network| network.contains(address)) {
            return Err(format!(
                "{address} is not among the networks this server answers"
            ));
        }
        Ok(())
    }

    /// Gives `address` a place.
    ///
    /// # Errors
    /// Says why it gets none.
    pub fn admit(&self, address: IpAddr) -> Result<Guest, String> {
        self.may_enter(address)?;
        self.take(self.most)
            .map_err(|taken| format!("all {taken} places are taken"))?;
        Ok(self.guest())
    }

    /// Takes one of the first `most` places; how many are taken, when none of those is free.
    pub(crate) fn take(&self, most: usize) -> Result<(), usize> {
        self.taken
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |taken| {
                (taken < most).then_some(taken + 1)
            })
            .map(drop)
    }

    /// Gives back a place that was taken and that nobody came to.
    pub(crate) fn give_back(&self) {
        self.taken.fetch_sub(1, Ordering::AcqRel);
    }

    /// Who comes to a place that was taken.
    pub(crate) fn guest(&self) -> Guest {
        Guest(self.clone())
    }

    /// Places in all.
    #[must_use]
    pub const fn places(&self) -> usize {
        self.most
    }

    /// Guests that have left.
    #[must_use]
    pub fn served(&self) -> usize {
        self.served.load(Ordering::Acquire)
    }

    /// Guests inside.
    #[must_use]
    pub fn inside(&self) -> usize {
        self.taken.load(Ordering::Acquire)
    }
}

/// A place, free again when dropped.
#[derive(Debug)]
pub struct Guest(Guests);

impl Drop for Guest {
    fn drop(&mut self) {
        self.0.served.fetch_add(1, Ordering::AcqRel);
        self.0.give_back();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_free_again_when_its_guest_has_left() {
        let guests = Guests::new(vec!["192.0.2.0/24".parse().unwrap()], 1);
        let here: IpAddr = "192.0.2.7".parse().unwrap();
        let elsewhere = guests.admit("198.51.100.1".parse().unwrap()).unwrap_err();
        assert!(elsewhere.contains("not among the networks"), "{elsewhere}");
        let guest = guests.admit(here).unwrap();
        assert_eq!(guests.admit(here).unwrap_err(), "all 1 places are taken");
        assert_eq!((guests.inside(), guests.served()), (1, 0));
        drop(guest);
        assert_eq!((guests.inside(), guests.served()), (0, 1));
        assert!(guests.admit(here).is_ok());
    }
}
