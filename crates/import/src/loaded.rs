//! Latency under load: the data files of flent (`.flent.gz`).
//!
//! The raw values are taken, not the series that flent interpolates for its plots. Pings before the first flow are those without load.
//! A flow to the server is counted by its sender, one from the server by its receiver, as netperf prints them meanwhile.

use super::date::iso_with_zone;
use super::log::{Log, LogCounts, LogFlow, LogFormat};
use super::log_head::{LogHead, left_out};
use caudal_core::plan::{
    Direction, PhaseLoad, PlanRecord, PlannedPhase, QualityPlanRecord, Transport,
};
use caudal_core::quality::{
    DelayIncrease, PhaseDirection, PhaseReport, ProbeKind, ProbeSummary, QualityInterval,
    QualityReport,
};
use caudal_core::run::{ImportSide, RunResult};
use caudal_core::summary::DirectionSummary;
use caudal_stats::{Estimate, median};
use serde_json::Value;

/// The confidence of the intervals.
const CONFIDENCE: f64 = 0.95;
/// The length of an interval, s.
const INTERVAL_S: f64 = 1.0;
/// Maximum number of intervals: a day.
const MAX_INTERVALS: usize = 86_400;
/// Maximum number of flows: other series are named as left out.
const MAX_FLOWS: usize = 1000;
/// Maximum number of pings that are kept, with those that were lost.
const MAX_PINGS: usize = 1_000_000;
/// Maximum number of pings that are lost one after another: a larger gap is another count.
const MAX_LOST_IN_A_ROW: u64 = 1000;

/// A ping of a data file.
#[derive(Debug, Clone, Copy, PartialEq)]
struct FlentPing {
    /// s after the first value of the file.
    at_s: f64,
    /// The round-trip time, µs; `None` where its number is missing.
    us: Option<f64>,
}

/// A test of latency under load.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadedLog {
    /// What every log reports.
    pub head: LogHead,
    /// The TCP flows.
    pub flows: Vec<LogFlow>,
    pings: Vec<FlentPing>,
}

/// What a data file of flent holds.
#[derive(Debug, Clone, PartialEq)]
pub enum FlentData {
    /// Load, and pings beside it.
    Loaded(LoadedLog),
    /// Load alone.
    Throughput(Log),
}

impl FlentData {
    /// Parses a document of flent; `None` when it is another program's.
    #[must_use]
    pub fn from_object(object: &Value) -> Option<Self> {
        let metadata = object.get("metadata")?;
        let name = metadata.get("NAME")?.as_str()?;
        let series = object.get("results")?.as_object()?;
        let raw = object.get("raw_values").and_then(Value::as_object)?;
        object.get("x_values")?;
        let values = |name: &str| raw.get(name).and_then(Value::as_array).map(Vec::as_slice);
        // Every value has its time since 1970.
        let times = raw.values().filter_map(Value::as_array).flatten();
        let zero = times
            .filter_map(|value| value.get("t")?.as_f64())
            .fold(f64::INFINITY, f64::min);
        let zero = if zero.is_finite() { zero } else { 0.0 };
        let mut head = LogHead::new(LogFormat::FlentData);
        let of = |key: &str| metadata.get(key).and_then(Value::as_str).map(str::to_owned);
        head.peer = of("HOST");
        head.version = of("FLENT_VERSION");
        head.title = Some(match of("TITLE").filter(|title| !title.is_empty()) {
            Some(title) => format!("{name}: {title}"),
            None => name.to_owned(),
        });
        head.started_ns = of("TIME").and_then(|date| iso_with_zone(&date));
        let mut flows = Vec::new();
        let mut missing = Vec::new();
        for name in series.keys() {
            if is_made_of_others(name) {
                continue;
            }
            let direction = direction_of(name);
            match (direction, values(name)) {
                (Some(direction), Some(values)) if flows.len() < MAX_FLOWS => {
                    flows.extend(flow(direction, values, zero));
                }
                _ if name.starts_with("Ping (ms) ICMP") => {}
                _ => missing.push(name.clone()),
            }
        }
        let ping = raw.keys().find(|name| name.starts_with("Ping (ms) ICMP"));
        let pings = ping
            .and_then(|name| values(name))
            .map_or_else(Vec::new, |values| pings(values, zero));
        if flows.is_empty() {
            missing.extend(
                (!pings.is_empty()).then(|| "pings (there is no load beside them)".to_owned()),
            );
        }
        if missing.len() > 6 {
            let more = missing.len() - 6;
            missing.truncate(6);
            missing.push(format!("{more} more series"));
        }
        head.warnings.extend(left_out(&missing));
        if pings.is_empty() || flows.is_empty() {
            let mut log = Log::new(LogFormat::FlentData);
            log.side = Some(ImportSide::Client);
            log.protocol = Some(Transport::Tcp);
            log.is_complete = true;
            (log.peer, log.title) = (head.peer, head.title);
            (log.version, log.started_ns) = (head.version, head.started_ns);
            log.warnings = head.warnings;
            log.flows = flows;
            return Some(Self::Throughput(log));
        }
        Some(Self::Loaded(LoadedLog { head, flows, pings }))
    }
}

