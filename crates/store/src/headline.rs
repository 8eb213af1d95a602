//! The headline of a run: the few results that a list shows.

use serde::{Deserialize, Serialize};
use std::ops::Add;

use caudal_core::check::{CheckReport, CheckVerdict};
use caudal_core::connect::ConnectReport;
use caudal_core::loss::Loss;
use caudal_core::path::{HopAnswering, PathHop, PathReport};
use caudal_core::plan::Direction;
use caudal_core::quality::QualityReport;
use caudal_core::quantity::Unit;
use caudal_core::run::{FlowReport, RoundTripSummary, Run, RunResult};
use caudal_core::summary::DirectionSummary;
use caudal_core::transfer::FileReport;

use crate::outline::outline;

/// The most important results of a run, which a list shows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Headline {
    /// The one result of a kind whose result is not a goodput, a loss or a round-trip time, as text: the narrow link of a path, the grade and
    /// the added delay of a test of latency under load, connections per second, the goodput of each protocol of a comparison of file transfers. Absent for the others, and in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// The payload received, bit/s, all directions together.
    pub goodput_bps: Option<f64>,
    /// The fraction of datagrams or messages lost, 0 to 1.
    pub loss: Option<f64>,
    /// The mean round-trip time, µs.
    pub rtt_us: Option<f64>,
    /// Segments retransmitted.
    pub retransmits: Option<f64>,
    /// The payload received by the server of a run with both directions at the same time, bit/s.
    pub up_bps: Option<f64>,
    /// The payload received by the client of such a run, bit/s.
    pub down_bps: Option<f64>,
    /// The times in which the test did not run its usual course; absent where there were none, and in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub episodes: Option<u64>,
    /// The main result over time, in at most 32 equal parts of the run, in thousandths of the greatest: the goodput of all flows, the
    /// round-trip time of a test of latency under load, connections per second. Absent where there are no two intervals, and in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outline: Option<Vec<u16>>,
}

impl From<&Run> for Headline {
    /// The headline of a run.
    ///
    /// Directions that were measured at the same time are summed, of those that took turns neither goodput nor loss is
    /// given. Their round-trip times are averaged. Of round-trip times by message size the smallest size counts. A search
    /// for a rate gives the rate found, a test of latency under load its last phase, file transfers those of one cell, a path its host.
    fn from(run: &Run) -> Self {
        let results = match &run.result {
            Some(RunResult::Path(path)) => of_path(&path.report),
            Some(RunResult::Check(report)) => of_check(report),
            Some(RunResult::Connect(report)) => of_connect(report),
            Some(RunResult::Stamp(report)) => Self {
                loss: fraction(report.packets.lost, report.packets.sent),
                rtt_us: report.packets.mean_us.map(|mean| mean.mean),
                ..Self::default()
            },
            Some(RunResult::Quality(report)) => of_quality(report),
            Some(RunResult::File(file)) => of_transfers(&file.report),
            Some(RunResult::RoundTrips(summary)) => of_round_trips(summary),
            Some(RunResult::Search(search)) => Self {
                goodput_bps: search.found.rate_bps.map(|rate| rate as f64),
                ..Self::default()
            },
            Some(RunResult::Throughput(_)) | None => of_bulk(run),
        };
        let episodes = run.episodes.len() as u64;
        Self {
            episodes: (episodes > 0).then_some(episodes),
            outline: outline(run),
            ..results
        }
    }
}

/// The headline of a bulk transfer.
fn of_bulk(run: &Run) -> Headline {
    let directions = run.directions();
    let are_together = directions.len() < 2 || !took_turns(run);
    let rtts = directions.iter().filter_map(|one| one.tcp?.rtt_mean_us);
    let retransmits = directions.iter().filter_map(|one| one.tcp?.retransmits);
    let goodput_bps = goodput_bps(run);
    let sent_bps = sum(directions.iter().filter_map(|one| one.sent_bps));
    Headline {
        // A log of a sender alone does not know what arrived.
        result: sent_bps
            .filter(|_| goodput_bps.is_none() && run.imported.is_some() && are_together)
            .map(|bps| format!("{} sent", Unit::BitPerSecond.show(bps))),
        goodput_bps: goodput_bps.filter(|_| are_together),
        loss: loss(directions).filter(|_| are_together),
        rtt_us: mean(rtts),
        retransmits: sum(retransmits.map(|count| count as f64)),
        ..of_both(directions)
    }
}

