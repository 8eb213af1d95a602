//! Permission to set the default congestion control of namespaces.

use std::collections::BTreeSet;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::thread;
use std::time::Duration;

use caudal_sys::tcp;

/// Permission for every namespace to have certain congestion controls as a default, until this is dropped.
///
/// Namespaces other than the initial one may only have those in a list of the initial namespace. The list is restored once
/// the hosts have been created, which keep what they have.
#[derive(Debug)]
pub(crate) struct CongestionPermission {
    /// The list before, and as extended.
    original: String,
    extended: String,
    /// Keeps other labs from changing the list meanwhile.
    _lock: UnixListener,
}

impl CongestionPermission {
    const LIST: &str = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";

    /// Adds `requested` to the list; `None` when nothing needs to be changed, or this user may not change it. Waits while
    /// another lab holds a permission.
    pub(crate) fn request<'a>(requested: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let requested: Vec<&str> = requested.into_iter().collect();
        if requested.is_empty() {
            return None;
        }
        let lock = lock()?;
        let original = std::fs::read_to_string(Self::LIST).ok()?.trim().to_owned();
        let available = tcp::available_congestion_controls();
        let mut list: Vec<&str> = original.split_whitespace().collect();
        for name in requested {
            if !list.contains(&name) && available.iter().any(|available| available == name) {
                list.push(name);
            }
        }
        let extended = list.join(" ");
        if extended == original {
            return None;
        }
        std::fs::write(Self::LIST, &extended).ok()?;
        Some(Self {
            original,
            extended,
            _lock: lock,
        })
    }
}

/// An abstract socket as a lock, which is released when its process ends; `None` when another process holds it for longer
/// than building a lab takes.
fn lock() -> Option<UnixListener> {
    let name = SocketAddr::from_abstract_name("caudal lab congestion control").ok()?;
    for _ in 0..1000 {
        match UnixListener::bind_addr(&name) {
            Ok(lock) => return Some(lock),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                thread::sleep(Duration::from_millis(5));
            }
            Err(_) => return None,
        }
    }
    None
}

impl Drop for CongestionPermission {
    fn drop(&mut self) {
        // A list that has been changed by others meanwhile is left alone.
        let current = std::fs::read_to_string(Self::LIST).unwrap_or_default();
        let names = |text: &str| -> BTreeSet<String> {
            text.split_whitespace().map(str::to_owned).collect()
        };
        if names(&current) == names(&self.extended) {
            let _ = std::fs::write(Self::LIST, &self.original);
        }
    }
}
