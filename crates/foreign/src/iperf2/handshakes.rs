//! The TCP connections of clients, each of which validates its address for one UDP flow.

use caudal_sys::clock::monotonic_ns;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The time after the end of a connection at which its address may still begin a flow, ns.
const VALID_NS: u64 = 10_000_000_000;
/// Maximum number of connections remembered.
const MAX_HANDSHAKES: usize = 4096;

/// A connection that has validated no flow yet.
struct Handshake {
    number: u64,
    address: IpAddr,
    /// The time at which it ended; `None` while it is open.
    ended_ns: Option<u64>,
}

#[derive(Default)]
struct Unused {
    last: u64,
    handshakes: Vec<Handshake>,
}

/// The connections that are open, or ended a few seconds ago, and have validated no flow yet.
#[derive(Default)]
pub(super) struct Handshakes(Mutex<Unused>);

impl Handshakes {
    fn lock(&self) -> MutexGuard<'_, Unused> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an open connection from `address`.
    pub(super) fn open(&self, address: IpAddr) -> OpenHandshake<'_> {
        let mut unused = self.lock();
        unused.remove_expired(monotonic_ns());
        if unused.handshakes.len() >= MAX_HANDSHAKES {
            unused.handshakes.remove(0);
        }
        unused.last += 1;
        let number = unused.last;
        unused.handshakes.push(Handshake {
            number,
            address,
            ended_ns: None,
        });
        OpenHandshake {
            handshakes: self,
            number,
        }
    }

    /// Uses up a connection from `address`; `false` when there is none.
    pub(super) fn take(&self, address: IpAddr, now_ns: u64) -> bool {
        let mut unused = self.lock();
        unused.remove_expired(now_ns);
        let found = unused
            .handshakes
            .iter()
            .position(|handshake| handshake.address == address);
        found
            .map(|position| unused.handshakes.remove(position))
            .is_some()
    }
}

impl Unused {
    fn remove_expired(&mut self, now_ns: u64) {
        self.handshakes.retain(|handshake| {
            handshake
                .ended_ns
                .is_none_or(|ended_ns| now_ns < ended_ns + VALID_NS)
        });
    }
}

/// An open connection, which has ended when this is dropped.
pub(super) struct OpenHandshake<'a> {
    handshakes: &'a Handshakes,
    number: u64,
}

impl Drop for OpenHandshake<'_> {
    fn drop(&mut self) {
        let mut unused = self.handshakes.lock();
        let own = unused
            .handshakes
            .iter_mut()
            .find(|handshake| handshake.number == self.number);
        if let Some(handshake) = own {
            handshake.ended_ns = Some(monotonic_ns());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_validates_one_flow_of_its_address_for_seconds() {
        let handshakes = Handshakes::default();
        let address = |host: u8| IpAddr::from([192, 0, 2, host]);
        let open = handshakes.open(address(1));
        let now_ns = monotonic_ns();
        assert!(!handshakes.take(address(2), now_ns), "another address");
        assert!(handshakes.take(address(1), now_ns + 100 * VALID_NS), "open");
        assert!(!handshakes.take(address(1), now_ns), "it is used up");
        drop(open);
        drop(handshakes.open(address(3)));
        drop(handshakes.open(address(3)));
        let ended_ns = monotonic_ns();
        assert!(handshakes.take(address(3), ended_ns));
        assert!(
            !handshakes.take(address(3), ended_ns + VALID_NS),
            "it ended too long ago"
        );
    }
}