/// `true` for a series that is calculated from others, or that is of the kernel's account.
fn is_made_of_others(name: &str) -> bool {
    name.ends_with(" avg")
        || name.ends_with(" sum")
        || name == "TCP totals"
        || name.contains("::tcp_")
}

fn direction_of(name: &str) -> Option<Direction> {
    if name.starts_with("TCP download") {
        return Some(Direction::Down);
    }
    name.starts_with("TCP upload").then_some(Direction::Up)
}

/// A flow of the values that netperf printed meanwhile, in Mbit/s over the time before each.
fn flow(direction: Direction, values: &[Value], zero: f64) -> Option<LogFlow> {
    let counted_by = ImportSide::Client.role(direction);
    let mut flow = LogFlow::new(direction, counted_by);
    let number = |value: &Value, key: &str| value.get(key)?.as_f64().filter(|value| *value >= 0.0);
    let mut last_s = None;
    for value in values {
        let (Some(t), Some(mbps)) = (number(value, "t"), number(value, "val")) else {
            continue;
        };
        let end_s = t - zero;
        let start_s = match number(value, "dur") {
            Some(seconds) => end_s - seconds,
            None => last_s.unwrap_or(end_s),
        };
        let start_s = last_s
            .map_or(start_s, |last: f64| start_s.max(last))
            .max(0.0);
        if end_s <= start_s {
            continue;
        }
        last_s = Some(end_s);
        flow.intervals.push(LogCounts {
            start_s,
            end_s,
            bytes: Some(mbps * 1e6 / 8.0 * (end_s - start_s)),
            bps: Some(mbps * 1e6),
            ..LogCounts::default()
        });
    }
    (!flow.intervals.is_empty()).then_some(flow)
}

/// The pings, with those whose numbers are missing.
fn pings(values: &[Value], zero: f64) -> Vec<FlentPing> {
    let mut pings: Vec<FlentPing> = Vec::new();
    let mut last: Option<u64> = None;
    for value in values {
        let number = |key: &str| value.get(key).and_then(Value::as_f64);
        let (Some(t), Some(ms)) = (number("t"), number("val").filter(|ms| *ms >= 0.0)) else {
            continue;
        };
        let at_s = t - zero;
        let sequence = number("seq").map(|seq| seq as u64);
        if pings.len() >= MAX_PINGS {
            break;
        }
        if let (Some(last), Some(sequence)) = (last, sequence) {
            let missing = sequence.saturating_sub(last.saturating_add(1));
            let lost = if missing > MAX_LOST_IN_A_ROW {
                0
            } else {
                missing
            };
            let from_s = pings.last().map_or(at_s, |ping| ping.at_s);
            let step_s = (at_s - from_s) / (lost + 1) as f64;
            pings.extend((1..=lost).map(|nth| FlentPing {
                at_s: from_s + step_s * nth as f64,
                us: None,
            }));
        }
        last = sequence.or(last);
        pings.push(FlentPing {
            at_s,
            us: Some(ms * 1e3),
        });
    }
    // Their times are looked up.
    pings.sort_by(|one, other| one.at_s.total_cmp(&other.at_s));
    pings
}

