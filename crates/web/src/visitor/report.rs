//! The run of `quality` that a test with the page adds up to.

use super::message::ResultMessage;
use super::page_counts::{CountAt, PagePhase, bytes_at, rates};
use super::phase::{INTERVAL, PhaseRecord, direction_of};
use super::prober::{PERIOD_NS, RoundTrip};
use caudal_analysis::quality::quality_report;
use caudal_core::bottleneck::{Bottleneck, LimitedBy};
use caudal_core::plan::{
    Direction, PhaseLoad, PlanRecord, PlannedPhase, QualityPlanRecord, Transport,
};
use caudal_core::quality::{
    AddedDelay, CallQuality, DelayIncrease, FillVerdict, Grade, PathFill, PhaseDirection,
    PhaseReport, ProbeKind, ProbeSummary, QualityInterval, QualityReport,
};
use caudal_core::sample::{Counters, TcpSnapshot};
use caudal_core::summary::{DirectionSummary, TcpSummary};
use caudal_core::units::BitRate;
use caudal_core::warning::{Warning, WarningCode};
use caudal_stats::{batch_means, nearest_rank};

/// The confidence of intervals.
const CONFIDENCE: f64 = 0.95;
/// The share of the time with a closed window, or without anything to send, from which the browser is what limits a load.
const BROWSER_SHARE: f64 = 0.2;
/// Minimum median delay that load adds for a queue to have been seen, µs: more than the noise of hosts.
const QUEUE_SEEN_US: f64 = 3_000.0;
/// The same in terms of the spread of the delays without load.
const QUEUE_SEEN_SPREADS: f64 = 4.0;
/// The increase below which calls are not disturbed, and above which they are not possible, µs: those of grades A and C.
const GOOD_US: f64 = 30e3;
const BAD_US: f64 = 200e3;

/// A phase with what the page said of it, and the round trips that were due in it.
#[derive(Debug, Clone)]
pub(super) struct MeasuredPhase {
    pub(super) record: PhaseRecord,
    pub(super) page: PagePhase,
    pub(super) trips: Vec<RoundTrip>,
}

impl MeasuredPhase {
    fn load(&self) -> PhaseLoad {
        self.record.plan.load
    }

    /// The round trips of the part that counts, µs.
    fn counted_trips(&self) -> Vec<Option<f64>> {
        let from_ns = self.record.start_ns + self.record.plan.ramp.as_nanos() as u64;
        let counted = self.trips.iter().filter(|trip| trip.due_ns >= from_ns);
        counted
            .map(|trip| trip.rtt_ns.map(|ns| ns as f64 / 1e3))
            .collect()
    }

    fn answered_us(&self) -> Vec<f64> {
        self.counted_trips().into_iter().flatten().collect()
    }

    /// The payload that had arrived by times, in this direction: by the page's count, the acknowledgements of its kernel where it has none, or
    /// this end's count.
    fn counts(&self, direction: Direction) -> Vec<CountAt> {
        let sent = self.record.carried().1;
        let of_page = || self.page.counts.within(sent, self.record.time_s());
        match direction {
            Direction::Down => of_page().unwrap_or_else(|| self.readings(direction)),
            Direction::Up => self.readings(direction),
        }
    }

    /// The readings of this end, summed over flows.
    fn readings(&self, direction: Direction) -> Vec<CountAt> {
        let mut sums: Vec<(u64, CountAt)> = Vec::new();
        for sample in &self.record.samples {
            let bytes = match (&sample.counters, direction) {
                (Counters::Sender(sent), Direction::Down) => {
                    let acked = sent.tcp.and_then(|tcp| tcp.bytes_acked);
                    acked.unwrap_or(sent.bytes)
                }
                (Counters::Receiver(received), Direction::Up) => received.bytes,
                _ => continue,
            };
            let at_s = sample.at_ns as f64 / 1e9;
            match sums.last_mut().filter(|(tick, _)| *tick == sample.tick) {
                Some((_, sum)) => sum.bytes += bytes,
                None => sums.push((sample.tick, CountAt { at_s, bytes })),
            }
        }
        sums.into_iter().map(|(_, count)| count).collect()
    }

