//! A log as a document `caudal.run/1`: the keys are those of a run of our own, and those the log does not tell are absent.

use super::log::{Count, End, Flow, Log, Protocol};
use caudal_core::plan::Direction;
use caudal_stats::{Estimate, wilson};
use serde_json::{Map, Value, json};

/// How sure the interval of a loss is.
const CONFIDENCE: f64 = 0.95;

/// What a direction of a test adds up to.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Totals {
    /// Payload that arrived per second, by the receiver's count.
    pub goodput_bps: Option<f64>,
    /// Payload handed to the sender's kernel per second, by the sender's count.
    pub sent_bps: Option<f64>,
    /// Payload that arrived.
    pub received_bytes: Option<f64>,
    /// Payload handed over.
    pub sent_bytes: Option<f64>,
    /// How long was counted.
    pub measured_s: f64,
    /// Segments sent again.
    pub retransmits: Option<f64>,
    /// The largest congestion window seen.
    pub cwnd_max_bytes: Option<f64>,
    /// The mean of the round trips seen.
    pub rtt_us: Option<f64>,
    /// Datagrams the receiver knows of, and how many of them did not arrive.
    pub losses: Option<(f64, f64)>,
    /// Datagrams sent.
    pub datagrams_sent: Option<f64>,
    /// Datagrams that arrived after a later one.
    pub reordered: Option<f64>,
    /// The largest jitter at the end of a flow, milliseconds.
    pub jitter_ms: Option<f64>,
}

/// The directions of a test, up first.
#[must_use]
pub fn directions(log: &Log) -> Vec<Direction> {
    [Direction::Up, Direction::Down]
        .into_iter()
        .filter(|direction| {
            let mut all = log.flows.iter().chain(&log.sums);
            all.any(|flow| flow.direction == *direction)
        })
        .collect()
}

