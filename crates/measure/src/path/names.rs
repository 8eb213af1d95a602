//! The names of addresses.

use caudal_sys::host::name_of;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::mpsc::channel;
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
