//! The log of `caudal serve`: a line of text or of JSON for each event.

use crate::foreign_servers::StartedServer;
use crate::refusal_throttle::RefusalThrottle;
use caudal_core::date::rfc3339;
use caudal_core::event::{EndedTest, Event};
use caudal_core::plan::{Directions, Plan, PlanKind, PlanRecord};
use caudal_core::text::{on_one_line, printable};
use caudal_engine::server::{SessionEvent, SessionEventKind};
use caudal_engine::{Network, Protocol, TOOL};
use caudal_foreign::stamp::ReflectedCounts;
use caudal_sys::clock::{monotonic_ns, realtime_ns};
use caudal_views::served::{TestResult, ended_flow, opened_flow};
use caudal_wire::preamble::PROTOCOL;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::Write;
use std::net::SocketAddr;

/// What the lines about a client's tests repeat.
#[derive(Debug, Clone, Default)]
struct LoggedClient {
    /// The program it reports to be.
    tool: String,
    /// The test it runs.
    test: String,
}

/// The log of a server.
pub struct ServerLog {
    is_json: bool,
    is_quiet: bool,
    /// The clients that are connected.
    clients: HashMap<(Protocol, u64), LoggedClient>,
    refusals: RefusalThrottle,
}

impl ServerLog {
    /// A log on standard output.
    #[must_use]
    pub fn new(is_json: bool, is_quiet: bool) -> Self {
        Self {
            is_json,
            is_quiet,
            clients: HashMap::new(),
            refusals: RefusalThrottle::default(),
        }
    }

    /// Shows that the server listens.
    pub fn listening(&self, local: SocketAddr) {
        self.write(
            &format!("listening on {local}, TCP and UDP, {TOOL}, protocol {PROTOCOL}"),
            || {
                json!({"event": "listening", "address": local.ip().to_string(), "port": local.port(),
                       "version": env!("CARGO_PKG_VERSION"), "protocol": PROTOCOL})
            },
        );
    }

    /// Shows that browsers are answered.
    pub fn web(&self, local: SocketAddr) {
        let line = if local.ip().is_unspecified() {
            let port = local.port();
            format!("browsers are answered: http://ADDRESS:{port}/ with an address of this host")
        } else {
            format!("browsers are answered: http://{local}/")
        };
        self.write(&line, || {
            json!({"event": "web", "address": local.ip().to_string(), "port": local.port(), "what": line})
        });
    }

    /// Shows that metrics are served.
    pub fn metrics(&self, local: SocketAddr) {
        self.write(
            &format!("metrics on http://{local}/metrics"),
            || json!({"event": "metrics", "address": local.ip().to_string(), "port": local.port()}),
        );
    }

    /// Shows that the server of another protocol listens, or could not be started.
    pub fn started(&self, server: &StartedServer) {
        let event = match server.port {
            Some(_) => "listening",
            None => "without",
        };
        self.write(&server.message, || {
            json!({"event": event, "dialect": server.protocol.to_string(), "port": server.port,
                   "what": server.message})
        });
    }

    /// Shows that a reflector of STAMP answers, and what that exposes.
    pub fn stamp(&self, local: SocketAddr, is_authenticated: bool, per_source: u32) {
        let who = match is_authenticated {
            true => "packets authenticated with the key",
            false => {
                "without authentication, with as many bytes as came, and with the time of this host (--stamp-key-file, --allow)"
            }
        };
        let line = format!(
            "STAMP on UDP {local}: answers {who}; at most {per_source} packets a second of one source"
        );
        self.write(&line, || {
            json!({"event": "stamp", "address": local.ip().to_string(), "port": local.port(),
                   "authenticated": is_authenticated, "packets_per_s": per_source, "what": line})
        });
    }

    /// Shows what a reflector of STAMP did with the packets that came.
    pub fn reflected(&self, local: SocketAddr, counts: &ReflectedCounts) {
        let dropped = counts.dropped().into_iter().filter(|(_, count)| *count > 0);
        let dropped: Vec<String> = dropped
            .map(|(why, count)| format!("{count} {why}"))
            .collect();
        let dropped = match dropped.is_empty() {
            true => "none dropped".to_owned(),
            false => format!("dropped: {}", dropped.join(", ")),
        };
        let line = format!(
            "STAMP on UDP {local}: {} packets answered, {dropped}",
            counts.answered
        );
        self.write(&line, || {
            json!({"event": "stamp_end", "address": local.ip().to_string(), "port": local.port(),
                   "answered": counts.answered, "not_allowed": counts.not_allowed,
                   "over_rate": counts.over_rate, "not_authentic": counts.not_authentic,
                   "malformed": counts.malformed, "not_sent": counts.not_sent,
                   "not_read": counts.not_read, "what": line})
        });
    }