    /// The last states of the senders' connections.
    fn tcp(&self) -> Vec<TcpSnapshot> {
        let of_end = |counters: &Counters| match counters {
            Counters::Sender(sent) => sent.tcp,
            Counters::Receiver(_) => None,
        };
        self.record
            .ends
            .iter()
            .filter_map(|end| of_end(&end.counters))
            .collect()
    }

    /// Why the browser limited the load of a direction; `None` where it did not.
    fn browser_limit(&self, direction: Direction) -> Option<LimitedBy> {
        match direction {
            Direction::Down => {
                let sum = |of: fn(&TcpSnapshot) -> Option<u64>| {
                    self.tcp().iter().filter_map(of).sum::<u64>() as f64
                };
                let closed = sum(|tcp| tcp.receiver_window_limited_us);
                let share = closed / sum(|tcp| tcp.busy_us).max(1.0);
                (share >= BROWSER_SHARE).then(|| {
                    let evidence = format!(
                        "the browser's window was closed {:.0} % of the time: it read slower than payload arrived",
                        share * 100.0
                    );
                    LimitedBy::new(Bottleneck::ReceiverWindow, evidence)
                })
            }
            Direction::Up => (self.page.starved >= BROWSER_SHARE).then(|| {
                let evidence = format!(
                    "the browser had nothing to send {:.0} % of the time: its script was slower than the network",
                    self.page.starved * 100.0
                );
                LimitedBy::new(Bottleneck::Sender, evidence)
            }),
        }
    }

    fn summary(&self, direction: Direction) -> DirectionSummary {
        let (counts, time_s) = (self.counts(direction), self.record.time_s());
        let ramp_s = self.record.plan.ramp.as_secs_f64();
        let rates = rates(&counts, ramp_s, time_s, INTERVAL.as_secs_f64());
        let goodput = batch_means(&rates, CONFIDENCE);
        let measured_s = rates.len() as f64 * INTERVAL.as_secs_f64();
        let at = |s| bytes_at(&counts, s);
        let measured = at(ramp_s + measured_s).zip(at(ramp_s));
        let flows = self.record.ends.iter();
        let flows = flows.filter(|end| direction_of(end.flow) == direction);
        DirectionSummary {
            flows: Some(flows.count()),
            goodput_bps: goodput.map(|means| means.estimate),
            goodput_trusted: goodput.map(|means| means.trusted),
            bytes: measured.map(|(end, start)| (end - start) as u64),
            measured_s,
            omitted_s: Some(ramp_s),
            received_bytes: counts.last().map(|count| count.bytes),
            sent_bytes: (direction == Direction::Down).then(|| self.record.carried().1),
            limited_by: self.browser_limit(direction),
            tcp: (direction == Direction::Down).then(|| tcp_summary(&self.tcp())),
            ..DirectionSummary::unmeasured(direction)
        }
    }

