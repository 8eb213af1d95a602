//! What iperf3 prints for programs: one object a test (`-J`), several of them, or an event a line (`--json-stream`).

use super::log::{Count, End, Flow, Format, Log, Side};
use caudal_core::plan::{Direction, Transport};
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// Reads one object of `iperf3 -J`; `None` when it is not one.
#[must_use]
pub fn from_iperf3_json(value: &Value) -> Option<Log> {
    let start = value.get("start")?;
    if !(value.get("intervals").is_some() || value.get("end").is_some()) {
        return None;
    }
    let mut log = Log::new(Format::Iperf3Json);
    let text = |value: &Value| value.as_str().map(str::to_owned);
    log.version = start["version"]
        .as_str()
        .and_then(|version| version.strip_prefix("iperf "))
        .map(|version| version.split_whitespace().next().unwrap_or("").to_owned());
    log.title = value.get("title").or(start.get("title")).and_then(text);
    log.error = value.get("error").and_then(text);
    log.started_ns = started(&start["timestamp"]);
    if let Some(to) = start.get("connecting_to") {
        log.side = Some(Side::Client);
        log.peer = to["host"].as_str().map(|host| match to["port"].as_u64() {
            Some(port) if host.contains(':') => format!("[{host}]:{port}"),
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        });
    } else if let Some(from) = start.get("accepted_connection") {
        log.side = Some(Side::Server);
        log.peer = from["host"].as_str().map(str::to_owned);
    }
    let test = &start["test_start"];
    log.protocol = match test["protocol"].as_str() {
        Some("TCP") => Some(Transport::Tcp),
        Some("UDP") => Some(Transport::Udp),
        _ => None,
    };
    let asked = |key: &str| number(&test[key]).filter(|value| *value > 0.0);
    (log.length, log.time_s, log.omit_s) = (asked("blksize"), asked("duration"), asked("omit"));
    log.bytes = asked("bytes");
    log.rate = asked("target_bitrate")
        .or_else(|| number(&start["target_bitrate"]).filter(|rate| *rate > 0.0));
    let end = &value["end"];
    log.congestion = end["sender_tcp_congestion"].as_str().map(str::to_owned);
    let is_reverse = number(&test["reverse"]).unwrap_or(0.0) != 0.0;
    let mut reader = Reader {
        log,
        ids: HashMap::new(),
        is_reverse,
    };
    for interval in list(&value["intervals"]) {
        for stream in list(&interval["streams"]) {
            reader.interval(stream);
        }
    }
    for stream in list(&end["streams"]) {
        reader.end(stream);
    }
    reader.sums(end);
    let mut log = reader.log;
    log.is_complete = end.get("streams").is_some() && log.error.is_none();
    log.forget_unknown_zeros();
    Some(log)
}

/// Puts the events of `--json-stream` together as the object that `-J` would have printed.
#[must_use]
pub fn assemble(events: &[Value]) -> Vec<Value> {
    let mut objects: Vec<Map<String, Value>> = Vec::new();
    for event in events {
        let data = event["data"].clone();
        let name = event["event"].as_str().unwrap_or("");
        if name == "start" || objects.is_empty() {
            objects.push(Map::new());
        }
        let Some(object) = objects.last_mut() else {
            continue;
        };
        match name {
            "interval" => {
                let intervals = object
                    .entry("intervals")
                    .or_insert_with(|| Value::Array(Vec::new()));
                if let Value::Array(intervals) = intervals {
                    intervals.push(data);
                }
            }
            "start" | "end" | "error" => {
                object.insert(name.to_owned(), data);
            }
            _ => {}
        }
    }
    objects
        .into_iter()
        .map(|mut object| {
            object.entry("start").or_insert_with(|| json!({}));
            object.entry("intervals").or_insert_with(|| json!([]));
            Value::Object(object)
        })
        .collect()
}

struct Reader {
    log: Log,
    ids: HashMap<u64, usize>,
    is_reverse: bool,
}

impl Reader {
    fn flow(&mut self, stream: &Value) -> &mut Flow {
        let id = stream["socket"].as_u64().unwrap_or(u64::MAX);
        let flows = &mut self.log.flows;
        let side = self.log.side.unwrap_or(Side::Client);
        let at = *self.ids.entry(id).or_insert_with(|| {
            // Old versions do not say who sends: then it is as the test was asked for.
            let direction = match stream["sender"].as_bool() {
                Some(true) => side.direction(End::Sender),
                Some(false) => side.direction(End::Receiver),
                None if self.is_reverse => Direction::Down,
                None => Direction::Up,
            };
            flows.push(Flow::new(direction, side.end(direction)));
            flows.len() - 1
        });
        &mut self.log.flows[at]
    }