impl LoadedLog {
    /// `true` when anything was measured.
    #[must_use]
    pub fn has_counts(&self) -> bool {
        !self.flows.is_empty()
    }

    /// The load: the directions that have flows.
    fn load(&self) -> PhaseLoad {
        let has = |direction| self.flows.iter().any(|flow| flow.direction == direction);
        match (has(Direction::Down), has(Direction::Up)) {
            (true, true) => PhaseLoad::Both,
            (true, false) => PhaseLoad::Download,
            (false, true) => PhaseLoad::Upload,
            (false, false) => PhaseLoad::Idle,
        }
    }

    /// The beginning and the end of the load, s.
    fn loaded_s(&self) -> (f64, f64) {
        let rows = || self.flows.iter().flat_map(|flow| &flow.intervals);
        let start = rows().map(|row| row.start_s).fold(f64::INFINITY, f64::min);
        let end = rows().map(|row| row.end_s).fold(0.0, f64::max);
        (start.min(end), end)
    }

    fn phases(&self) -> [(PhaseLoad, f64, f64); 2] {
        let (start, end) = self.loaded_s();
        [(PhaseLoad::Idle, 0.0, start), (self.load(), start, end)]
    }

    /// The plan, as far as the log shows it.
    #[must_use]
    pub fn plan(&self) -> PlanRecord {
        let phases = self.phases().map(|(load, start, end)| PlannedPhase {
            load,
            time_ns: ((end - start) * 1e9) as u64,
            ramp_ns: 0,
        });
        let count = |direction| {
            self.flows
                .iter()
                .filter(|flow| flow.direction == direction)
                .count()
        };
        let parallel = count(Direction::Up).max(count(Direction::Down));
        PlanRecord::Quality(QualityPlanRecord {
            peer: self.head.peer.clone().map(Into::into),
            transport: Some(Transport::Tcp),
            parallel: u32::try_from(parallel).ok(),
            phases: Some(phases.to_vec()),
            ..QualityPlanRecord::default()
        })
    }

    fn trips(&self, from_s: f64, to_s: f64) -> Vec<Option<f64>> {
        let before = |time_s: f64| self.pings.partition_point(|ping| ping.at_s < time_s);
        let within = self.pings.get(before(from_s)..before(to_s));
        let within = within.unwrap_or_default().iter();
        within.map(|ping| ping.us).collect()
    }

    /// Payload of a direction's flows between two times, bit/s: its count by receivers or by senders.
    fn rate(&self, direction: Direction, from_s: f64, to_s: f64) -> Option<f64> {
        let flows = || self.flows.iter().filter(|flow| flow.direction == direction);
        if flows().next().is_none() || to_s <= from_s {
            return None;
        }
        // The rows of a flow follow one another.
        let bytes: f64 = flows()
            .flat_map(|flow| {
                let first = flow.intervals.partition_point(|row| row.end_s <= from_s);
                let rows = flow.intervals.iter().skip(first);
                rows.take_while(|row| row.start_s < to_s)
            })
            .map(|row| {
                let common = row.end_s.min(to_s) - row.start_s.max(from_s);
                row.bytes.unwrap_or(0.0) * (common / (row.end_s - row.start_s)).clamp(0.0, 1.0)
            })
            .sum();
        Some(bytes * 8.0 / (to_s - from_s))
    }

