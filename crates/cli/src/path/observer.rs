//! The state of a path as views are shown it.

use crate::output::views::Views;
use caudal_core::event::{Event, View};
use caudal_core::path::PathRound;
use caudal_probe::prober::PathObserver;
use caudal_sys::signal::Interrupt;

/// Hands rounds to the views, until the user ends it or nobody reads them any more.
pub(super) struct ViewObserver<'a> {
    pub(super) views: &'a mut Views,
    pub(super) interrupt: &'static Interrupt,
}

impl PathObserver for ViewObserver<'_> {
    fn round(&mut self, round: PathRound) {
        self.views.event(&Event::PathRound { round });
    }

    fn is_stopped(&self) -> bool {
        self.interrupt.count() > 0 || self.views.is_unread()
    }
}
