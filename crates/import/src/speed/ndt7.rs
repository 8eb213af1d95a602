//! The output of ndt7-client: the events of `-format=json`, or its summary alone.
//!
//! Each end's count is kept as that of its role: the client's of what it received or sent, the server's by its kernel (`TCPInfo`).

use super::super::log::{Log, LogCounts, LogFormat};
use super::{counted_at, log, number, text};
use caudal_core::plan::Direction;
use caudal_core::sample::Role;
use serde_json::Value;

/// `true` for objects of ndt7-client.
#[must_use]
pub fn is_ndt7(objects: &[Value]) -> bool {
    objects
        .iter()
        .any(|object| is_event(object) || is_summary(object))
}

fn is_event(object: &Value) -> bool {
    let key = object.get("Key").and_then(Value::as_str);
    let is_known = matches!(
        key,
        Some("starting" | "connected" | "measurement" | "complete" | "error")
    );
    is_known && object.get("Value").is_some_and(Value::is_object)
}

fn is_summary(object: &Value) -> bool {
    object.get("ServerFQDN").is_some()
        && (object.get("Download").is_some() || object.get("Upload").is_some())
}

const SUBTESTS: [(&str, &str, Direction); 2] = [
    ("download", "/Download", Direction::Down),
    ("upload", "/Upload", Direction::Up),
];

/// The tests of a client, a download and an upload.
#[must_use]
pub fn from_objects(objects: &[Value]) -> Vec<Log> {
    let mut logs = Vec::new();
    let mut rest = objects;
    // Several runs of the client may follow one another; each ends with a summary.
    while !rest.is_empty() {
        let end = rest
            .iter()
            .position(is_summary)
            .map_or(rest.len(), |at| at + 1);
        let (of_run, others) = rest.split_at(end);
        let subtests = SUBTESTS.into_iter();
        logs.extend(
            subtests.filter_map(|(name, path, direction)| subtest(of_run, name, path, direction)),
        );
        rest = others;
    }
    logs
}

fn subtest(objects: &[Value], name: &str, path: &str, direction: Direction) -> Option<Log> {
    let mut log = log(LogFormat::Ndt7Json, direction);
    log.title = Some(name.to_owned());
    log.is_complete = false;
    let events = objects.iter().filter(|object| is_event(object));
    let events = events.filter(|event| text(event, "/Value/Test").as_deref() == Some(name));
    let mut previous = [(0.0, 0.0); 2];
    let mut is_known = false;
    for event in events {
        is_known = true;
        match event.get("Key").and_then(Value::as_str) {
            Some("connected") => log.peer = log.peer.or(text(event, "/Value/Server")),
            Some("complete") => log.is_complete = true,
            Some("error") => log.error = log.error.or(text(event, "/Value/Failure")),
            Some("measurement") => measurement(&mut log, event, direction, &mut previous),
            _ => {}
        }
    }
    if let Some(summary) = objects.iter().find(|object| is_summary(object)) {
        is_known |= summarised(&mut log, summary, path, direction);
    }
    is_known.then_some(log)
}

/// A reading of either end: the intervals are those of the receiver, and the totals grow with each reading.
fn measurement(log: &mut Log, event: &Value, direction: Direction, previous: &mut [(f64, f64); 2]) {
    let at_client = text(event, "/Value/Origin").as_deref() != Some("server");
    let role = counted_at(direction, at_client);
    let moved = match (at_client, role) {
        (true, _) => number(event, "/Value/AppInfo/ElapsedTime")
            .zip(number(event, "/Value/AppInfo/NumBytes")),
        (false, Role::Receiver) => number(event, "/Value/TCPInfo/ElapsedTime")
            .zip(number(event, "/Value/TCPInfo/BytesReceived")),
        (false, Role::Sender) => number(event, "/Value/TCPInfo/ElapsedTime")
            .zip(number(event, "/Value/TCPInfo/BytesAcked")),
    };
    let rtt_us = number(event, "/Value/TCPInfo/RTT").filter(|us| *us > 0.0);
    if let Some(us) = number(event, "/Value/TCPInfo/MinRTT").filter(|us| *us > 0.0) {
        log.tcp_rtt_min_us = Some(log.tcp_rtt_min_us.map_or(us, |so_far| so_far.min(us)));
    }
    let Some((us, bytes)) = moved else { return };
    let seconds = us / 1e6;
    let last = &mut previous[usize::from(at_client)];
    let flow = &mut log.flows[0];
    let is_next = seconds > last.0 && bytes >= last.1;
    if role == Role::Receiver && is_next {
        flow.counted_by = Role::Receiver;
        let count = bytes - last.1;
        flow.intervals.push(LogCounts {
            start_s: last.0,
            end_s: seconds,
            bytes: Some(count),
            bps: Some(count * 8.0 / (seconds - last.0)),
            rtt_us,
            ..LogCounts::default()
        });
    }
    if is_next {
        *last = (seconds, bytes);
        *flow.end_mut(role) = Some(LogCounts {
            end_s: seconds,
            bytes: Some(bytes),
            bps: Some(bytes * 8.0 / seconds),
            rtt_us,
            ..LogCounts::default()
        });
    }
}

