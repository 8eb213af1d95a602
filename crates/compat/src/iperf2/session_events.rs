//! The events of sessions on their way to the thread that prints them: sessions do not wait for output.

use caudal_core::event::{Event, View};
use caudal_core::sample::Counters;
use caudal_engine::server::{SessionView, SessionViews};
use caudal_foreign::iperf2::{HistogramCounts, Iperf2Session};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};

/// An event of a session.
#[derive(Debug, Clone)]
pub(super) struct Iperf2Event {
    pub(super) session: Arc<Iperf2Session>,
    pub(super) event: Event,
    /// The histogram of the one-way times of the event's flow, at the time of its reading.
    pub(super) histogram: Option<HistogramCounts>,
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
            histogram: histogram_of(&self.session, event),
        });
    }
}

impl SessionView for EventForwarder {}

/// The histogram of the flow that an event reads, where its one-way times are counted.
fn histogram_of(session: &Iperf2Session, event: &Event) -> Option<HistogramCounts> {
    let histograms = session.histograms.as_ref()?;
    let (flow, counters) = match event {
        Event::Sampled(sample) => (sample.flow, sample.counters),
        Event::FlowEnded(ended) => (ended.end.flow, ended.end.counters),
        _ => return None,
    };
    match counters {
        Counters::Receiver(_) => histograms.read(flow),
        Counters::Sender(_) => None,
    }
}

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