    /// The report on the phase, compared with the idle one.
    fn report(&self, idle: Option<&Self>, test_ns: u64) -> PhaseReport {
        let load = self.load();
        let under_load = self.answered_us();
        let idle_us = idle.map_or_else(Vec::new, Self::answered_us);
        let added_rtt = (load != PhaseLoad::Idle)
            .then(|| DelayIncrease::above(&idle_us, &under_load))
            .flatten();
        let spread_us = upper_spread_us(idle_us);
        let each = load.each_direction();
        let directions: Vec<PhaseDirection> = each
            .iter()
            .map(|direction| {
                let summary = self.summary(*direction);
                let fill = path_fill(&summary, added_rtt.as_ref(), spread_us);
                PhaseDirection {
                    retransmitted: summary.tcp.and_then(|_| retransmitted(&self.tcp())),
                    sender_queue: None,
                    fill: Some(fill),
                    summary,
                }
            })
            .collect();
        let is_filled = !directions.is_empty()
            && directions
                .iter()
                .all(|one| one.fill.as_ref().is_some_and(PathFill::is_filled));
        let added = match each[..] {
            [direction] => added_rtt.map(|increase| AddedDelay {
                direction,
                increase,
                queue_mean_bytes: queue_bytes(&directions, increase.mean_us),
                queue_max_bytes: queue_bytes(&directions, increase.max_us),
            }),
            _ => None,
        };
        let probes =
            ProbeSummary::of_trips(ProbeKind::WebSocket, &self.counted_trips(), CONFIDENCE);
        PhaseReport {
            call: probes.as_ref().and_then(CallQuality::beside),
            load,
            start_s: self.record.start_ns.saturating_sub(test_ns) as f64 / 1e9,
            duration_s: self.record.time_s(),
            ramp_s: self.record.plan.ramp.as_secs_f64(),
            directions,
            probes: probes.into_iter().collect(),
            one_way: Vec::new(),
            grade: added_rtt
                .filter(|_| is_filled)
                .map(|added| Grade::of_increase_us(added.mean_us)),
            added_rtt,
            by_protocol: None,
            busy: None,
            added: added.into_iter().collect(),
            responsiveness: None,
            cut_short: self.record.cut_short.clone().map(Into::into),
        }
    }

    /// The phase over time.
    fn intervals(&self, test_ns: u64) -> Vec<QualityInterval> {
        let length_s = INTERVAL.as_secs_f64();
        let start_s = self.record.start_ns.saturating_sub(test_ns) as f64 / 1e9;
        let each = self.load().each_direction();
        let counts = |direction| {
            if each.contains(&direction) {
                self.counts(direction)
            } else {
                Vec::new()
            }
        };
        let (down, up) = (counts(Direction::Down), counts(Direction::Up));
        let n = (self.record.time_s() / length_s + 1e-6).floor().max(0.0) as u32;
        (0..n)
            .map(|nth| {
                let (from, to) = (f64::from(nth) * length_s, f64::from(nth + 1) * length_s);
                let bps = |counts: &[CountAt]| {
                    let bytes = bytes_at(counts, to)? - bytes_at(counts, from)?;
                    Some(bytes * 8.0 / length_s)
                };
                let due = |trip: &&RoundTrip| {
                    let at_s = trip.due_ns.saturating_sub(self.record.start_ns) as f64 / 1e9;
                    (from..to).contains(&at_s)
                };
                let all = self.trips.iter().filter(due);
                let mut rtt: Vec<f64> = all
                    .clone()
                    .filter_map(|trip| Some(trip.rtt_ns? as f64 / 1e3))
                    .collect();
                rtt.sort_unstable_by(f64::total_cmp);
                QualityInterval {
                    load: self.load(),
                    start_s: start_s + from,
                    end_s: start_s + to,
                    down_bps: bps(&down),
                    up_bps: bps(&up),
                    retransmitted: None,
                    rtt_us: nearest_rank(&rtt, 0.5),
                    rtt_max_us: rtt.last().copied(),
                    tcp_rtt_us: None,
                    probes: all.count() as u64,
                    // TCP sends again what is lost: it shows as delay.
                    lost: 0,
                }
            })
            .collect()
    }
}

/// The spread of delays above their median: up to the 95th percentile, µs; 0 without any.
fn upper_spread_us(mut delays_us: Vec<f64>) -> f64 {
    delays_us.sort_unstable_by(f64::total_cmp);
    let at = |q| nearest_rank(&delays_us, q);
    at(0.95)
        .zip(at(0.5))
        .map_or(0.0, |(high, median)| high - median)
}

