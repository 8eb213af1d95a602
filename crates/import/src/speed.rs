//! Results of speed tests: Ookla's `speedtest --format=json`, `speedtest-cli --json`, `librespeed-cli --json`, and ndt7-client.
//!
//! Each direction was loaded by itself and becomes a run of its own. What is counted at the client of an upload is what it sent.

mod ndt7;

use super::date::iso_with_zone;
use super::log::{Log, LogCounts, LogFlow, LogFormat};
use super::log_head::left_out;
use caudal_core::plan::{Direction, Transport};
use caudal_core::run::ImportSide;
use caudal_core::sample::Role;
use serde_json::Value;

pub use ndt7::{from_objects as ndt7_from_objects, is_ndt7};

/// A test of one direction by a client.
fn log(format: LogFormat, direction: Direction) -> Log {
    let mut log = Log::new(format);
    log.side = Some(ImportSide::Client);
    log.protocol = Some(Transport::Tcp);
    log.is_complete = true;
    let counted_by = ImportSide::Client.role(direction);
    log.flows.push(LogFlow::new(direction, counted_by));
    log
}

fn number(from: &Value, path: &str) -> Option<f64> {
    from.pointer(path)
        .and_then(Value::as_f64)
        .filter(|value| value.is_finite() && *value >= 0.0)
}

fn text(from: &Value, path: &str) -> Option<String> {
    let text = from.pointer(path).and_then(Value::as_str)?;
    (!text.is_empty()).then(|| text.to_owned())
}

/// The tests of a document; `None` when it is of none of these programs.
#[must_use]
pub fn from_object(object: &Value) -> Option<Vec<Log>> {
    ookla(object)
        .or_else(|| speedtest_cli(object))
        .or_else(|| librespeed(object))
}

/// `download: name of the server`.
fn title(object: &Value, path: &str, direction: Direction) -> Option<String> {
    let way = match direction {
        Direction::Down => "download",
        Direction::Up => "upload",
    };
    let server = text(object, path).map_or_else(String::new, |name| format!(": {name}"));
    Some(format!("{way}{server}"))
}

/// Ookla's own program: bandwidths in byte/s, times in ms.
fn ookla(object: &Value) -> Option<Vec<Log>> {
    let is_result = object.get("type")?.as_str()? == "result";
    let has_direction = |key: &str| number(object, &format!("/{key}/bandwidth")).is_some();
    if !is_result || !(has_direction("download") || has_direction("upload")) {
        return None;
    }
    let host = text(object, "/server/host").map(|host| match number(object, "/server/port") {
        Some(port) if !host.contains(':') => format!("{host}:{port}"),
        _ => host,
    });
    let tests = [("download", Direction::Down), ("upload", Direction::Up)];
    let logs = tests.into_iter().filter_map(|(key, direction)| {
        let of = |name: &str| number(object, &format!("/{key}/{name}"));
        let bps = of("bandwidth")? * 8.0;
        let seconds = of("elapsed").unwrap_or(0.0) / 1e3;
        let mut log = log(LogFormat::OoklaJson, direction);
        log.peer = host.clone();
        log.title = title(object, "/server/name", direction);
        log.started_ns = text(object, "/timestamp").and_then(|date| iso_with_zone(&date));
        log.idle_rtt_us = number(object, "/ping/low").map(|ms| ms * 1e3);
        set_total(&mut log, direction, seconds, of("bytes"), bps);
        let mut missing = Vec::new();
        if let Some(ms) = of("latency/iqm") {
            let range = of("latency/low").zip(of("latency/high"));
            let range = range.map_or_else(String::new, |(low, high)| format!(" ({low}–{high} ms)"));
            missing.push(format!(
                "latency under this load, interquartile mean {ms} ms{range}"
            ));
        }
        if let Some(ms) = number(object, "/ping/latency") {
            let jitter = number(object, "/ping/jitter");
            let jitter = jitter.map_or_else(String::new, |ms| format!(", jitter {ms} ms"));
            missing.push(format!("latency without load, {ms} ms{jitter}"));
        }
        if let Some(percent) = number(object, "/packetLoss") {
            missing.push(format!("packet loss {percent:.2} %"));
        }
        log.warnings.extend(left_out(&missing));
        Some(log)
    });
    Some(logs.collect())
}

/// The program in Python: rates in bit/s. Its totals are by its own count at both directions.
fn speedtest_cli(object: &Value) -> Option<Vec<Log>> {
    let (down, up) = (number(object, "/download")?, number(object, "/upload")?);
    // LibreSpeed has the same keys, with rates in Mbit/s and the address of its server's page.
    object.pointer("/server/sponsor")?;
    let tests = [
        (Direction::Down, down, "/bytes_received"),
        (Direction::Up, up, "/bytes_sent"),
    ];
    let logs = tests.into_iter().filter(|(_, bps, _)| *bps > 0.0);
    let logs = logs.map(|(direction, bps, bytes)| {
        let mut log = log(LogFormat::SpeedtestCliJson, direction);
        log.peer = text(object, "/server/host");
        log.title = title(object, "/server/sponsor", direction);
        log.started_ns = text(object, "/timestamp").and_then(|date| iso_with_zone(&date));
        set_amount(&mut log, direction, number(object, bytes), bps);
        let ping = number(object, "/ping").map(|ms| format!("latency without load, {ms} ms"));
        log.warnings
            .extend(left_out(&ping.into_iter().collect::<Vec<_>>()));
        log
    });
    Some(logs.collect())
}

