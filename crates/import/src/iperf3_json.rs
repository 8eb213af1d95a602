//! The JSON of iperf3: one object a test (`-J`), several of them, or an event a line (`--json-stream`).

use super::iperf3_document::{
    DocumentEnd, DocumentPeer, Iperf3Counts, Iperf3Document, Iperf3Interval, Iperf3Start,
    Iperf3StreamEnd, Iperf3Timestamp,
};
use super::log::{Log, LogCounts, LogFlow, LogFormat};
use caudal_core::plan::{Direction, Transport};
use caudal_core::run::ImportSide;
use caudal_core::sample::Role;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use std::collections::HashMap;

/// The tests of the objects of `iperf3 -J` among these.
#[must_use]
pub fn from_objects(objects: &[Value]) -> Vec<Log> {
    let mut logs = Vec::new();
    for object in objects {
        collect(object, 0, &mut logs);
    }
    logs
}

/// Maximum depth of iperf3's objects in an object of another program.
const MAX_DEPTH: u32 = 6;

/// Adds the test of an object, or those that it holds: scripts put results into lists and under names.
fn collect(value: &Value, depth: u32, logs: &mut Vec<Log>) {
    let own = value
        .is_object()
        .then(|| Iperf3Document::deserialize(value).ok())
        .flatten()
        .and_then(|document| log(&document, LogFormat::Iperf3Json));
    if let Some(own) = own {
        logs.push(own);
        return;
    }
    if depth >= MAX_DEPTH {
        return;
    }
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(item, depth + 1, logs)),
        Value::Object(entries) => entries
            .values()
            .for_each(|item| collect(item, depth + 1, logs)),
        _ => {}
    }
}

/// An object that is an event of `--json-stream`.
#[derive(Deserialize)]
struct EventMark {
    #[serde(rename = "event")]
    _event: IgnoredAny,
}

/// `true` when the first of the objects is an event of `--json-stream`.
#[must_use]
pub fn is_stream(objects: &[Value]) -> bool {
    let mut objects = objects.iter();
    objects
        .next()
        .is_some_and(|first| EventMark::deserialize(first).is_ok())
}

/// An event of `--json-stream`.
#[derive(Deserialize)]
#[serde(tag = "event", content = "data", rename_all = "snake_case")]
enum Iperf3StreamEvent {
    Start(Box<Iperf3Start>),
    Interval(Iperf3Interval),
    End(Box<DocumentEnd>),
    Error(String),
}

/// The tests of a stream of events.
#[must_use]
pub fn from_events(objects: &[Value]) -> Vec<Log> {
    let mut documents: Vec<Iperf3Document> = Vec::new();
    let empty = || Iperf3Document {
        start: Some(Iperf3Start::default()),
        intervals: Some(Vec::new()),
        ..Iperf3Document::default()
    };
    for event in objects
        .iter()
        .filter_map(|object| Iperf3StreamEvent::deserialize(object).ok())
    {
        if documents.is_empty() || matches!(event, Iperf3StreamEvent::Start(_)) {
            documents.push(empty());
        }
        let Some(document) = documents.last_mut() else {
            continue;
        };
        match event {
            Iperf3StreamEvent::Start(start) => document.start = Some(*start),
            Iperf3StreamEvent::Interval(interval) => {
                document.intervals.get_or_insert_default().push(interval);
            }
            Iperf3StreamEvent::End(end) => document.end = Some(*end),
            Iperf3StreamEvent::Error(error) => document.error = Some(error),
        }
    }
    let logs = documents
        .iter()
        .filter_map(|document| log(document, LogFormat::Iperf3Stream));
    logs.collect()
}