/// The headline of several tests: the verdict, and what is wrong first.
fn of_check(report: &CheckReport) -> Headline {
    let verdict = match report.verdict {
        CheckVerdict::Healthy => "healthy",
        CheckVerdict::Unhealthy => "not healthy",
        CheckVerdict::Undecided => "cannot tell",
    };
    let grade = report.load.as_ref().and_then(|load| load.grade);
    let grade = grade.map_or_else(String::new, |grade| format!(", grade {}", grade.name()));
    let goodput = |direction| {
        let mut all = report.tcp.iter();
        let tcp = all.find(|tcp| tcp.direction == direction)?;
        Some(tcp.several_bps.or(tcp.one_bps)?.mean)
    };
    Headline {
        result: Some(format!("{verdict}{grade}")),
        rtt_us: report.round_trips.as_ref().map(|trips| trips.mean_us.mean),
        up_bps: goodput(Direction::Up),
        down_bps: goodput(Direction::Down),
        ..Headline::default()
    }
}

/// The headline of a round-trip test: the messages lost, and the mean round-trip time of the smallest.
fn of_round_trips(summary: &RoundTripSummary) -> Headline {
    let smallest = summary.sizes.iter().min_by_key(|size| size.size_bytes);
    Headline {
        loss: fraction(summary.lost, summary.messages),
        rtt_us: smallest.and_then(|size| Some(size.pooled.mean_us?.mean)),
        ..Headline::default()
    }
}

/// The goodput of each direction, where there are both.
fn of_both<'d>(directions: impl IntoIterator<Item = &'d DirectionSummary>) -> Headline {
    let (mut up_bps, mut down_bps) = (None, None);
    for one in directions {
        match one.direction {
            Direction::Up => up_bps = one.goodput_mean(),
            Direction::Down => down_bps = one.goodput_mean(),
        }
    }
    let has_both = up_bps.is_some() && down_bps.is_some();
    Headline {
        up_bps: up_bps.filter(|_| has_both),
        down_bps: down_bps.filter(|_| has_both),
        ..Headline::default()
    }
}

/// The headline of a path: the round-trip time and the loss at its last hop, if that is the host.
fn of_path(report: &PathReport) -> Headline {
    let host = report.host();
    Headline {
        result: narrow_link(report),
        goodput_bps: None,
        // What a hop does not answer because it limits its answers is not lost.
        loss: host
            .filter(|hop| hop.answering == HopAnswering::Answers)
            .and_then(PathHop::loss),
        rtt_us: host.and_then(|hop| Some(hop.times_ms()?.mean * 1e3)),
        ..Headline::default()
    }
}

/// The narrow link of a path: as both ends found it in each direction, or else as its hops show it.
fn narrow_link(report: &PathReport) -> Option<String> {
    let rate = |bps: f64| Unit::BitPerSecond.show(bps);
    let ends = report.between_ends.iter();
    let directions = ends.flat_map(|ends| &ends.directions);
    let known: Vec<String> = directions
        .filter_map(|one| {
            let capacity = one.narrow.as_ref()?.capacity_bps.as_ref()?;
            Some(format!("{} {}", one.direction.name(), rate(capacity.mean)))
        })
        .collect();
    if !known.is_empty() {
        return Some(format!("narrow: {}", known.join(", ")));
    }
    let narrow = report.narrow.as_ref()?;
    Some(format!("narrow: {}", rate(narrow.capacity_bps.mean)))
}

