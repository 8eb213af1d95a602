//! The sessions of a server, from their events.

use super::status::{SCHEMA, ServerStatus, SessionStatus};
use caudal_core::event::Event;
use caudal_core::plan::{Directions, PlanRecord};
use caudal_core::sample::{Counters, Role};
use caudal_engine::Protocol;
use caudal_engine::server::{SessionEvent, SessionEventKind};
use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::time::Instant;

/// The payload of one flow, or of a session, bytes.
#[derive(Debug, Clone, Copy, Default)]
struct SessionPayload {
    received: u64,
    sent: u64,
}

#[derive(Debug)]
struct OpenSession {
    peer: Option<SocketAddr>,
    test: String,
    began: Instant,
    /// Of tests that are over.
    before: SessionPayload,
    /// Of the running test, by flow; one entry where the server sums them up.
    flows: HashMap<u32, SessionPayload>,
    /// The payload at the beginning of the latest second, and when that was.
    second: (SessionPayload, Instant),
    /// What was carried in the second before that, bit/s.
    received_bps: f64,
    sent_bps: f64,
}

impl OpenSession {
    /// Payload of all of its tests.
    fn payload(&self) -> SessionPayload {
        let sum = |part: fn(&SessionPayload) -> u64| {
            let running = self.flows.values().map(part);
            running.fold(part(&self.before), u64::saturating_add)
        };
        SessionPayload {
            received: sum(|payload| payload.received),
            sent: sum(|payload| payload.sent),
        }
    }

    /// Takes note of the beginning of a test: the time since the one before counts for neither.
    fn begin(&mut self) {
        self.began = Instant::now();
        self.second = (self.payload(), self.began);
    }

    /// Takes note of the time of a reading: the rates are those between two readings half a second apart at least, as a server reads its
    /// own counters about once a second.
    fn read_at(&mut self, now: Instant) {
        let (before, at) = self.second;
        let elapsed_s = now.duration_since(at).as_secs_f64();
        if elapsed_s >= 0.5 {
            let payload = self.payload();
            let rate = |now: u64, before: u64| now.saturating_sub(before) as f64 * 8.0 / elapsed_s;
            self.received_bps = rate(payload.received, before.received);
            self.sent_bps = rate(payload.sent, before.sent);
            self.second = (payload, now);
        }
    }
}

/// The sessions of a server.
#[derive(Debug)]
pub struct SessionTable {
    address: SocketAddr,
    began: Instant,
    completed: u64,
    refused: u64,
    sessions: BTreeMap<(&'static str, u64), OpenSession>,
}

impl SessionTable {
    /// The table of a server that listens on this address.
    #[must_use]
    pub fn new(address: SocketAddr) -> Self {
        Self {
            address,
            began: Instant::now(),
            completed: 0,
            refused: 0,
            sessions: BTreeMap::new(),
        }
    }

    /// Takes an event of a session.
    pub fn event(&mut self, event: &SessionEvent) {
        let key = (protocol_name(event.protocol), event.session);
        match &event.kind {
            SessionEventKind::Refused(_) => self.refused += 1,
            SessionEventKind::Left => {
                self.sessions.remove(&key);
            }
            SessionEventKind::Connected { .. } => {
                self.session(key, event.peer);
            }
            SessionEventKind::Authenticated { .. } => {}
            SessionEventKind::Progress(progress) => {
                let payload = SessionPayload {
                    received: progress.received_bytes,
                    sent: progress.sent_bytes,
                };
                if let Some(session) = self.sessions.get_mut(&key) {
                    session.flows.insert(0, payload);
                    session.read_at(Instant::now());
                }
            }
            SessionEventKind::Event(test) => self.test_event(key, event.peer, test),
        }
    }