/// The test of a document; `None` when it is not one of iperf3.
fn log(document: &Iperf3Document, format: LogFormat) -> Option<Log> {
    let start = document.start.as_ref()?;
    if document.intervals.is_none() && document.end.is_none() {
        return None;
    }
    let test = start.test_start.clone().unwrap_or_default();
    let end = document.end.clone().unwrap_or_default();
    let mut log = Log::new(format);
    let version = start.version.as_deref();
    log.version = version
        .and_then(|version| version.strip_prefix("iperf "))
        .map(|version| version.split_whitespace().next().unwrap_or("").to_owned());
    log.title = document.title.clone().or_else(|| start.title.clone());
    log.error.clone_from(&document.error);
    log.started_ns = start.timestamp.and_then(started_ns);
    if let Some(server) = &start.connecting_to {
        log.side = Some(ImportSide::Client);
        log.peer = server_address(server);
    } else if let Some(client) = &start.accepted_connection {
        log.side = Some(ImportSide::Server);
        log.peer.clone_from(&client.host);
    }
    log.protocol = match test.protocol.as_deref() {
        Some("TCP") => Some(Transport::Tcp),
        Some("UDP") => Some(Transport::Udp),
        _ => None,
    };
    (log.length, log.time_s, log.omit_s) = (
        test.blksize.filter(is_positive),
        test.duration.filter(is_positive),
        test.omit.filter(is_positive),
    );
    log.bytes = test.bytes.filter(is_positive);
    log.rate = test
        .target_bitrate
        .filter(is_positive)
        .or(start.target_bitrate.filter(is_positive));
    log.congestion.clone_from(&end.sender_tcp_congestion);
    let mut reader = Iperf3JsonReader {
        log,
        ids: HashMap::new(),
        is_reverse: test.reverse.is_some_and(|reverse| reverse != 0.0),
    };
    let intervals = document.intervals.iter().flatten();
    for stream in intervals.flat_map(|interval| interval.streams.iter().flatten()) {
        reader.interval(stream);
    }
    for stream in end.streams.iter().flatten() {
        reader.end(stream);
    }
    reader.sums(&end);
    let mut log = reader.log;
    log.is_complete = end.streams.is_some() && log.error.is_none();
    log.forget_unknown_zeros();
    Some(log)
}

fn is_positive(value: &f64) -> bool {
    *value > 0.0
}

/// The address of the server, with its port.
fn server_address(server: &DocumentPeer) -> Option<String> {
    let host = server.host.as_ref()?;
    Some(match server.port {
        Some(port) if host.contains(':') => format!("[{host}]:{port}"),
        Some(port) => format!("{host}:{port}"),
        None => host.clone(),
    })
}

/// The test as it is read.
struct Iperf3JsonReader {
    log: Log,
    ids: HashMap<u64, usize>,
    is_reverse: bool,
}

impl Iperf3JsonReader {
    /// The flow of a stream, added when it is met first.
    fn flow(&mut self, stream: &Iperf3Counts) -> &mut LogFlow {
        let id = stream.socket.map_or(u64::MAX, |socket| socket as u64);
        let flows = &mut self.log.flows;
        let side = self.log.side.unwrap_or(ImportSide::Client);
        let at = *self.ids.entry(id).or_insert_with(|| {
            // Old versions do not report who sends: it is the end that was to send.
            let direction = match stream.sender {
                Some(true) => side.direction(Role::Sender),
                Some(false) => side.direction(Role::Receiver),
                None if self.is_reverse => Direction::Down,
                None => Direction::Up,
            };
            flows.push(LogFlow::new(direction, side.role(direction)));
            flows.len() - 1
        });
        &mut self.log.flows[at]
    }

    fn interval(&mut self, stream: &Iperf3Counts) {
        let Some(mut count) = counts(stream) else {
            return;
        };
        let flow = self.flow(stream);
        if flow.counted_by == Role::Sender {
            (count.lost, count.jitter_ms) = (None, None);
        }
        flow.intervals.push(count);
    }