/// What the summary says of a direction; `false` when it is not in it.
fn summarised(log: &mut Log, summary: &Value, path: &str, direction: Direction) -> bool {
    let pair = |path: String| {
        let value = number(summary, &format!("{path}/Value"))?;
        Some((
            value,
            text(summary, &format!("{path}/Unit")).unwrap_or_default(),
        ))
    };
    let mbps = pair(format!("{path}/Throughput"));
    // The first versions have the rate itself there.
    let Some((value, unit)) = mbps.or_else(|| pair(path.to_owned())) else {
        return false;
    };
    let factor = match unit.as_str() {
        "Mbit/s" => 1e6,
        "Kbit/s" | "kbit/s" => 1e3,
        "Gbit/s" => 1e9,
        _ => return false,
    };
    log.is_complete = true;
    log.peer = text(summary, "/ServerFQDN")
        .or(text(summary, "/ServerIP"))
        .or(log.peer.take());
    // The throughput of a download is by the client, that of an upload by the server: of what arrived.
    let bps = value * factor;
    let flow = &mut log.flows[0];
    flow.counted_by = Role::Receiver;
    let known = flow.receiver.unwrap_or_default();
    flow.receiver = Some(LogCounts {
        bps: Some(bps),
        ..known
    });
    let latency = pair(format!("{path}/Latency"));
    let latency =
        latency.or_else(|| pair("/MinRTT".to_owned()).filter(|_| direction == Direction::Down));
    if let Some((ms, _)) = latency.filter(|(ms, unit)| unit == "ms" && *ms > 0.0) {
        log.tcp_rtt_min_us = Some(ms * 1e3);
    }
    let again = pair(format!("{path}/Retransmission"))
        .or_else(|| pair("/DownloadRetrans".to_owned()).filter(|_| direction == Direction::Down));
    if let Some((percent, unit)) = again.filter(|(percent, _)| *percent > 0.0) {
        let share = format!("{percent:.2} {unit} of the bytes retransmitted");
        log.warnings.extend(super::left_out(&[share]));
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn measured(test: &str, origin: &str, us: u64, bytes: u64) -> Value {
        let mut value = json!({"Test": test, "Origin": origin, "AppInfo": {"ElapsedTime": us, "NumBytes": bytes}});
        if origin == "server" {
            value["TCPInfo"] = json!({"ElapsedTime": us, "BytesReceived": bytes, "BytesAcked": bytes, "RTT": 9000, "MinRTT": 8000});
        }
        json!({"Key": "measurement", "Value": value})
    }

    #[test]
    fn events_give_intervals_of_the_receiver_in_both_directions() {
        let objects = [
            json!({"Key": "starting", "Value": {"Test": "download"}}),
            json!({"Key": "connected", "Value": {"Test": "download", "Server": "ndt.example"}}),
            measured("download", "client", 250_000, 1_000_000),
            measured("download", "server", 300_000, 1_100_000),
            measured("download", "client", 500_000, 3_000_000),
            json!({"Key": "complete", "Value": {"Test": "download"}}),
            measured("upload", "client", 500_000, 900_000),
            measured("upload", "server", 500_000, 500_000),
            json!({"ServerFQDN": "ndt.example", "ServerIP": "192.0.2.1",
                "Download": {"Throughput": {"Value": 48.0, "Unit": "Mbit/s"}, "Latency": {"Value": 8.0, "Unit": "ms"},
                    "Retransmission": {"Value": 1.5, "Unit": "%"}},
                "Upload": {"Throughput": {"Value": 8.0, "Unit": "Mbit/s"}, "Latency": {"Value": 8.5, "Unit": "ms"}}}),
        ];
        assert!(is_ndt7(&objects));
        let logs = from_objects(&objects);
        let down = &logs[0].flows[0];
        let rates: Vec<f64> = down.intervals.iter().filter_map(|row| row.bps).collect();
        assert_eq!(rates, [32e6, 64e6]);
        assert_eq!(down.receiver.unwrap().bps, Some(48e6));
        assert_eq!(logs[0].tcp_rtt_min_us, Some(8000.0));
        assert!(logs[0].warnings[0].1.contains("1.50 %"));
        let up = &logs[1].flows[0];
        assert_eq!(
            (up.direction, up.counted_by),
            (Direction::Up, Role::Receiver)
        );
        assert_eq!(up.receiver.unwrap().bps, Some(8e6));
        assert_eq!(up.sender.unwrap().bytes, Some(900_000.0));
    }

    #[test]
    fn a_summary_of_the_first_versions_is_read_too() {
        let summary = json!({"ServerFQDN": "a", "Download": {"Value": 100.0, "Unit": "Mbit/s"}, "Upload": {"Value": 10.0, "Unit": "Mbit/s"},
            "DownloadRetrans": {"Value": 0.0, "Unit": "%"}, "MinRTT": {"Value": 3.4, "Unit": "ms"}});
        let logs = from_objects(&[summary]);
        assert_eq!(logs.len(), 2);
        assert_eq!(logs[1].flows[0].receiver.unwrap().bps, Some(10e6));
        assert_eq!(logs[0].tcp_rtt_min_us, Some(3400.0));
    }
}
