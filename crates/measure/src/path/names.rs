//! The names of addresses.

use caudal_core::path::PathHop;
use caudal_core::text::ExternalText;
use caudal_sys::host::name_of;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// The time that lookups may take, all together: a resolver that does not answer delays no result.
const MAX_TIME: Duration = Duration::from_secs(3);

/// The names of these addresses, as far as the resolver knows them in time.
pub(super) fn names(addresses: impl IntoIterator<Item = IpAddr>) -> BTreeMap<IpAddr, String> {
    let (found, names) = channel();
    let mut asked = 0_u32;
    for address in addresses {
        let found = found.clone();
        let lookup = move || {
            // Nobody waits any more where this fails.
            let _ = found.send((address, name_of(address)));
        };
        // A machine without room for another thread shows addresses.
        if thread::Builder::new().spawn(lookup).is_ok() {
            asked += 1;
        }
    }
    let deadline = Instant::now() + MAX_TIME;
    let mut known = BTreeMap::new();
    for _ in 0..asked {
        let left = deadline.saturating_duration_since(Instant::now());
        let Ok((address, name)) = names.recv_timeout(left) else {
            break;
        };
        known.extend(name.map(|name| (address, name)));
    }
    known
}

/// Maximum number of addresses that are looked up while a path is probed.
const MAX_LIVE: usize = 64;

/// The names of hops while a path is probed: each address is looked up once, and nothing waits for it.
pub(super) struct LiveNames {
    is_wanted: bool,
    known: BTreeMap<IpAddr, Option<String>>,
    found: Sender<(IpAddr, Option<String>)>,
    names: Receiver<(IpAddr, Option<String>)>,
}

impl LiveNames {
    /// No names yet; none at all unless they are wanted.
    pub(super) fn new(is_wanted: bool) -> Self {
        let (found, names) = channel();
        Self {
            is_wanted,
            known: BTreeMap::new(),
            found,
            names,
        }
    }

    /// Gives hops the names that are known, and looks up the others.
    pub(super) fn fill_in(&mut self, hops: &mut [PathHop]) {
        if !self.is_wanted {
            return;
        }
        self.known.extend(self.names.try_iter());
        for hop in hops {
            let Some(address) = hop.address else { continue };
            match self.known.get(&address) {
                Some(name) => hop.name = name.as_ref().map(ExternalText::from),
                None => self.look_up(address),
            }
        }
    }

    fn look_up(&mut self, address: IpAddr) {
        if self.known.len() >= MAX_LIVE {
            return;
        }
        self.known.insert(address, None);
        let found = self.found.clone();
        // A machine without room for another thread shows addresses.
        let _ = thread::Builder::new().spawn(move || {
            let _ = found.send((address, name_of(address)));
        });
    }
}