    fn interval(&mut self, stream: &Value) {
        let Some(mut count) = count(stream) else {
            return;
        };
        let flow = self.flow(stream);
        if flow.counted_by == End::Sender {
            (count.lost, count.jitter_ms) = (None, None);
        }
        flow.intervals.push(count);
    }

    fn end(&mut self, stream: &Value) {
        if let Some(udp) = stream.get("udp") {
            let Some(count) = count(udp) else { return };
            let flow = self.flow(udp);
            // One object for both ends: the bytes are those sent, the losses the receiver's.
            flow.sender = Some(Count {
                lost: None,
                jitter_ms: None,
                reordered: None,
                ..count
            });
            let counted = |key: fn(&Count) -> Option<f64>| {
                let own = flow.intervals.iter().filter(|interval| !interval.omitted);
                own.map(key).sum::<Option<f64>>()
            };
            let (mut bytes, mut bps) = (None, None);
            if flow.counted_by == End::Receiver && !flow.intervals.is_empty() {
                bytes = counted(|interval| interval.bytes);
                bps = bytes
                    .filter(|_| count.end_s > count.start_s)
                    .map(|bytes| bytes * 8.0 / (count.end_s - count.start_s));
            }
            flow.receiver = Some(Count {
                bytes,
                bps,
                ..count
            });
            return;
        }
        for (key, end) in [("sender", End::Sender), ("receiver", End::Receiver)] {
            let Some(object) = stream.get(key) else {
                continue;
            };
            if let Some(count) = count(object) {
                *self.flow(object).end_mut(end) = Some(count);
            }
        }
    }

    fn sums(&mut self, end: &Value) {
        let side = self.log.side.unwrap_or(Side::Client);
        let is_both = end.get("sum_sent_bidir_reverse").is_some();
        // Of two directions the plain sums are those from client to server.
        let plain = if !is_both && self.is_reverse {
            Direction::Down
        } else {
            Direction::Up
        };
        for (suffix, direction) in [("", plain), ("_bidir_reverse", Direction::Down)] {
            for (name, which) in [("sum_sent", End::Sender), ("sum_received", End::Receiver)] {
                let Some(count) = end.get(format!("{name}{suffix}")).and_then(count) else {
                    continue;
                };
                let count = match which {
                    End::Sender => Count {
                        lost: None,
                        jitter_ms: None,
                        ..count
                    },
                    End::Receiver => count,
                };
                *self
                    .log
                    .sums_of(direction, side.end(direction))
                    .end_mut(which) = Some(count);
            }
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

fn count(object: &Value) -> Option<Count> {
    let value = |key: &str| number(&object[key]);
    let known = |key: &str| value(key).filter(|value| *value > 0.0);
    let (start_s, end_s) = (value("start")?, value("end")?);
    if !(start_s >= 0.0 && end_s >= start_s && end_s < 1e9) {
        return None;
    }
    Some(Count {
        start_s,
        end_s,
        bytes: value("bytes").filter(|bytes| *bytes >= 0.0),
        bps: value("bits_per_second").filter(|bps| *bps >= 0.0),
        // Less than none, or all of 64 bits: those who count are not asked.
        retransmits: value("retransmits").filter(|count| (0.0..9e18).contains(count)),
        cwnd_bytes: known("snd_cwnd").or_else(|| known("max_snd_cwnd")),
        rtt_us: known("rtt").or_else(|| known("mean_rtt")),
        datagrams: value("packets").filter(|count| *count >= 0.0),
        lost: value("lost_packets").filter(|count| *count >= 0.0),
        reordered: value("out_of_order").filter(|count| *count >= 0.0),
        jitter_ms: value("jitter_ms").filter(|jitter| *jitter >= 0.0),
        omitted: object["omitted"].as_bool().unwrap_or(false),
    })
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64().filter(|value| value.is_finite())
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn started(stamp: &Value) -> Option<i64> {
    let seconds = stamp["timemillisecs"]
        .as_i64()
        .map_or_else(|| stamp["timesecs"].as_i64()?.checked_mul(1000), Some)?;
    seconds.checked_mul(1_000_000).filter(|at| *at > 0)
}