/// The grade of a test of latency under load, and what its loads added to the round-trip time on average.
fn grade(report: &QualityReport) -> String {
    report.grade.as_ref().map_or_else(
        || {
            // Without a grade, what the load of the last phase adds is known nevertheless.
            let added = report.phases.iter().rev().find_map(|phase| phase.added_rtt);
            let added = added.map(|added| Unit::Seconds.show(added.mean_us.max(0.0) / 1e6));
            added.map_or_else(
                || "no grade".to_owned(),
                |added| format!("no grade, +{added}"),
            )
        },
        |graded| {
            let added = Unit::Seconds.show(graded.increase_us.max(0.0) / 1e6);
            format!("{}, +{added}", graded.grade.name())
        },
    )
}

/// The headline of file transfers: of one cell its goodput and loss; of several there is no one goodput, but one of each protocol with the
/// last content, which is the largest, or a number of files.
fn of_transfers(report: &FileReport) -> Headline {
    let [cell] = report.cells.as_slice() else {
        return Headline {
            result: several_transfers(report),
            ..Headline::default()
        };
    };
    Headline {
        goodput_bps: cell.goodput_bps,
        loss: cell.loss,
        rtt_us: None,
        retransmits: cell.retransmitted,
        ..Headline::default()
    }
}

fn several_transfers(report: &FileReport) -> Option<String> {
    const MAX_PROTOCOLS: usize = 2;
    let last = report.cells.last()?;
    if !report.is_campaign() {
        let verified = report.cells.iter().filter(|cell| cell.n > 0).count();
        return Some(format!("{verified} of {} transfers", report.cells.len()));
    }
    let content = last.cell.content();
    let cells = report.cells.iter();
    let goodputs = cells.filter(|cell| cell.cell.content() == content);
    let each: Vec<String> = goodputs
        .filter_map(|cell| {
            let goodput = Unit::BitPerSecond.show(cell.goodput_bps?);
            Some(format!("{} {goodput}", cell.cell.name()))
        })
        .take(MAX_PROTOCOLS)
        .collect();
    (!each.is_empty()).then(|| each.join(", "))
}

/// The headline of a test of the connection rate: a handshake is a round trip.
fn of_connect(report: &ConnectReport) -> Headline {
    let failed = report.failures.total() as f64;
    let per_s = report.per_s.as_ref();
    Headline {
        result: per_s.map(|per_s| Unit::ConnectionsPerSecond.show(per_s.mean)),
        loss: (report.attempts > 0).then(|| failed / report.attempts as f64),
        rtt_us: report.connect.map(|times| times.mean_us),
        ..Headline::default()
    }
}

/// The headline of a test of latency under load: its last phase, in which both directions have load.
fn of_quality(report: &QualityReport) -> Headline {
    let Some(last) = report.phases.last() else {
        return Headline::default();
    };
    let loads = || last.directions.iter().map(|load| &load.summary);
    let udp = last.echo();
    let retransmits = loads().filter_map(|load| load.tcp?.retransmits);
    Headline {
        result: Some(grade(report)),
        goodput_bps: sum(loads().filter_map(DirectionSummary::goodput_mean)),
        loss: udp.map(|udp| udp.lost as f64 / udp.sent.max(1) as f64),
        rtt_us: udp.map(|udp| udp.mean_us),
        retransmits: sum(retransmits.map(|count| count as f64)),
        ..of_both(loads())
    }
}

/// The payload received, bit/s, all directions together.
fn goodput_bps(run: &Run) -> Option<f64> {
    let only = run.throughput().and_then(|summary| summary.goodput_bps);
    let over_repeats = || run.over_repeats.iter().filter_map(|one| one.goodput_bps);
    let over_directions = || {
        let directions = run.directions().iter();
        directions.filter_map(DirectionSummary::goodput_mean)
    };
    only.map(|goodput| goodput.mean)
        .or_else(|| sum(over_repeats().map(|goodput| goodput.mean)))
        .or_else(|| sum(over_directions()))
}

/// The part of what was sent that was lost; `None` when nothing was sent.
fn fraction(lost: u64, sent: u64) -> Option<f64> {
    (sent > 0).then(|| lost as f64 / sent as f64)
}