    fn end(&mut self, stream: &Iperf3StreamEnd) {
        if let Some(udp) = &stream.udp {
            let Some(count) = counts(udp) else { return };
            let flow = self.flow(udp);
            // One object for both ends: the bytes are those sent, the losses the receiver's.
            flow.sender = Some(LogCounts {
                lost: None,
                jitter_ms: None,
                reordered: None,
                ..count
            });
            let counted = |key: fn(&LogCounts) -> Option<f64>| {
                let own = flow.intervals.iter().filter(|interval| !interval.omitted);
                own.map(key).sum::<Option<f64>>()
            };
            let (mut bytes, mut bps) = (None, None);
            if flow.counted_by == Role::Receiver && !flow.intervals.is_empty() {
                bytes = counted(|interval| interval.bytes);
                bps = bytes
                    .filter(|_| count.end_s > count.start_s)
                    .map(|bytes| bytes * 8.0 / (count.end_s - count.start_s));
            }
            flow.receiver = Some(LogCounts {
                bytes,
                bps,
                ..count
            });
            return;
        }
        for (object, end) in [
            (&stream.sender, Role::Sender),
            (&stream.receiver, Role::Receiver),
        ] {
            if let Some(object) = object
                && let Some(count) = counts(object)
            {
                *self.flow(object).end_mut(end) = Some(count);
            }
        }
    }

    fn sums(&mut self, end: &DocumentEnd) {
        let side = self.log.side.unwrap_or(ImportSide::Client);
        let is_both = end.sum_sent_bidir_reverse.is_some();
        // Of two directions the plain sums are those from client to server.
        let plain = if !is_both && self.is_reverse {
            Direction::Down
        } else {
            Direction::Up
        };
        for (sum, direction, role) in [
            (&end.sum_sent, plain, Role::Sender),
            (&end.sum_received, plain, Role::Receiver),
            (&end.sum_sent_bidir_reverse, Direction::Down, Role::Sender),
            (
                &end.sum_received_bidir_reverse,
                Direction::Down,
                Role::Receiver,
            ),
        ] {
            let Some(mut count) = sum.as_ref().and_then(counts) else {
                continue;
            };
            if role == Role::Sender {
                (count.lost, count.jitter_ms) = (None, None);
            }
            let sums = self.log.sums_in(direction, side.role(direction));
            *sums.end_mut(role) = Some(count);
        }
        // The sum of the only flow of a direction is that flow's, and counted exactly.
        for sum in &self.log.sums {
            let mut flows = self
                .log
                .flows
                .iter_mut()
                .filter(|flow| flow.direction == sum.direction);
            if let (Some(flow), None) = (flows.next(), flows.next())
                && let (Some(receiver), Some(sum)) = (&mut flow.receiver, &sum.receiver)
                && self.log.protocol == Some(Transport::Udp)
            {
                (receiver.bytes, receiver.bps) = (sum.bytes, sum.bps);
                (receiver.start_s, receiver.end_s) = (sum.start_s, sum.end_s);
            }
        }
    }
}

/// The counts of an object; `None` for one without a valid time.
fn counts(object: &Iperf3Counts) -> Option<LogCounts> {
    let (start_s, end_s) = (object.start?, object.end?);
    if !(start_s >= 0.0 && end_s >= start_s && end_s < 1e9) {
        return None;
    }
    let not_negative = |value: &f64| *value >= 0.0;
    Some(LogCounts {
        start_s,
        end_s,
        bytes: object.bytes.filter(not_negative),
        bps: object.bits_per_second.filter(not_negative),
        // Some versions report -1 or 2⁶⁴ − 1 where the kernel does not count them.
        retransmits: object
            .retransmits
            .filter(|count| (0.0..9e18).contains(count)),
        cwnd_bytes: object
            .snd_cwnd
            .filter(is_positive)
            .or(object.max_snd_cwnd.filter(is_positive)),
        rtt_us: object
            .rtt
            .filter(is_positive)
            .or(object.mean_rtt.filter(is_positive)),
        datagrams: object.packets.filter(not_negative),
        lost: object.lost_packets.filter(not_negative),
        reordered: object.out_of_order.filter(not_negative),
        jitter_ms: object.jitter_ms.filter(not_negative),
        omitted: object.omitted.unwrap_or(false),
        has_negative: [object.bytes, object.packets, object.lost_packets]
            .iter()
            .flatten()
            .any(|value| *value < 0.0),
    })
}

/// The start, ns since 1970.
fn started_ns(timestamp: Iperf3Timestamp) -> Option<i64> {
    let ms = timestamp
        .timemillisecs
        .or(timestamp.timesecs.map(|seconds| seconds * 1e3))?;
    (ms as i64).checked_mul(1_000_000).filter(|at| *at > 0)
}