/// Whether a load filled the path, as far as round trips and the browser show it.
fn path_fill(
    summary: &DirectionSummary,
    added: Option<&DelayIncrease>,
    spread_us: f64,
) -> PathFill {
    let at = summary.goodput_mean().map_or_else(String::new, |bps| {
        format!(", at {}", BitRate::from_bps(bps as u64))
    });
    if let Some(limit) = &summary.limited_by {
        return PathFill::new(FillVerdict::NotFilled, format!("{}{at}", limit.evidence));
    }
    let least_us = QUEUE_SEEN_US.max(QUEUE_SEEN_SPREADS * spread_us);
    match added.filter(|added| added.p50_us >= least_us) {
        Some(added) => {
            let ms = added.p50_us / 1e3;
            let evidence = format!("it added a median delay of {ms:.1} ms to the round trip");
            PathFill::new(FillVerdict::Filled, evidence)
        }
        None => PathFill::new(
            FillVerdict::CannotTell,
            format!("no queue was seen, and nothing else that limited it{at}"),
        ),
    }
}

/// The queue that makes up an increase at the goodput of the only direction, bytes.
fn queue_bytes(directions: &[PhaseDirection], us: f64) -> Option<f64> {
    let bps = directions.first()?.summary.goodput_mean()?;
    Some(us.max(0.0) / 1e6 * bps / 8.0)
}

fn retransmitted(tcp: &[TcpSnapshot]) -> Option<f64> {
    let sum = |of: fn(&TcpSnapshot) -> Option<u64>| tcp.iter().map(of).sum::<Option<u64>>();
    let (again, sent) = (
        sum(|tcp| tcp.retransmitted_bytes)?,
        sum(|tcp| tcp.bytes_sent)?,
    );
    (sent > 0).then(|| again as f64 / sent as f64)
}

fn tcp_summary(tcp: &[TcpSnapshot]) -> TcpSummary {
    TcpSummary {
        retransmits: Some(tcp.iter().map(|tcp| tcp.retransmits).sum()),
        retransmitted_bytes: tcp.iter().map(|tcp| tcp.retransmitted_bytes).sum(),
        rtt_min_us: tcp.iter().filter_map(|tcp| tcp.min_rtt_us).min(),
        ..TcpSummary::default()
    }
}

/// What a test with the page is, and what was noticed beside it.
#[derive(Debug, Clone)]
pub(super) struct VisitorMeasurements {
    /// The phases that were carried out.
    pub(super) phases: Vec<MeasuredPhase>,
    /// The start of the test, ns of the monotonic clock.
    pub(super) test_ns: u64,
    /// The visitor's address.
    pub(super) peer: String,
    /// `true` where a proxy passed the page's requests on.
    pub(super) is_proxied: bool,
    /// `true` where the page was hidden for a time.
    pub(super) was_hidden: bool,
    /// Why the test ended early.
    pub(super) cut_short: Option<String>,
}

impl VisitorMeasurements {
    /// The result.
    pub(super) fn report(&self) -> QualityReport {
        let find_idle = |phase: &&MeasuredPhase| phase.load() == PhaseLoad::Idle;
        let idle = self.phases.iter().find(find_idle);
        let phases = self.phases.iter();
        let reports = phases.map(|phase| phase.report(idle, self.test_ns));
        let intervals = self
            .phases
            .iter()
            .flat_map(|phase| phase.intervals(self.test_ns));
        QualityReport {
            cut_short: self.cut_short.clone().map(Into::into),
            ..quality_report(reports.collect(), intervals.collect(), CONFIDENCE)
        }
    }

    /// The plan of what was carried out.
    pub(super) fn plan(&self) -> PlanRecord {
        let streams = self.phases.iter().map(|phase| phase.record.plan.streams);
        let planned = self.phases.iter().map(|phase| PlannedPhase {
            load: phase.load(),
            time_ns: phase.record.plan.time.as_nanos() as u64,
            ramp_ns: phase.record.plan.ramp.as_nanos() as u64,
        });
        PlanRecord::Quality(QualityPlanRecord {
            peer: Some(self.peer.clone().into()),
            transport: Some(Transport::Tcp),
            parallel: streams.max(),
            interval_ns: Some(INTERVAL.as_nanos() as u64),
            phases: Some(planned.collect()),
            ..QualityPlanRecord::default()
        })
    }