/// The fraction of datagrams lost, all directions together.
fn loss(directions: &[DirectionSummary]) -> Option<f64> {
    let counts = || {
        directions
            .iter()
            .filter_map(|one| one.loss.as_ref())
            .filter(|loss| loss.is_complete())
    };
    let total = |field: fn(&Loss) -> Option<u64>| counts().filter_map(field).reduce(u64::add);
    fraction(total(|loss| loss.lost)?, total(datagrams)?)
}

/// The datagrams that could have arrived: those sent or, where only the receiver counted, those it knows of.
fn datagrams(loss: &Loss) -> Option<u64> {
    let known_to_receiver = || loss.received?.checked_add(loss.lost?);
    loss.sent.or_else(known_to_receiver)
}

/// `true` when the directions were measured one after the other: they overlap for less than half of the time until the
/// first of them ended. Turns may touch, as readings are made a little late.
fn took_turns(run: &Run) -> bool {
    let span = |direction: Direction| {
        let flows = run.flows().iter();
        let spans = flows
            .filter(|flow| flow.flow.direction == direction)
            .flat_map(spans);
        spans.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)))
    };
    let (Some(up), Some(down)) = (span(Direction::Up), span(Direction::Down)) else {
        return false;
    };
    let (start_s, end_s) = (up.0.max(down.0), up.1.min(down.1));
    end_s - start_s < end_s / 2.0
}

/// The times over which a flow was counted, s after the start: those of its ends and of its intervals.
fn spans(flow: &FlowReport) -> impl Iterator<Item = (f64, f64)> {
    let sender = flow.sender.as_ref();
    let sender = sender.and_then(|end| end.start_s.zip(end.end_s));
    let receiver = flow.receiver.as_ref();
    let receiver = receiver.and_then(|end| end.start_s.zip(end.end_s));
    let intervals = flow.intervals().iter();
    let intervals = intervals.map(|interval| (interval.start_s, interval.end_s));
    sender.into_iter().chain(receiver).chain(intervals)
}

/// The sum of the values; `None` of none.
fn sum(values: impl Iterator<Item = f64>) -> Option<f64> {
    values.reduce(f64::add)
}

