//! The log of a server, on standard error: clients that were refused, and the transfers where that is wanted.

use crate::program::print_error;
use caudal_core::event::Event;
use caudal_core::plan::{Directions, PlanRecord, TestEnd, Transport};
use caudal_engine::server::{SessionEvent, SessionEventKind};
use std::collections::BTreeMap;

/// The log of a server.
pub struct NttcpLog {
    is_verbose: bool,
    /// The transports of the running transfers, by session.
    transports: BTreeMap<u64, Transport>,
}

impl NttcpLog {
    /// A log; a verbose one has the beginning and the end of every transfer.
    pub const fn new(is_verbose: bool) -> Self {
        Self {
            is_verbose,
            transports: BTreeMap::new(),
        }
    }

    /// Writes the line of an event, where it has one.
    pub fn event(&mut self, event: &SessionEvent) {
        if let Some(line) = self.line(event) {
            let peer = event.peer.map(|peer| format!("{peer}: "));
            print_error("nttcp", format!("{}{line}", peer.unwrap_or_default()));
        }
    }

    fn line(&mut self, event: &SessionEvent) -> Option<String> {
        match &event.kind {
            SessionEventKind::Refused(refusal) => Some(refusal.message.to_string()),
            SessionEventKind::Event(test) if self.is_verbose => self.test_line(event.session, test),
            SessionEventKind::Left => {
                self.transports.remove(&event.session);
                None
            }
            SessionEventKind::Connected { .. }
            | SessionEventKind::Authenticated { .. }
            | SessionEventKind::Progress(_)
            | SessionEventKind::Event(_) => None,
        }
    }

    fn test_line(&mut self, session: u64, event: &Event) -> Option<String> {
        match event {
            Event::Agreed(agreement) => {
                self.transports.insert(session, agreement.plan.transport()?);
                describe(&agreement.plan)
            }
            Event::Ended(ended) => {
                let transport = self.transports.get(&session)?;
                let (verb, bytes) = match ended.sent_bytes {
                    0 => ("received", ended.received_bytes),
                    sent => ("sent", sent),
                };
                let seconds = ended.elapsed_s;
                Some(format!(
                    "{transport} {verb} {bytes} bytes in {seconds:.2} s"
                ))
            }
            _ => None,
        }
    }
}

fn describe(plan: &PlanRecord) -> Option<String> {
    let direction = match plan.directions()? {
        Directions::Down => "download",
        Directions::Up | Directions::Both => "upload",
    };
    let TestEnd::Bytes(bytes) = plan.bulk()?.end? else {
        return None;
    };
    let bytes = bytes.get();
    Some(format!("{} {direction}, {bytes} bytes", plan.transport()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::event::{Agreement, EndedTest};
    use caudal_core::plan::BulkPlanRecord;
    use caudal_core::units::ByteCount;
    use caudal_engine::{ClientRefusal, Protocol};
    use caudal_wire::message::Refusal;

    fn event(kind: SessionEventKind) -> SessionEvent {
        SessionEvent {
            session: 1,
            protocol: Protocol::Nttcp,
            peer: None,
            kind,
        }
    }

    fn test_events() -> [SessionEvent; 2] {
        let keys = BulkPlanRecord {
            directions: Some(Directions::Down),
            end: Some(TestEnd::Bytes(ByteCount::new(8192))),
            ..BulkPlanRecord::default()
        };
        let plan = PlanRecord::bulk_transfer(Some(Transport::Tcp), keys);
        let agreed = Event::Agreed(Agreement {
            repeat: None,
            plan,
            changed: Vec::new(),
        });
        let ended = Event::Ended(EndedTest {
            sent_bytes: 8192,
            elapsed_s: 0.015,
            ..EndedTest::default()
        });
        [agreed, ended].map(|test| event(SessionEventKind::Event(Box::new(test))))
    }

    #[test]
    fn a_verbose_log_has_the_beginning_and_the_end_of_a_transfer() {
        let mut log = NttcpLog::new(true);
        let lines = test_events().map(|event| log.line(&event).unwrap());
        assert_eq!(
            lines,
            ["TCP download, 8192 bytes", "TCP sent 8192 bytes in 0.01 s"]
        );
    }

    #[test]
    fn a_log_that_is_not_verbose_has_the_refused_clients_only() {
        let mut log = NttcpLog::new(false);
        assert!(test_events().iter().all(|event| log.line(event).is_none()));
        let refusal = ClientRefusal::new(Refusal::Full, "too many");
        let refused = event(SessionEventKind::Refused(refusal));
        assert_eq!(log.line(&refused).as_deref(), Some("too many"));
    }
}