    /// Shows that clients need not authenticate themselves, where `allowed` are the networks that are answered and `stores` says whether
    /// files are stored.
    pub fn unauthenticated(&self, allowed: &[Network], stores: bool) {
        let (hosts, flags) = if allowed.is_empty() {
            ("that reaches these ports", "--token-file, --allow")
        } else {
            ("of the allowed networks", "--token-file")
        };
        let may = if stores {
            "measure, and store files here"
        } else {
            "measure"
        };
        let line = format!("no authentication: any host {hosts} may {may} ({flags})");
        self.write(&line, || json!({"event": "unauthenticated", "what": line}));
    }

    /// Shows that the server may have so few descriptors that clients will be refused.
    pub fn few_descriptors(&self, limit: u64) {
        let line = format!(
            "this process may have {limit} descriptors only: raise the limit (ulimit -n), or clients are refused"
        );
        self.write(&line, || json!({"event": "few_descriptors", "what": line}));
    }

    /// Shows that the server is being stopped.
    pub fn stopping(&mut self) {
        self.write_left_out();
        self.write(
            "stopping: running tests are ended and reported",
            || json!({"event": "stopping"}),
        );
    }

    /// Shows an event of a session. Of many refusals most are counted, as whoever causes them is not to fill the disk.
    pub fn event(&mut self, event: &SessionEvent) {
        if let SessionEventKind::Refused(refusal) = &event.kind
            && !self.refusals.shows(refusal.kind.name(), monotonic_ns())
        {
            return;
        }
        if matches!(event.kind, SessionEventKind::Progress(_)) {
            return;
        }
        self.write_left_out();
        match event.protocol {
            Protocol::Native | Protocol::Iperf3 | Protocol::Web => self.client_event(event),
            Protocol::Iperf2 | Protocol::Nttcp => self.foreign_event(event),
        }
    }

    /// Shows how many refusals were not shown one by one.
    fn write_left_out(&mut self) {
        let left_out = self.refusals.take_left_out();
        let count: u64 = left_out.values().sum();
        if count > 0 {
            let each: Vec<String> = left_out
                .iter()
                .map(|(reason, count)| format!("{reason}: {count}"))
                .collect();
            let line = format!("{count} more were turned away ({})", each.join(", "));
            self.write(
                &line,
                || json!({"event": "more_refused", "count": count, "reasons": left_out}),
            );
        }
    }

    fn write(&self, line: &str, value: impl FnOnce() -> Value) {
        if self.is_quiet {
            return;
        }
        let time = rfc3339(realtime_ns());
        let text = if self.is_json {
            let mut value = value();
            if let Value::Object(map) = &mut value {
                map.insert("time".to_owned(), json!(time));
            }
            printable(&value.to_string()).into_owned()
        } else {
            format!("{time} {}", on_one_line(line))
        };
        // A log nobody reads any more must not stop a server that others use.
        let _ = writeln!(std::io::stdout().lock(), "{text}");
    }

    /// Shows an event of a session on the native port.
    fn client_event(&mut self, event: &SessionEvent) {
        let client = event.session;
        let peer = event.peer.map(|peer| peer.to_string()).unwrap_or_default();
        let protocol = event.protocol.to_string();
        let session = (event.protocol, client);
        match &event.kind {
            SessionEventKind::Connected { tool } => {
                self.clients.entry(session).or_default().tool = tool.to_string();
                self.write(&format!("client {client}: {peer} ({tool})"), || {
                    json!({"event": "connected", "client": client, "protocol": protocol, "peer": peer,
                           "tool": tool})
                });
            }
            SessionEventKind::Authenticated { name } => {
                let token = name.as_deref().unwrap_or("a token without a name");
                self.write(
                    &format!("client {client} {peer}: authenticated by {token}"),
                    || json!({"event": "authenticated", "client": client, "peer": peer, "token": name}),
                );
            }
            SessionEventKind::Event(event) => match &**event {
                Event::Agreed(agreement) => {
                    let plan = &agreement.plan;
                    let test = describe(plan);
                    self.write(&format!("client {client} {peer}: {test}"), || {
                        json!({"event": "started", "client": client, "protocol": protocol, "peer": peer,
                               "plan": plan, "what": test})
                    });
                    self.clients.entry(session).or_default().test = test;
                }
                Event::Ended(ended) => self.test_ended(session, &peer, ended),
                _ => {}
            },
            SessionEventKind::Refused(refusal) => {
                let reason = &refusal.message;
                self.write(&format!("{peer}: turned away: {reason}"), || {
                    json!({"event": "refused", "protocol": protocol, "peer": peer, "reason": refusal.kind.name(),
                           "why": reason})
                });
            }
            SessionEventKind::Progress(_) => {}
            SessionEventKind::Left => {
                self.clients.remove(&session);
                self.write(
                    &format!("client {client} {peer}: left"),
                    || json!({"event": "left", "client": client, "peer": peer}),
                );
            }
        }
    }