    /// The result: a phase without load and one with it.
    #[must_use]
    pub fn result(&self) -> RunResult {
        let [idle, loaded] = self.phases();
        let replies =
            |trips: &[Option<f64>]| -> Vec<f64> { trips.iter().copied().flatten().collect() };
        let before = replies(&self.trips(idle.1, idle.2));
        let phases = [idle, loaded]
            .into_iter()
            .filter(|(_, start, end)| end > start);
        let phases: Vec<PhaseReport> = phases
            .map(|(load, start_s, end_s)| {
                let trips = self.trips(start_s, end_s);
                let added = match load {
                    PhaseLoad::Idle => None,
                    _ => DelayIncrease::above(&before, &replies(&trips)),
                };
                let directions = load.each_direction().iter().filter_map(|direction| {
                    Some(self.direction(
                        *direction,
                        start_s,
                        end_s,
                        self.rate(*direction, start_s, end_s)?,
                    ))
                });
                PhaseReport {
                    call: None,
                    load,
                    start_s,
                    duration_s: end_s - start_s,
                    ramp_s: 0.0,
                    directions: directions.collect(),
                    probes: ProbeSummary::of_trips(ProbeKind::Icmp, &trips, CONFIDENCE)
                        .into_iter()
                        .collect(),
                    one_way: Vec::new(),
                    added_rtt: added,
                    by_protocol: None,
                    grade: None,
                    busy: None,
                    added: Vec::new(),
                    responsiveness: None,
                    cut_short: None,
                }
            })
            .collect();
        RunResult::Quality(Box::new(QualityReport {
            phases,
            grade: None,
            advice: Vec::new(),
            intervals: self.intervals(),
            confidence: CONFIDENCE,
            via: None,
            marks_up: None,
            marks_down: None,
            cpu: None,
            cut_short: None,
        }))
    }

    fn direction(
        &self,
        direction: Direction,
        start_s: f64,
        end_s: f64,
        bps: f64,
    ) -> PhaseDirection {
        let flows = self
            .flows
            .iter()
            .filter(|flow| flow.direction == direction)
            .count();
        let arrived = direction == Direction::Down;
        let bytes = (bps * (end_s - start_s) / 8.0) as u64;
        PhaseDirection {
            summary: DirectionSummary {
                flows: Some(flows),
                goodput_bps: arrived.then(|| Estimate::single(bps)),
                sent_bps: (!arrived).then_some(bps),
                measured_s: end_s - start_s,
                received_bytes: arrived.then_some(bytes),
                sent_bytes: (!arrived).then_some(bytes),
                ..DirectionSummary::unmeasured(direction)
            },
            retransmitted: None,
            sender_queue: None,
            fill: None,
        }
    }

    fn intervals(&self) -> Vec<QualityInterval> {
        let mut rows = Vec::new();
        for (load, start, end) in self.phases() {
            let count = ((end - start) / INTERVAL_S).floor() as usize;
            for nth in 0..count.min(MAX_INTERVALS) {
                let start_s = start + nth as f64 * INTERVAL_S;
                let end_s = start_s + INTERVAL_S;
                let trips = self.trips(start_s, end_s);
                let replies: Vec<f64> = trips.iter().copied().flatten().collect();
                let of = |direction: Direction| {
                    let rate = self.rate(direction, start_s, end_s);
                    rate.filter(|_| load.each_direction().contains(&direction))
                };
                rows.push(QualityInterval {
                    load,
                    start_s,
                    end_s,
                    down_bps: of(Direction::Down),
                    // What its sender counted did not arrive in this second.
                    up_bps: None,
                    retransmitted: None,
                    rtt_us: median(&replies),
                    rtt_max_us: replies.iter().copied().reduce(f64::max),
                    tcp_rtt_us: None,
                    probes: trips.len() as u64,
                    lost: (trips.len() - replies.len()) as u64,
                });
            }
        }
        rows
    }