    fn test_event(&mut self, key: (&'static str, u64), peer: Option<SocketAddr>, event: &Event) {
        match event {
            Event::Agreed(agreement) => {
                let session = self.session(key, peer);
                session.test = test_name(&agreement.plan);
                session.begin();
            }
            // Where nothing is agreed on, each flow is a test.
            Event::Opened(connection) => {
                let session = self.session(key, peer);
                if session.test.is_empty() {
                    let direction = match connection.role {
                        Role::Sender => "download",
                        Role::Receiver => "upload",
                    };
                    let transport = connection.transport.to_string().to_lowercase();
                    session.test = format!("{transport} {direction}");
                    session.begin();
                }
            }
            Event::Sampled(sample) => {
                let Some(session) = self.sessions.get_mut(&key) else {
                    return;
                };
                let flow = session.flows.entry(sample.flow).or_default();
                match sample.counters {
                    Counters::Sender(sent) => flow.sent = sent.bytes,
                    Counters::Receiver(received) => flow.received = received.bytes,
                }
                session.read_at(Instant::now());
            }
            Event::Ended(ended) => {
                self.completed += u64::from(ended.cut_short.is_none());
                let Some(session) = self.sessions.get_mut(&key) else {
                    return;
                };
                session.flows.clear();
                session.test.clear();
                (session.received_bps, session.sent_bps) = (0.0, 0.0);
                let before = &mut session.before;
                before.received = before.received.saturating_add(ended.received_bytes);
                before.sent = before.sent.saturating_add(ended.sent_bytes);
            }
            _ => {}
        }
    }

    /// The state of the server now.
    #[must_use]
    pub fn status(&self) -> ServerStatus {
        let session = |((protocol, number), open): (&(&str, u64), &OpenSession)| {
            let payload = open.payload();
            SessionStatus {
                name: format!("{protocol} {number}"),
                peer: open.peer,
                test: open.test.clone(),
                elapsed_s: open.began.elapsed().as_secs_f64(),
                received_bytes: payload.received,
                sent_bytes: payload.sent,
                received_bps: open.received_bps,
                sent_bps: open.sent_bps,
            }
        };
        ServerStatus {
            schema: SCHEMA.to_owned(),
            address: self.address,
            up_s: self.began.elapsed().as_secs_f64(),
            completed: self.completed,
            refused: self.refused,
            sessions: self.sessions.iter().map(session).collect(),
        }
    }

    fn session(&mut self, key: (&'static str, u64), peer: Option<SocketAddr>) -> &mut OpenSession {
        self.sessions.entry(key).or_insert_with(|| OpenSession {
            peer,
            test: String::new(),
            began: Instant::now(),
            before: SessionPayload::default(),
            flows: HashMap::new(),
            second: (SessionPayload::default(), Instant::now()),
            received_bps: 0.0,
            sent_bps: 0.0,
        })
    }
}

const fn protocol_name(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Native => "caudal",
        Protocol::Iperf3 => "iperf3",
        Protocol::Iperf2 => "iperf",
        Protocol::Nttcp => "nttcp",
        Protocol::Web => "web",
    }
}

/// A test in two words.
fn test_name(plan: &PlanRecord) -> String {
    let kind = plan.kind().map_or("test", |kind| kind.name());
    match plan.directions() {
        Some(Directions::Up) => format!("{kind} upload"),
        Some(Directions::Down) => format!("{kind} download"),
        Some(Directions::Both) => format!("{kind} both ways"),
        None => kind.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::event::{Agreement, EndedTest};
    use caudal_engine::SessionProgress;

    fn event(session: u64, kind: SessionEventKind) -> SessionEvent {
        SessionEvent {
            session,
            protocol: Protocol::Native,
            peer: Some(([192, 0, 2, 1], 40_000).into()),
            kind,
        }
    }

    fn of_test(test: Event) -> SessionEvent {
        event(1, SessionEventKind::Event(Box::new(test)))
    }

    #[test]
    fn the_payload_of_a_session_only_grows_over_its_tests() {
        let mut table = SessionTable::new(([127, 0, 0, 1], 5201).into());
        let connected = SessionEventKind::Connected { tool: "x".into() };
        table.event(&event(1, connected));
        let plan = serde_json::json!({"kind": "tcp", "directions": "down"});
        table.event(&of_test(Event::Agreed(Agreement {
            repeat: None,
            plan: serde_json::from_value(plan).unwrap(),
            changed: Vec::new(),
        })));
        let progress = |bytes| {
            SessionEventKind::Progress(SessionProgress {
                received_bytes: 0,
                sent_bytes: bytes,
            })
        };
        table.event(&event(1, progress(500)));
        table.event(&event(1, progress(900)));
        let status = table.status();
        assert_eq!(status.sessions[0].test, "tcp download");
        assert_eq!(status.sessions[0].sent_bytes, 900);
        table.event(&of_test(Event::Ended(EndedTest {
            sent_bytes: 1000,
            ..EndedTest::default()
        })));
        let status = table.status();
        assert_eq!((status.completed, status.sessions[0].sent_bytes), (1, 1000));
        assert_eq!(status.sessions[0].test, "");
        table.event(&event(1, SessionEventKind::Left));
        assert!(table.status().sessions.is_empty());
        // What is late begins nothing that would never end.
        table.event(&event(1, progress(950)));
        table.event(&of_test(Event::Ended(EndedTest::default())));
        assert!(table.status().sessions.is_empty());
    }
}