/// LibreSpeed: rates in Mbit/s.
fn librespeed(object: &Value) -> Option<Vec<Log>> {
    let (down, up) = (number(object, "/download")?, number(object, "/upload")?);
    let url = text(object, "/server/url")?;
    object.get("bytes_sent")?;
    let tests = [
        (Direction::Down, down, "/bytes_received"),
        (Direction::Up, up, "/bytes_sent"),
    ];
    let logs = tests.into_iter().filter(|(_, mbps, _)| *mbps > 0.0);
    let logs = logs.map(|(direction, mbps, bytes)| {
        let mut log = log(LogFormat::LibreSpeedJson, direction);
        let host = url.split_once("//").map_or(url.as_str(), |(_, rest)| rest);
        log.peer = host.split('/').next().map(str::to_owned);
        log.title = title(object, "/server/name", direction);
        log.started_ns = text(object, "/timestamp").and_then(|date| iso_with_zone(&date));
        set_amount(&mut log, direction, number(object, bytes), mbps * 1e6);
        let times = [("ping", "latency without load"), ("jitter", "jitter")];
        let times = times.into_iter().filter_map(|(key, name)| {
            let ms = number(object, &format!("/{key}"))?;
            Some(format!("{name}, {ms} ms"))
        });
        log.warnings.extend(left_out(&times.collect::<Vec<_>>()));
        log
    });
    Some(logs.collect())
}

/// A total by the client over a known time.
fn set_total(log: &mut Log, direction: Direction, seconds: f64, bytes: Option<f64>, bps: f64) {
    let end = ImportSide::Client.role(direction);
    for flow in &mut log.flows {
        *flow.end_mut(end) = Some(LogCounts {
            end_s: seconds,
            bytes,
            bps: Some(bps),
            ..LogCounts::default()
        });
    }
}

/// A total by the client, whose time is what the amount takes at the rate.
fn set_amount(log: &mut Log, direction: Direction, bytes: Option<f64>, bps: f64) {
    let seconds = bytes.map_or(0.0, |bytes| bytes * 8.0 / bps);
    set_total(log, direction, seconds, bytes, bps);
}

/// The role of a count.
const fn counted_at(direction: Direction, at_client: bool) -> Role {
    match (direction, at_client) {
        (Direction::Down, true) | (Direction::Up, false) => Role::Receiver,
        (Direction::Down, false) | (Direction::Up, true) => Role::Sender,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn totals(logs: &[Log]) -> Vec<(Direction, Option<f64>, Option<f64>)> {
        let bps = |counts: Option<LogCounts>| counts.and_then(|counts| counts.bps);
        logs.iter()
            .map(|log| {
                let flow = &log.flows[0];
                (flow.direction, bps(flow.receiver), bps(flow.sender))
            })
            .collect()
    }

    #[test]
    fn a_result_of_ookla_is_a_download_and_an_upload_in_bytes_per_second() {
        let result = json!({"type": "result", "timestamp": "2024-06-10T02:02:53Z",
            "ping": {"jitter": 4.5, "latency": 18.5, "low": 16.8, "high": 26.2},
            "download": {"bandwidth": 602_542, "bytes": 6_863_460, "elapsed": 11_602, "latency": {"iqm": 535.1, "low": 76.7, "high": 1163.0}},
            "upload": {"bandwidth": 2_889_351, "bytes": 39_069_387, "elapsed": 14_558},
            "packetLoss": 0.4608, "server": {"host": "speed.example", "port": 8080, "name": "Example"}});
        let logs = from_object(&result).unwrap();
        assert_eq!(
            totals(&logs),
            [
                (Direction::Down, Some(4_820_336.0), None),
                (Direction::Up, None, Some(23_114_808.0)),
            ]
        );
        assert_eq!(logs[0].peer.as_deref(), Some("speed.example:8080"));
        assert_eq!(logs[0].idle_rtt_us, Some(16_800.0));
        let said = &logs[0].warnings[0].1;
        assert!(
            said.contains("535.1 ms (76.7–1163 ms)") && said.contains("packet loss 0.46 %"),
            "{said}"
        );
        assert_eq!(
            from_object(&json!({"type": "ping", "ping": {"latency": 1.0}})),
            None
        );
    }

    #[test]
    fn the_program_in_python_and_librespeed_differ_in_their_units() {
        let python = json!({"download": 5_649_262.6, "upload": 3_279_752.8, "ping": 45.007, "bytes_sent": 5_242_880,
            "bytes_received": 7_203_980, "timestamp": "2018-07-27T13:14:21.782347Z",
            "server": {"host": "speed.example:8080", "sponsor": "IPA", "url": "http://speed.example/upload.php"}});
        let logs = from_object(&python).unwrap();
        assert_eq!(logs[0].format, LogFormat::SpeedtestCliJson);
        assert_eq!(totals(&logs)[0].1, Some(5_649_262.6));
        let libre = json!({"timestamp": "2026-01-02T03:04:05.6+01:00", "server": {"name": "Here", "url": "https://libre.example/backend"},
            "client": {}, "bytes_sent": 12_500_000, "bytes_received": 25_000_000, "ping": 1.5, "jitter": 0.2, "upload": 10.0,
            "download": 20.0, "share": ""});
        let logs = from_object(&libre).unwrap();
        assert_eq!(logs[0].format, LogFormat::LibreSpeedJson);
        assert_eq!(
            totals(&logs),
            [
                (Direction::Down, Some(20e6), None),
                (Direction::Up, None, Some(10e6))
            ]
        );
        assert_eq!(logs[0].peer.as_deref(), Some("libre.example"));
        assert_eq!(logs[0].flows[0].receiver.unwrap().end_s, 10.0);
    }
}