    /// What was measured, for a line.
    #[must_use]
    pub fn description(&self) -> Vec<String> {
        let (start, end) = self.loaded_s();
        let RunResult::Quality(report) = self.result() else {
            return Vec::new();
        };
        let added = report.phases.iter().find_map(|phase| phase.added_rtt);
        let added = added.map_or_else(
            || "no ping without load".to_owned(),
            |added| format!("load adds {:.1} ms", added.mean_us.max(0.0) / 1e3),
        );
        vec![
            format!("latency under {}", self.load().name()),
            format!("{:.1} s", end - start),
            added,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn document(with_ping: bool) -> Value {
        // Five seconds without load, then ten with flows of 10 Mbit/s; a ping each 200 ms.
        let pings: Vec<Value> = (0..75)
            .filter(|nth| *nth != 60)
            .map(|nth| {
                let ms = if nth < 25 { 20.0 } else { 70.0 };
                json!({"t": 1000.0 + f64::from(nth) * 0.2, "seq": nth, "val": ms})
            })
            .collect();
        let rows = |from: f64| -> Vec<Value> {
            (1..=50)
                .map(|nth| json!({"t": from + f64::from(nth) * 0.2, "dur": 0.2, "val": 10.0}))
                .collect()
        };
        let mut raw = json!({"TCP download BE": rows(1004.9), "TCP upload BE": rows(1004.9)});
        if with_ping {
            raw["Ping (ms) ICMP"] = pings.into();
        }
        json!({
            "version": 4,
            "metadata": {"NAME": "rrul", "HOST": "netperf.example", "FLENT_VERSION": "2.1.1", "TIME": "2026-11-28T03:00:00Z"},
            "x_values": [0.0],
            "results": {"Ping (ms) ICMP": [1], "TCP download BE": [1], "TCP upload BE": [1], "TCP totals": [1], "VoIP::loss": [0]},
            "raw_values": raw,
        })
    }

    #[test]
    fn pings_before_the_load_are_those_without_it() {
        let Some(FlentData::Loaded(log)) = FlentData::from_object(&document(true)) else {
            panic!("no test under load");
        };
        let RunResult::Quality(report) = log.result() else {
            panic!("another result");
        };
        let [idle, both] = &report.phases[..] else {
            panic!("{report:#?}");
        };
        assert_eq!(both.load, PhaseLoad::Both);
        assert!(
            (both.added_rtt.unwrap().mean_us - 50e3).abs() < 1.0,
            "{both:#?}"
        );
        assert_eq!(idle.probes[0].lost, 0);
        assert_eq!((both.probes[0].sent, both.probes[0].lost), (50, 1));
        let down = &both.direction(Direction::Down).unwrap().summary;
        assert!((down.goodput_mean().unwrap() - 10e6).abs() < 1.0);
        let up = &both.direction(Direction::Up).unwrap().summary;
        assert_eq!(up.goodput_bps, None);
        assert!((up.sent_bps.unwrap() - 10e6).abs() < 1.0);
        // Whole seconds of each phase.
        assert_eq!(report.intervals.len(), 4 + 9);
        assert!(log.head.warnings[0].1.contains("VoIP::loss"));
    }

    #[test]
    fn numbers_of_pings_that_cannot_be_fill_no_memory() {
        let value = |t: f64, seq: f64| json!({"t": t, "val": 1.0, "seq": seq});
        let values = [
            value(1.0, 1.0),
            value(2.0, 4.0),
            value(3.0, 1e300),
            value(2.5, 5.0),
            value(4.0, 1e300),
            value(5.0, 1e18),
        ];
        let pings = pings(&values, 0.0);
        assert_eq!(pings.len(), 6 + 2);
        assert!(pings.is_sorted_by(|one, other| one.at_s <= other.at_s));
        let many: Vec<Value> = (0..3000)
            .map(|nth| value(f64::from(nth), f64::from(nth) * 900.0))
            .collect();
        assert!(super::pings(&many, 0.0).len() <= MAX_PINGS + 1000);
    }

    #[test]
    fn load_without_pings_is_a_test_of_throughput() {
        let Some(FlentData::Throughput(log)) = FlentData::from_object(&document(false)) else {
            panic!("no test of throughput");
        };
        assert_eq!(log.flows.len(), 2);
        assert_eq!(log.flows[0].counted_by, caudal_core::sample::Role::Receiver);
        assert_eq!(FlentData::from_object(&json!({"metadata": {}})), None);
    }
}