    /// The doubts about a result.
    pub(super) fn warnings(&self, report: &QualityReport) -> Vec<Warning> {
        let mut all = Vec::new();
        if let Some(why) = &self.cut_short {
            let message = format!("the test ended early: {why}");
            all.push(Warning::new(WarningCode::CutShort, message));
        }
        let limited = report.phases.iter().find_map(|phase| {
            let mut loads = phase.directions.iter();
            loads.find_map(|load| Some((load.summary.direction, load.summary.limited_by.as_ref()?)))
        });
        if let Some((direction, limit)) = limited {
            let message = format!("{}: {}", direction.in_text(), limit.evidence);
            all.push(Warning::new(WarningCode::BrowserLimited, message));
        }
        if self.was_hidden {
            let message = "the page was hidden for a time, in which browsers slow its script down";
            all.push(Warning::new(WarningCode::PageHidden, message));
        }
        if self.is_proxied {
            let message = "a proxy passed the requests of the browser on: what was measured is the path to that proxy";
            all.push(Warning::new(WarningCode::TcpProxy, message));
        }
        all
    }
}

/// The result as the page shows it.
pub(super) fn result_message(report: &QualityReport, warnings: &[Warning]) -> ResultMessage {
    let phase = |load| report.phases.iter().find(|phase| phase.load == load);
    let rate = |load: PhaseLoad, direction| {
        let phase = phase(load)?;
        phase.direction(direction)?.summary.goodput_mean()
    };
    let added_us = |load| Some(phase(load)?.added_rtt?.mean_us);
    let (down_us, up_us) = (added_us(PhaseLoad::Download), added_us(PhaseLoad::Upload));
    let down_bps = rate(PhaseLoad::Download, Direction::Down);
    let up_bps = rate(PhaseLoad::Upload, Direction::Up);
    ResultMessage {
        link: None,
        down_bps,
        up_bps,
        idle_ms: phase(PhaseLoad::Idle)
            .and_then(PhaseReport::echo)
            .map(|echo| echo.p50_us / 1e3),
        down_added_ms: down_us.map(|us| us.max(0.0) / 1e3),
        up_added_ms: up_us.map(|us| us.max(0.0) / 1e3),
        grade: report.grade.as_ref().map(|grade| grade.grade.name()),
        no_grade: report.grade.is_none().then(|| report.no_grade_reason()),
        words: plain_words(
            [
                ("received", PhaseLoad::Download),
                ("sent", PhaseLoad::Upload),
            ]
            .map(|(what, load)| (what, phase(load))),
        ),
        doubts: warnings
            .iter()
            .map(|warning| warning.message.to_string())
            .collect(),
    }
}

/// What the delays mean, in plain words: only of loads that filled the path.
fn plain_words(loads: [(&str, Option<&PhaseReport>); 2]) -> Vec<String> {
    let each = loads.iter().filter_map(|(what, phase)| {
        let phase = (*phase)?;
        let us = phase.added_rtt?.mean_us;
        Some(if phase.grade.is_none() {
            let fill = phase.directions.first()?.fill.as_ref()?;
            format!(
                "cannot tell what happens to calls while a file is {what}: {}",
                fill.evidence
            )
        } else if us >= BAD_US {
            format!("calls will break up while a file is {what}")
        } else if us >= GOOD_US {
            format!("calls will stutter while a file is {what}")
        } else {
            format!("calls stay smooth while a file is {what}")
        })
    });
    each.collect()
}

/// The time after which a ping whose answer has not come is waited for no longer, ns.
pub(super) const LAST_PONG_NS: u64 = 4 * PERIOD_NS;