/// The mean of the values; `None` of none.
fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (total, count) = values.fold((0.0, 0_u32), |(total, count), value| {
        (total + value, count + 1)
    });
    (count > 0).then(|| total / f64::from(count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    /// The headline of a document of the corpus, and the document.
    fn headline(name: &str) -> (Headline, Value) {
        let path = format!(
            "{}/../core/tests/corpus/{name}.json",
            env!("CARGO_MANIFEST_DIR")
        );
        let text = std::fs::read_to_string(path).unwrap();
        let run: Run = serde_json::from_str(&text).unwrap();
        (Headline::from(&run), serde_json::from_str(&text).unwrap())
    }

    fn number(document: &Value, path: &str) -> f64 {
        document.pointer(path).and_then(Value::as_f64).unwrap()
    }

    #[test]
    fn several_directions_are_summed_and_their_round_trip_times_averaged() {
        let (shown, document) = headline("tcp-bidir");
        let each = |path: &str| {
            [0, 1].map(|n| number(&document, &format!("/summary/directions/{n}{path}")))
        };
        let sum = |values: [f64; 2]| values[0] + values[1];
        assert_eq!(shown.goodput_bps, Some(sum(each("/goodput_bps/mean"))));
        assert_eq!(shown.rtt_us, Some(sum(each("/tcp/rtt_mean_us")) / 2.0));
        assert_eq!(shown.retransmits, Some(sum(each("/tcp/retransmits"))));
        assert_eq!(shown.loss, None);
        let [first, second] = each("/goodput_bps/mean").map(Some);
        let is_up_first = document.pointer("/summary/directions/0/direction") == Some(&"up".into());
        let (up, down) = if is_up_first {
            (first, second)
        } else {
            (second, first)
        };
        assert_eq!((shown.up_bps, shown.down_bps), (up, down));
        // One direction alone is the goodput.
        let (shown, _) = headline("udp-down");
        assert_eq!((shown.up_bps, shown.down_bps), (None, None));
    }

    #[test]
    fn directions_that_took_turns_have_no_rate_together() {
        let path = format!(
            "{}/../core/tests/corpus/tcp-bidir.json",
            env!("CARGO_MANIFEST_DIR")
        );
        let mut run: Run = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        for flow in run.flows.iter_mut().flatten() {
            let later_s = if flow.flow.direction == Direction::Down {
                1.0
            } else {
                0.0
            };
            for interval in flow.intervals.iter_mut().flatten() {
                interval.start_s += later_s;
                interval.end_s += later_s;
            }
        }
        let headline = Headline::from(&run);
        assert_eq!((headline.goodput_bps, headline.loss), (None, None));
        assert!(headline.retransmits.is_some());
    }

    #[test]
    fn the_headline_of_each_kind_of_run_comes_from_its_summary() {
        let (shown, document) = headline("udp-down");
        let loss = "/summary/directions/0/loss";
        let lost = number(&document, &format!("{loss}/lost"));
        assert_eq!(
            shown.loss,
            Some(lost / number(&document, &format!("{loss}/sent")))
        );
        let (shown, document) = headline("rtt-tcp");
        assert_eq!(
            shown.rtt_us,
            Some(number(&document, "/summary/sizes/0/pooled/mean_us/mean"))
        );
        let lost = number(&document, "/summary/lost") / number(&document, "/summary/messages");
        assert_eq!(shown.loss, Some(lost));
        assert_eq!((shown.goodput_bps, shown.retransmits), (None, None));
        let (shown, document) = headline("lab-find-rate");
        assert_eq!(
            shown.goodput_bps,
            Some(number(&document, "/search/rate_bps"))
        );
    }

    #[test]
    fn kinds_with_another_result_have_it_as_text() {
        let result = |grade: serde_json::Value| {
            let report = serde_json::json!({
                "phases": [{
                    "load": "download", "start_s": 0.0, "duration_s": 5.0, "ramp_s": 1.0, "directions": [],
                    "probes": [], "one_way": [], "added": []}],
                "grade": grade, "advice": [], "intervals": [], "confidence": 0.95});
            of_quality(&serde_json::from_value(report).unwrap()).result
        };
        let graded = serde_json::json!({"grade": "B", "increase_us": 44_100.0});
        assert_eq!(result(graded).as_deref(), Some("B, +44.10 ms"));
        let without = serde_json::Value::Null;
        assert_eq!(result(without).as_deref(), Some("no grade"));
        let (shown, _) = headline("rtt-tcp");
        assert_eq!(shown.result, None);
    }

    #[test]
    fn several_file_transfers_have_the_goodput_of_each_protocol_or_their_number() {
        use serde_json::json;
        let cell = |via: &str, file: &str, goodput_bps: Option<f64>| {
            let settings =
                json!({"write_bytes": 262_144, "mss": null, "no_delay": true, "sendfile": false});
            let via = match via {
                "quic" => json!("quic"),
                via => json!({via: settings}),
            };
            json!({"via": via, "file": file, "n": u64::from(goodput_bps.is_some()), "times": {"handshake_ns": 0}, "goodput_bps": goodput_bps})
        };
        let result = |cells: Value| {
            let report = json!({
                "seed": 1, "discarded": 0, "goal": {"error": 0.1, "confidence": 0.95}, "cells": cells, "runs": [],
            });
            of_transfers(&serde_json::from_value(report).unwrap()).result
        };
        let compared = json!([
            cell("tcp", "a", Some(1e6)),
            cell("quic", "a", Some(2e6)),
            cell("tcp", "b", Some(17.89e6)),
            cell("quic", "b", Some(18.25e6)),
        ]);
        assert_eq!(
            result(compared).as_deref(),
            Some("tcp 17.89 Mbit/s, quic 1400 18.25 Mbit/s")
        );
        let files = json!([cell("tcp", "a", Some(1e6)), cell("tcp", "b", None)]);
        assert_eq!(result(files).as_deref(), Some("1 of 2 transfers"));
    }
}
