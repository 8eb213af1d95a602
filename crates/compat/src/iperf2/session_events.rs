//! The events of sessions on their way to the thread that prints them: sessions do not wait for output.

use caudal_core::event::{Event, View};
use caudal_engine::peer::iperf2::Iperf2Session;
use caudal_engine::server::{SessionView, SessionViews};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};

/// An event of a session.
#[derive(Debug, Clone)]
pub(super) struct Iperf2Event {
    pub(super) session: Arc<Iperf2Session>,
    pub(super) event: Event,
}

/// The view of a session that sends its events to the printer's thread.
pub(super) struct EventForwarder {
    session: Arc<Iperf2Session>,
    events: Sender<Iperf2Event>,
}

impl EventForwarder {
    /// The view of a session that sends its events there.
    pub(super) fn new(session: Iperf2Session, events: Sender<Iperf2Event>) -> Self {
        Self {
            session: Arc::new(session),
            events,
        }
    }
}

impl View for EventForwarder {
    fn event(&mut self, event: &Event) {
        // That the printer has ended is no error.
        let _ = self.events.send(Iperf2Event {
            session: Arc::clone(&self.session),
            event: event.clone(),
        });
    }
}

impl SessionView for EventForwarder {}

/// The views of a server's sessions, which send their events there.
pub(super) fn forwarding_views(events: Sender<Iperf2Event>) -> SessionViews<Iperf2Session> {
    let events = Mutex::new(events);
    SessionViews(Arc::new(move |session: &Iperf2Session| {
        let events = events
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        Box::new(EventForwarder::new(session.clone(), events))
    }))
}
