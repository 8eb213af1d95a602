//! The interface of this host that a test uses, and the route to the other end, looked at while it runs.

use caudal_analysis::episode::{InterfaceReading, InterfaceWatch, RouteWatch};
use caudal_core::episode::{ChangedRoute, InterfaceEvent};
use caudal_sys::interface::{Route, interface_state, route_of_connection};
use caudal_sys::options::bound_device;
use std::net::{IpAddr, SocketAddr, TcpStream};

/// Minimum time between two looks, ns.
const LOOK_NS: u64 = 200_000_000;
/// The same of the route, for which the kernel is asked several things, ns.
const ROUTE_LOOK_NS: u64 = 1_000_000_000;

/// The watch over the interface of this host that a test uses.
pub(crate) struct OwnInterface {
    /// The ends of its control connection; `None` where this host does not tell, or its interface was chosen by the user.
    ends: Option<(IpAddr, SocketAddr)>,
    /// `None` where the route to the peer takes none that is known.
    index: Option<u32>,
    watch: InterfaceWatch,
    routes: RouteWatch,
    due_ns: u64,
    route_due_ns: u64,
}

/// What became of the interface and the route.
#[derive(Default)]
pub(crate) struct InterfaceAccount {
    pub(crate) events: Vec<InterfaceEvent>,
    pub(crate) routes: Vec<ChangedRoute>,
}

/// The route in words.
fn describe(route: &Route) -> String {
    match route.gateway {
        Some(gateway) => format!("by {} through {gateway}", route.interface),
        None => format!("by {}", route.interface),
    }
}

impl OwnInterface {
    /// The watch over the interface of `connection`, in a test that starts at `start_ns`.
    pub(crate) fn of(connection: &TcpStream, start_ns: u64) -> Self {
        let local = connection.local_addr().ok().map(|local| local.ip());
        let ends = local.zip(connection.peer_addr().ok());
        let route = ends.and_then(|(local, peer)| route_of_connection(local, peer));
        // What a socket sends that is bound to a device does not follow the routes of others.
        let is_bound = matches!(bound_device(connection), Ok(Some(_)));
        let mut own = Self {
            ends: ends.filter(|_| !is_bound),
            index: route.as_ref().map(|route| route.index),
            watch: InterfaceWatch::new(start_ns),
            routes: RouteWatch::new(start_ns),
            due_ns: start_ns,
            route_due_ns: start_ns + ROUTE_LOOK_NS,
        };
        own.routes
            .read(start_ns, route.as_ref().map(describe).as_deref());
        own.look(start_ns);
        own
    }

    /// Takes a look if one is due.
    pub(crate) fn look(&mut self, now_ns: u64) {
        if now_ns >= self.due_ns {
            self.due_ns = now_ns + LOOK_NS;
            self.take_look(now_ns);
        }
    }

    /// What became of the interface in the test, which ends at `now_ns`.
    pub(crate) fn finish(mut self, now_ns: u64) -> InterfaceAccount {
        self.take_look(now_ns);
        InterfaceAccount {
            events: self.watch.finish(),
            routes: self.routes.finish(),
        }
    }

    fn take_look(&mut self, now_ns: u64) {
        if now_ns >= self.route_due_ns {
            self.route_due_ns = now_ns + ROUTE_LOOK_NS;
            self.look_at_route(now_ns);
        }
        let Some(index) = self.index else {
            return;
        };
        let Ok(state) = interface_state(index) else {
            return;
        };
        let reading = match state {
            None => InterfaceReading {
                now_ns,
                is_removed: true,
                ..InterfaceReading::default()
            },
            Some(state) => {
                let counters = &state.counters;
                InterfaceReading {
                    now_ns,
                    is_removed: false,
                    is_up: state.is_up,
                    has_carrier: state.has_carrier,
                    carrier_losses: state.carrier_losses,
                    // Frames that found no buffer are errors in some drivers' sum.
                    errors: counters
                        .rx_errors
                        .saturating_sub(counters.rx_missed_errors + counters.rx_fifo_errors)
                        .saturating_add(counters.tx_errors),
                    no_buffer: counters.rx_missed_errors + counters.rx_fifo_errors,
                }
            }
        };
        self.watch.read(&reading);
    }

    fn look_at_route(&mut self, now_ns: u64) {
        let route = self
            .ends
            .and_then(|(local, peer)| route_of_connection(local, peer));
        let text = route.as_ref().map(describe);
        self.routes.read(now_ns, text.as_deref());
        // An interface that was made anew has the name of the one before, and another index.
        if let Some(route) = route
            && self.index != Some(route.index)
        {
            self.index = Some(route.index);
            self.watch.move_to_another(now_ns);
        }
    }
}
