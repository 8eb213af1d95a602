//! The interface of this host that a test uses, looked at while it runs.

use caudal_analysis::episode::{InterfaceReading, InterfaceWatch};
use caudal_core::episode::InterfaceEvent;
use caudal_sys::interface::{interface_state, route_to_socket};
use std::net::SocketAddr;

/// Minimum time between two looks, ns.
const LOOK_NS: u64 = 200_000_000;

/// The watch over the interface of this host that a test uses.
pub(crate) struct OwnInterface {
    /// `None` where the route to the peer takes none that is known.
    index: Option<u32>,
    watch: InterfaceWatch,
    due_ns: u64,
}

impl OwnInterface {
    /// The watch over the interface towards `peer`, in a test that starts at `start_ns`.
    pub(crate) fn towards(peer: SocketAddr, start_ns: u64) -> Self {
        let mut own = Self {
            index: route_to_socket(peer).map(|route| route.index),
            watch: InterfaceWatch::new(start_ns),
            due_ns: start_ns,
        };
        own.look(start_ns);
        own
    }

    /// Takes a look if one is due.
    pub(crate) fn look(&mut self, now_ns: u64) {
        let Some(index) = self.index.filter(|_| now_ns >= self.due_ns) else {
            return;
        };
        self.due_ns = now_ns + LOOK_NS;
        self.take_look(index, now_ns);
    }

    /// What became of the interface in the test, which ends at `now_ns`.
    pub(crate) fn finish(mut self, now_ns: u64) -> Vec<InterfaceEvent> {
        if let Some(index) = self.index {
            self.take_look(index, now_ns);
        }
        self.watch.finish()
    }

    fn take_look(&mut self, index: u32, now_ns: u64) {
        if let Some(state) = interface_state(index) {
            let counters = &state.counters;
            self.watch.read(&InterfaceReading {
                now_ns,
                is_up: state.is_up,
                has_carrier: state.has_carrier,
                carrier_losses: state.carrier_losses,
                // Frames that found no buffer are errors in some drivers' sum.
                errors: counters
                    .rx_errors
                    .saturating_sub(counters.rx_missed_errors + counters.rx_fifo_errors)
                    .saturating_add(counters.tx_errors),
                no_buffer: counters.rx_missed_errors + counters.rx_fifo_errors,
            });
        }
    }
}