    fn test_ended(&self, session: (Protocol, u64), peer: &str, ended: &EndedTest) {
        let (protocol, client) = session;
        let stopped = ended.cut_short.as_ref().map(ToString::to_string);
        let test = self.clients.get(&session).map_or("a test", |one| &one.test);
        let result = TestResult::from(ended);
        let reason = stopped.as_ref().map_or_else(
            || "complete".to_owned(),
            |reason| format!("ended early: {reason}"),
        );
        let line = format!(
            "client {client} {peer}: {test}: done in {:.2} s, {result}; {reason}",
            ended.elapsed_s
        );
        self.write(&line, || {
            json!({"event": "finished", "client": client, "protocol": protocol.to_string(), "peer": peer,
                   "what": test, "received_bytes": ended.received_bytes, "sent_bytes": ended.sent_bytes,
                   "received_bps": result.received_bps, "sent_bps": result.sent_bps,
                   "received_datagrams": ended.received_datagrams, "lost_datagrams": ended.lost_datagrams,
                   "took_s": ended.elapsed_s, "stopped": stopped})
        });
    }

    /// Shows an event of a session of another protocol: the beginning and the end of each flow.
    fn foreign_event(&mut self, event: &SessionEvent) {
        let session = (event.protocol, event.session);
        match &event.kind {
            SessionEventKind::Connected { tool } => {
                self.clients.entry(session).or_default().tool = tool.to_string();
            }
            SessionEventKind::Event(test) => match &**test {
                Event::Opened(connection) => {
                    let tool = self.clients.get(&session).map_or("", |one| &one.tool);
                    let message = format!("client {tool}: {}", opened_flow(connection));
                    self.foreign_line(event, "started", &message, None);
                }
                Event::FlowEnded(ended) => {
                    let (message, bytes) = ended_flow(ended);
                    let carried = CarriedFlow {
                        bytes,
                        took_s: ended.at_ns as f64 / 1e9,
                    };
                    self.foreign_line(event, "finished", &message, Some(carried));
                }
                _ => {}
            },
            SessionEventKind::Refused(refusal) => {
                self.foreign_line(event, "refused", refusal.message.as_received(), None);
            }
            SessionEventKind::Authenticated { .. } | SessionEventKind::Progress(_) => {}
            SessionEventKind::Left => {
                self.clients.remove(&session);
            }
        }
    }

    /// Writes a line about a client of another protocol, with what its flow carried where one has ended.
    fn foreign_line(
        &self,
        event: &SessionEvent,
        name: &str,
        message: &str,
        carried: Option<CarriedFlow>,
    ) {
        let protocol = event.protocol.to_string();
        let peer = event.peer.map(|peer| peer.to_string());
        let prefix = peer
            .as_ref()
            .map_or_else(String::new, |peer| format!("{peer}: "));
        let refused = if name == "refused" {
            "turned away: "
        } else {
            ""
        };
        self.write(&format!("{protocol}: {prefix}{refused}{message}"), || {
            json!({"event": name, "dialect": protocol, "peer": peer, "what": message,
                   "received_bytes": carried.map(|carried| carried.bytes.0),
                   "sent_bytes": carried.map(|carried| carried.bytes.1),
                   "took_s": carried.map(|carried| carried.took_s)})
        });
    }
}

/// What a flow carried until its end.
#[derive(Debug, Clone, Copy)]
struct CarriedFlow {
    /// Payload bytes received and sent.
    bytes: (u64, u64),
    took_s: f64,
}

/// The test in a line.
fn describe(plan: &PlanRecord) -> String {
    // The plan of a browser's test lacks what its client does not tell.
    let of_kind = || match (plan.kind(), plan.directions()) {
        (Some(PlanKind::Quality), _) => "latency under load",
        (Some(PlanKind::Tcp), Some(Directions::Up)) => "an upload over TCP",
        (Some(PlanKind::Tcp), Some(Directions::Down)) => "a download over TCP",
        _ => "a test",
    };
    Plan::try_from(plan).map_or_else(|_| of_kind().to_owned(), |plan| plan.at_server())
}
