//! The addresses that have proved to receive what is sent to them.

use crate::network::Network;
use caudal_sys::clock::monotonic_ns;
use caudal_sys::interface::local_addresses;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

/// The time for which a proof is valid, ns.
const PROOF_NS: u64 = 600_000_000_000;
/// The maximum number of proofs.
const MAX_PROOFS: usize = 4096;

/// The addresses that have completed a TCP handshake with this server, and when.
#[derive(Default)]
pub(super) struct AddressProofs(Mutex<HashMap<IpAddr, u64>>);

impl AddressProofs {
    /// Adds an address that has completed a handshake.
    pub(super) fn add(&self, address: IpAddr) {
        let now_ns = monotonic_ns();
        let mut proofs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if proofs.len() >= MAX_PROOFS {
            proofs.retain(|_, at_ns| now_ns - *at_ns < PROOF_NS);
        }
        if proofs.len() < MAX_PROOFS {
            proofs.insert(address, now_ns);
        }
    }

    /// `true` when what is sent to this address arrives at the client that asked for it: the address is this machine's own,
    /// is in a trusted network, or has completed a TCP handshake with this server lately.
    pub(super) fn is_proven(&self, address: IpAddr, trusted: &[Network]) -> bool {
        trusted.iter().any(|network| network.contains(address))
            || address.is_loopback()
            || local_addresses().iter().any(|own| own.address == address)
            || self.is_recent(address)
    }

    fn is_recent(&self, address: IpAddr) -> bool {
        let now_ns = monotonic_ns();
        let proofs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        proofs
            .get(&address)
            .is_some_and(|at_ns| now_ns - at_ns < PROOF_NS)
    }
}
