//! The state of a path as observers are told it.

use super::idle_peer::IdlePeer;
use super::names::LiveNames;
use crate::control::Observer;
use caudal_core::event::Event;
use caudal_core::path::PathRound;
use caudal_probe::prober::PathObserver;
use caudal_sys::signal::Interrupt;

/// Hands rounds to an observer, until the user ends it or nobody reads the result any more.
pub(super) struct RoundObserver<'a> {
    pub(super) observer: &'a mut dyn Observer,
    /// The other end meanwhile.
    pub(super) peer: &'a mut IdlePeer,
    pub(super) interrupt: &'static Interrupt,
    /// The names of hops, as far as they are known yet.
    pub(super) names: LiveNames,
}

impl PathObserver for RoundObserver<'_> {
    fn round(&mut self, mut round: PathRound) {
        self.names.fill_in(&mut round.hops);
        self.peer.keep_alive();
        self.observer.event(&Event::PathRound { round });
    }

    fn is_stopped(&self) -> bool {
        self.interrupt.count() > 0 || self.observer.is_unread()
    }
}
