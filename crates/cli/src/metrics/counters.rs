//! The counters of a server, by protocol, from the events of its sessions.

use crate::args::{PROTOCOLS, protocol_name};
use caudal_core::event::{EndedTest, Event};
use caudal_engine::Protocol;
use caudal_engine::server::{SessionEvent, SessionEventKind};
use caudal_views::metrics::ProtocolCounters;
use caudal_wire::message::Refusal;
use std::collections::{HashMap, HashSet};
use std::time::Duration;

/// The counters of a server.
#[derive(Debug, Clone, Default)]
pub struct ServerCounters {
    protocols: HashMap<Protocol, ProtocolCounters>,
    /// The sessions with a test that has begun and not ended.
    running: HashSet<(Protocol, u64)>,
}

impl ServerCounters {
    /// Counts an event of a session.
    pub fn event(&mut self, event: &SessionEvent) {
        let session = (event.protocol, event.session);
        match &event.kind {
            SessionEventKind::Connected { .. } => self.of_mut(event.protocol).clients += 1,
            SessionEventKind::Authenticated { .. } | SessionEventKind::Progress(_) => {}
            SessionEventKind::Event(test) => match &**test {
                Event::Agreed(_) | Event::Opened(_) => self.begin(session),
                Event::Ended(ended) => self.end(session, ended),
                _ => {}
            },
            SessionEventKind::Refused(refusal) => {
                let reasons = Refusal::ALL
                    .iter()
                    .zip(&mut self.of_mut(event.protocol).refused);
                for (_, count) in reasons.filter(|(known, _)| **known == refusal.kind) {
                    *count += 1;
                }
            }
            SessionEventKind::Left => self.leave(session),
        }
    }

    /// The counters of each protocol, by its name on the command line.
    pub fn by_name(&self) -> [(&'static str, ProtocolCounters); PROTOCOLS.len()] {
        PROTOCOLS.map(|protocol| (protocol_name(protocol), self.of(protocol)))
    }

    /// The counters of a protocol.
    fn of(&self, protocol: Protocol) -> ProtocolCounters {
        self.protocols.get(&protocol).cloned().unwrap_or_default()
    }

    fn of_mut(&mut self, protocol: Protocol) -> &mut ProtocolCounters {
        self.protocols.entry(protocol).or_default()
    }

    fn begin(&mut self, session: (Protocol, u64)) {
        if self.running.insert(session) {
            self.of_mut(session.0).running += 1;
        }
    }

    fn end(&mut self, session: (Protocol, u64), ended: &EndedTest) {
        let was_running = self.running.remove(&session);
        let counters = self.of_mut(session.0);
        if was_running {
            counters.running -= 1;
        }
        match ended.cut_short {
            None => counters.completed += 1,
            Some(_) => counters.ended_early += 1,
        }
        counters.test_time += Duration::try_from_secs_f64(ended.elapsed_s).unwrap_or_default();
        add(&mut counters.received_bytes, Some(ended.received_bytes));
        add(&mut counters.sent_bytes, Some(ended.sent_bytes));
        add(&mut counters.received_datagrams, ended.received_datagrams);
        add(&mut counters.lost_datagrams, ended.lost_datagrams);
    }

    /// A client has left: a test that did not end by then has failed.
    fn leave(&mut self, session: (Protocol, u64)) {
        let was_running = self.running.remove(&session);
        let counters = self.of_mut(session.0);
        counters.clients = counters.clients.saturating_sub(1);
        if was_running {
            counters.running -= 1;
            counters.ended_early += 1;
        }
    }
}

/// Adds to a counter what a peer reports, which may be any number.
fn add(counter: &mut u64, reported: Option<u64>) {
    *counter = counter.saturating_add(reported.unwrap_or(0));
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::event::{Agreement, CutShort};
    use caudal_core::plan::PlanRecord;
    use caudal_engine::ClientRefusal;

    fn event(session: u64, kind: SessionEventKind) -> SessionEvent {
        SessionEvent {
            session,
            protocol: Protocol::Native,
            peer: None,
            kind,
        }
    }

    fn of_test(session: u64, test: Event) -> SessionEvent {
        event(session, SessionEventKind::Event(Box::new(test)))
    }

    fn agreed(session: u64) -> SessionEvent {
        let agreement = Agreement {
            repeat: None,
            plan: PlanRecord::default(),
            changed: Vec::new(),
        };
        of_test(session, Event::Agreed(agreement))
    }

    fn connected(session: u64) -> SessionEvent {
        event(session, SessionEventKind::Connected { tool: "x".into() })
    }

    #[test]
    fn a_test_counts_when_it_has_ended() {
        let mut counters = ServerCounters::default();
        counters.event(&connected(1));
        counters.event(&agreed(1));
        let now = counters.of(Protocol::Native);
        assert_eq!((now.clients, now.running, now.completed), (1, 1, 0));
        let ended = EndedTest {
            received_bytes: 1000,
            received_datagrams: Some(10),
            lost_datagrams: Some(3),
            elapsed_s: 1.5,
            ..EndedTest::default()
        };
        counters.event(&of_test(1, Event::Ended(ended)));
        counters.event(&event(1, SessionEventKind::Left));
        let now = counters.of(Protocol::Native);
        assert_eq!((now.clients, now.running, now.completed), (0, 0, 1));
        assert_eq!((now.received_bytes, now.lost_datagrams), (1000, 3));
        assert_eq!(now.test_time, Duration::from_millis(1500));
        assert_eq!(counters.of(Protocol::Iperf3), ProtocolCounters::default());
    }

    #[test]
    fn a_test_whose_client_vanishes_ended_early() {
        let mut counters = ServerCounters::default();
        for event in [connected(1), agreed(1), event(1, SessionEventKind::Left)] {
            counters.event(&event);
        }
        counters.event(&agreed(2));
        let cut_short = Some(CutShort::ByServer("limit".into()));
        let ended = EndedTest {
            cut_short,
            elapsed_s: f64::NAN,
            ..EndedTest::default()
        };
        counters.event(&of_test(2, Event::Ended(ended)));
        let now = counters.of(Protocol::Native);
        assert_eq!((now.completed, now.ended_early, now.running), (0, 2, 0));
    }

    #[test]
    fn refusals_count_by_reason() {
        let mut counters = ServerCounters::default();
        for kind in [Refusal::Full, Refusal::Denied, Refusal::Full] {
            let refusal = ClientRefusal::new(kind, "no");
            counters.event(&event(0, SessionEventKind::Refused(refusal)));
        }
        let refused = counters.of(Protocol::Native).refused;
        assert_eq!(&refused[..3], [2, 1, 0]);
    }
}