/// What a direction adds up to: the log's own sums where it has them, else what its flows do, as far as they go.
#[must_use]
pub fn totals(log: &Log, direction: Direction) -> Totals {
    let flows: Vec<&Flow> = log
        .flows
        .iter()
        .filter(|flow| flow.direction == direction)
        .collect();
    let sum = log.sums.iter().find(|sum| sum.direction == direction);
    let of = |end: End| -> Vec<Count> {
        if let Some(count) = sum.and_then(|sum| sum.end(end)) {
            return vec![*count];
        }
        // All or nothing: a part of the flows is not their sum.
        let counts: Option<Vec<Count>> = flows.iter().map(|flow| end_of(flow, end)).collect();
        counts.unwrap_or_default()
    };
    let (sent, arrived) = (of(End::Sender), of(End::Receiver));
    let add = |counts: &[Count], key: fn(&Count) -> Option<f64>| -> Option<f64> {
        let all: Option<Vec<f64>> = counts.iter().map(key).collect();
        all.filter(|all| !all.is_empty())
            .map(|all| all.iter().sum())
    };
    let longest = |counts: &[Count]| {
        let lengths = counts.iter().map(|count| count.end_s - count.start_s);
        lengths.fold(0.0, f64::max)
    };
    let flow_ends = |end: End, key: fn(&Count) -> Option<f64>| -> Option<f64> {
        let all: Option<Vec<f64>> = flows
            .iter()
            .map(|flow| end_of(flow, end).and_then(|count| key(&count)))
            .collect();
        all.filter(|all| !all.is_empty())
            .map(|all| all.iter().sum())
    };
    let seen = |key: fn(&Count) -> Option<f64>| -> Vec<f64> {
        let rows = flows.iter().flat_map(|flow| &flow.intervals);
        rows.filter(|row| !row.omitted).filter_map(key).collect()
    };
    let largest = |values: Vec<f64>| values.into_iter().reduce(f64::max);
    let round_trips = seen(|row| row.rtt_us);
    let ends_rtt: Vec<f64> = flows
        .iter()
        .filter_map(|flow| flow.sender?.rtt_us)
        .collect();
    let mean = |values: &[f64]| {
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    let measured = if arrived.is_empty() { &sent } else { &arrived };
    let counted = |key: fn(&Count) -> Option<f64>| {
        flow_ends(End::Receiver, key).or_else(|| add(&arrived, key))
    };
    Totals {
        goodput_bps: add(&arrived, rate),
        sent_bps: add(&sent, rate),
        received_bytes: add(&arrived, |count| count.bytes),
        sent_bytes: add(&sent, |count| count.bytes),
        measured_s: longest(measured),
        retransmits: add(&sent, |count| count.retransmits),
        cwnd_max_bytes: largest(seen(|row| row.cwnd_bytes)).or_else(|| {
            largest(
                flows
                    .iter()
                    .filter_map(|flow| flow.sender?.cwnd_bytes)
                    .collect(),
            )
        }),
        rtt_us: mean(&ends_rtt).or_else(|| mean(&round_trips)),
        losses: counted(|count| count.datagrams)
            .zip(counted(|count| count.lost))
            .filter(|(all, lost)| lost <= all),
        datagrams_sent: flow_ends(End::Sender, |count| count.datagrams)
            .or_else(|| add(&sent, |count| count.datagrams)),
        reordered: counted(|count| count.reordered),
        jitter_ms: largest(
            flows
                .iter()
                .filter_map(|flow| end_of(flow, End::Receiver)?.jitter_ms)
                .collect(),
        ),
    }
}

/// What an end of a flow adds up to: as the log says, or of a log that breaks off the intervals there are.
fn end_of(flow: &Flow, end: End) -> Option<Count> {
    if let Some(count) = flow.end(end) {
        return Some(*count);
    }
    let rows: Vec<&Count> = flow.intervals.iter().filter(|row| !row.omitted).collect();
    let (first, last) = (rows.first()?, rows.last()?);
    if flow.counted_by != end {
        return None;
    }
    let add = |key: fn(&Count) -> Option<f64>| rows.iter().map(|row| key(row)).sum::<Option<f64>>();
    let seconds: f64 = rows.iter().map(|row| row.end_s - row.start_s).sum();
    let bytes = add(|row| row.bytes);
    Some(Count {
        start_s: first.start_s,
        end_s: last.end_s.max(first.start_s),
        bytes,
        bps: bytes
            .filter(|_| seconds > 0.0)
            .map(|bytes| bytes * 8.0 / seconds),
        retransmits: add(|row| row.retransmits),
        datagrams: add(|row| row.datagrams),
        lost: add(|row| row.lost),
        reordered: add(|row| row.reordered),
        jitter_ms: last.jitter_ms,
        ..Count::default()
    })
}

fn rate(count: &Count) -> Option<f64> {
    let seconds = count.end_s - count.start_s;
    count.bps.or_else(|| {
        count
            .bytes
            .filter(|_| seconds > 0.0)
            .map(|bytes| bytes * 8.0 / seconds)
    })
}

/// Puts a key in when there is something to put.
fn put(map: &mut Map<String, Value>, key: &str, value: Option<Value>) {
    if let Some(value) = value {
        map.insert(key.to_owned(), value);
    }
}

/// A count as a whole number.
fn whole(value: Option<f64>) -> Option<Value> {
    value.map(|value| json!(value.round() as u64))
}

fn plain(value: Option<f64>) -> Option<Value> {
    value.map(|value| json!(value))
}

/// Microseconds of milliseconds, to the nanosecond they may have been printed to.
fn micros(milliseconds: Option<f64>) -> Option<Value> {
    milliseconds.map(|value| json!((value * 1e6).round() / 1e3))
}

/// `plan`.
#[must_use]
pub fn plan(log: &Log) -> Value {
    let mut plan = Map::new();
    let kind = log.protocol.map(Protocol::name);
    put(&mut plan, "kind", kind.map(Value::from));
    put(&mut plan, "transport", kind.map(Value::from));
    put(&mut plan, "peer", log.peer.clone().map(Value::from));
    let directions = directions(log);
    let name = match directions.as_slice() {
        [Direction::Up] => Some("up"),
        [Direction::Down] => Some("down"),
        [_, _] => Some("both"),
        _ => None,
    };
    put(&mut plan, "directions", name.map(Value::from));
    let parallel = directions
        .iter()
        .map(|direction| {
            log.flows
                .iter()
                .filter(|flow| flow.direction == *direction)
                .count()
        })
        .max()
        .filter(|count| *count > 0);
    put(&mut plan, "parallel", parallel.map(Value::from));
    let end = match (log.bytes, log.time_s) {
        (Some(bytes), _) => Some(json!({"bytes": bytes.round() as u64})),
        (None, Some(seconds)) => Some(json!({"time_ns": (seconds * 1e9).round() as u64})),
        (None, None) => None,
    };
    put(&mut plan, "end", end);
    let omit = log
        .omit_s
        .map(|seconds| json!({"time_ns": (seconds * 1e9).round() as u64}));
    put(&mut plan, "omit", omit);
    put(
        &mut plan,
        "rate",
        log.rate.map(|rate| json!({"limit": rate.round() as u64})),
    );
    put(&mut plan, "length", whole(log.length));
    put(
        &mut plan,
        "congestion",
        log.congestion.clone().map(Value::from),
    );
    Value::Object(plan)
}

fn is_tcp(count: &Count) -> bool {
    count.retransmits.is_some() || count.cwnd_bytes.is_some() || count.rtt_us.is_some()
}

fn tcp(count: &Count) -> Option<Value> {
    let mut tcp = Map::new();
    put(&mut tcp, "retransmits", whole(count.retransmits));
    put(&mut tcp, "cwnd_bytes", whole(count.cwnd_bytes));
    put(&mut tcp, "rtt_us", whole(count.rtt_us));
    is_tcp(count).then_some(Value::Object(tcp))
}

fn arrived(count: &Count) -> Option<f64> {
    let all = count.datagrams?;
    count
        .lost
        .filter(|lost| *lost <= all)
        .map(|lost| all - lost)
}

fn interval(row: &Count, counted_by: End) -> Value {
    let mut map = Map::new();
    put(&mut map, "start_s", plain(Some(row.start_s)));
    put(&mut map, "end_s", plain(Some(row.end_s)));
    put(&mut map, "omitted", Some(json!(row.omitted)));
    match counted_by {
        End::Receiver => {
            put(&mut map, "bytes", whole(row.bytes));
            put(&mut map, "goodput_bps", plain(row.bps));
            let mut udp = Map::new();
            put(&mut udp, "datagrams", whole(arrived(row)));
            put(&mut udp, "lost", whole(row.lost));
            put(&mut udp, "reordered", whole(row.reordered));
            put(&mut udp, "jitter_rfc3550_us", micros(row.jitter_ms));
            put(
                &mut map,
                "udp",
                (!udp.is_empty()).then_some(Value::Object(udp)),
            );
        }
        End::Sender => {
            put(&mut map, "sent_bytes", whole(row.bytes));
            put(&mut map, "sent_bps", plain(row.bps));
            put(&mut map, "sent_datagrams", whole(row.datagrams));
        }
    }
    put(&mut map, "tcp", tcp(row));
    Value::Object(map)
}

fn end(count: &Count, which: End) -> Value {
    let mut map = Map::new();
    put(&mut map, "start_s", plain(Some(count.start_s)));
    put(&mut map, "end_s", plain(Some(count.end_s)));
    put(&mut map, "bytes", whole(count.bytes));
    match which {
        End::Sender => {
            put(&mut map, "sent_bps", plain(count.bps));
            put(&mut map, "datagrams", whole(count.datagrams));
            put(&mut map, "tcp", tcp(count));
        }
        End::Receiver => {
            put(&mut map, "goodput_bps", plain(count.bps));
            put(&mut map, "datagrams", whole(arrived(count)));
            put(&mut map, "lost", whole(count.lost));
            put(&mut map, "reordered", whole(count.reordered));
            let jitter = micros(count.jitter_ms);
            put(
                &mut map,
                "delay",
                jitter.map(|jitter| json!({"jitter_rfc3550_us": jitter})),
            );
        }
    }
    Value::Object(map)
}

/// `flows`.
#[must_use]
pub fn flows(log: &Log) -> Value {
    // A log of sums alone still has a flow: all of them together.
    let all = if log.flows.is_empty() {
        &log.sums
    } else {
        &log.flows
    };
    let mut sorted: Vec<&Flow> = all.iter().collect();
    sorted.sort_by_key(|flow| flow.direction == Direction::Down);
    let flows = sorted.into_iter().enumerate().map(|(id, flow)| {
        let mut map = Map::new();
        put(&mut map, "id", Some(json!(id)));
        put(&mut map, "direction", Some(json!(flow.direction)));
        let by = match flow.counted_by {
            End::Sender => "sender",
            End::Receiver => "receiver",
        };
        put(&mut map, "counted_by", Some(json!(by)));
        for (key, which) in [("sender", End::Sender), ("receiver", End::Receiver)] {
            put(
                &mut map,
                key,
                flow.end(which).map(|count| end(count, which)),
            );
        }
        let rows = flow
            .intervals
            .iter()
            .map(|row| interval(row, flow.counted_by));
        put(&mut map, "intervals", Some(rows.collect()));
        Value::Object(map)
    });
    flows.collect()
}

/// `summary`.
#[must_use]
pub fn summary(log: &Log) -> Value {
    let directions = directions(log);
    let mut summary = Map::new();
    let only = match directions.as_slice() {
        [only] => totals(log, *only)
            .goodput_bps
            .map(|bps| json!(Estimate::single(bps))),
        _ => None,
    };
    put(&mut summary, "goodput_bps", only);
    let each = directions.iter().map(|direction| {
        let found = totals(log, *direction);
        let mut map = Map::new();
        put(&mut map, "direction", Some(json!(direction)));
        let count = log
            .flows
            .iter()
            .filter(|flow| flow.direction == *direction)
            .count();
        put(&mut map, "flows", (count > 0).then(|| json!(count)));
        let goodput = found.goodput_bps.map(|bps| json!(Estimate::single(bps)));
        put(&mut map, "goodput_bps", goodput);
        put(&mut map, "sent_bps", plain(found.sent_bps));
        put(&mut map, "measured_s", plain(Some(found.measured_s)));
        put(&mut map, "received_bytes", whole(found.received_bytes));
        put(&mut map, "sent_bytes", whole(found.sent_bytes));
        let mut tcp = Map::new();
        put(&mut tcp, "retransmits", whole(found.retransmits));
        put(&mut tcp, "cwnd_max_bytes", whole(found.cwnd_max_bytes));
        put(&mut tcp, "rtt_mean_us", plain(found.rtt_us));
        put(
            &mut map,
            "tcp",
            (!tcp.is_empty()).then_some(Value::Object(tcp)),
        );
        let mut loss = Map::new();
        put(&mut loss, "sent", whole(found.datagrams_sent));
        if let Some((all, lost)) = found.losses {
            put(&mut loss, "received", whole(Some(all - lost)));
            put(&mut loss, "lost", whole(Some(lost)));
            let fraction = wilson(lost.round() as u64, all.round() as u64, CONFIDENCE);
            put(
                &mut loss,
                "fraction",
                fraction.map(|fraction| json!(fraction)),
            );
        }
        put(&mut loss, "reordered", whole(found.reordered));
        put(
            &mut map,
            "loss",
            (!loss.is_empty()).then_some(Value::Object(loss)),
        );
        let jitter = micros(found.jitter_ms);
        put(
            &mut map,
            "delay",
            jitter.map(|jitter| json!({"jitter_rfc3550_us": jitter})),
        );
        Value::Object(map)
    });
    put(&mut summary, "directions", Some(each.collect()));
    Value::Object(summary)
}
