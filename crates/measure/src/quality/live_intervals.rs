//! The intervals of a phase as they happen: what the flows carried and what the probes met, joined.

use crate::bulk_recorder::{BulkRecorder, RecordedBulk, SummaryOptions};
use caudal_core::event::{Event, ProbeReply};
use caudal_core::interval::{FlowInterval, IntervalRow, ServerAccount};
use caudal_core::plan::{Direction, Plan, QualityPlan, Transport};
use caudal_core::quality::QualityInterval;
use caudal_engine::QualityOutcome;
use caudal_engine::peer::PeerInfo;
use caudal_stats::nearest_rank;
use std::collections::VecDeque;

/// The time after which an interval is complete although no later reply has come, s.
const PATIENCE_S: f64 = 1.0;

/// The intervals of a phase as they happen.
pub(super) struct LiveIntervals {
    plan: QualityPlan,
    /// The start of the phase, s after that of the test.
    start_s: f64,
    is_behind_proxy: bool,
    load: Option<BulkRecorder>,
    /// Intervals of the flows whose probes are still on the way.
    pending: VecDeque<IntervalRow>,
    /// The end of what is known of the flows, s.
    known_s: f64,
    /// The number of the next interval without load.
    next_idle: u32,
    udp: Vec<Option<ProbeReply>>,
    tcp: Vec<ProbeReply>,
}

impl LiveIntervals {
    /// The intervals of a phase that starts at `start_s` of the test.
    pub(super) fn new(plan: &QualityPlan, start_s: f64, is_behind_proxy: bool) -> Self {
        Self {
            load: new_recorder(plan).map(|load| load.behind_proxy(is_behind_proxy)),
            is_behind_proxy,
            plan: plan.clone(),
            start_s,
            pending: VecDeque::new(),
            known_s: 0.0,
            next_idle: 0,
            udp: Vec::new(),
            tcp: Vec::new(),
        }
    }

    /// Changes the start of the phase: it has begun.
    pub(super) const fn begin(&mut self, start_s: f64) {
        self.start_s = start_s;
    }

    /// Takes an event: the intervals that are complete with it.
    pub(super) fn event(&mut self, event: &Event) -> Vec<QualityInterval> {
        match event {
            Event::Agreed(agreement) => {
                // The server may allow less than was asked for.
                if let Ok(Plan::Quality(plan)) = Plan::try_from(&agreement.plan) {
                    *self = Self::new(&plan, self.start_s, self.is_behind_proxy);
                }
                Vec::new()
            }
            Event::Replied(reply) => {
                self.take_reply(*reply);
                self.complete(false)
            }
            other => {
                let rows = self.load.as_mut().map(|load| load.event(other));
                self.take_rows(rows.unwrap_or_default());
                self.complete(false)
            }
        }
    }

    /// The load with its arithmetic done, and the remaining intervals.
    pub(super) fn finish(
        mut self,
        outcome: &mut QualityOutcome,
        info: &PeerInfo,
        options: SummaryOptions,
    ) -> (Option<RecordedBulk>, Vec<QualityInterval>) {
        let recorded = self
            .load
            .take()
            .zip(outcome.load.take())
            .and_then(|(load, measured)| load.finish(measured, info, options));
        let (recorded, rows) = recorded.unzip();
        self.take_rows(rows.unwrap_or_default());
        self.known_s = outcome.elapsed.as_secs_f64();
        let rest = self.complete(true);
        (recorded, rest)
    }

    fn take_reply(&mut self, reply: ProbeReply) {
        if reply.flow == self.plan.probe_flow(Transport::Tcp).id {
            self.tcp.push(reply);
            return;
        }
        let nth = reply.message as usize;
        if self.udp.len() <= nth {
            self.udp.resize(nth + 1, None);
        }
        self.udp[nth] = Some(reply);
    }

    fn take_rows(&mut self, rows: Vec<IntervalRow>) {
        for row in rows {
            let ends = row.flows.iter().map(|flow| flow.interval.end_s);
            self.known_s = self.known_s.max(ends.fold(0.0, f64::max));
            self.pending.push_back(row);
        }
    }

    /// The intervals that are complete; at the end of the phase all that are left.
    fn complete(&mut self, is_end: bool) -> Vec<QualityInterval> {
        // Where UDP does not pass, the other probe shows how far replies are known.
        let latest = match self.udp.is_empty() {
            true => self.tcp.last().copied(),
            false => self.udp.last().copied().flatten(),
        };
        let answered_s = latest.map_or(0.0, |reply| reply.due_ns as f64 / 1e9);
        if self.plan.load.directions().is_none() {
            self.add_idle(answered_s, is_end);
        }
        let mut complete = Vec::new();
        while let Some(row) = self.pending.front() {
            let (start_s, end_s) = span(row);
            if !is_end && answered_s < end_s && self.known_s < end_s + PATIENCE_S {
                break;
            }
            complete.extend(self.join(start_s, end_s));
            self.pending.pop_front();
        }
        complete
    }

    /// Adds the intervals without load up to the latest reply.
    fn add_idle(&mut self, answered_s: f64, is_end: bool) {
        let length_s = self.plan.interval.as_secs_f64();
        let until_s = if is_end {
            self.known_s.min(self.plan.time.as_secs_f64())
        } else {
            answered_s
        };
        while f64::from(self.next_idle + 1) * length_s <= until_s + 1e-6 {
            let start_s = f64::from(self.next_idle) * length_s;
            self.next_idle += 1;
            self.pending.push_back(IntervalRow {
                flows: vec![FlowInterval {
                    flow: self.plan.probe_flow(Transport::Udp),
                    interval: caudal_core::interval::Interval {
                        start_s,
                        end_s: start_s + length_s,
                        ..Default::default()
                    },
                }],
            });
        }
    }

    /// The first pending interval with the probes that were due in it.
    fn join(&self, start_s: f64, end_s: f64) -> Option<QualityInterval> {
        let row = self.pending.front()?;
        let within = |due_ns: u64| (start_s..end_s).contains(&(due_ns as f64 / 1e9));
        let udp = self
            .udp
            .iter()
            .flatten()
            .filter(|reply| within(reply.due_ns));
        let mut rtts: Vec<f64> = udp.map(|reply| reply.rtt_ns as f64 / 1e3).collect();
        rtts.sort_unstable_by(f64::total_cmp);
        let tcp = self.tcp.iter().filter(|reply| within(reply.due_ns));
        let mut tcp: Vec<f64> = tcp.map(|reply| reply.rtt_ns as f64 / 1e3).collect();
        tcp.sort_unstable_by(f64::total_cmp);
        if self.udp.is_empty() {
            rtts.clone_from(&tcp);
        }
        let lost = self.overtaken(within);
        let has_load = self.plan.load.directions().is_some();
        let goodput = |direction| {
            let flows = row
                .flows
                .iter()
                .filter(|flow| flow.flow.direction == direction);
            let rates: Vec<f64> = flows.filter_map(|flow| flow.interval.goodput_bps).collect();
            (has_load && !rates.is_empty()).then(|| rates.iter().sum())
        };
        Some(QualityInterval {
            load: self.plan.load,
            start_s: self.start_s + start_s,
            end_s: self.start_s + end_s,
            down_bps: goodput(Direction::Down),
            up_bps: goodput(Direction::Up),
            retransmitted: has_load.then(|| retransmitted(row)).flatten(),
            rtt_us: nearest_rank(&rtts, 0.5),
            rtt_max_us: rtts.last().copied(),
            tcp_rtt_us: nearest_rank(&tcp, 0.5),
            probes: rtts.len() as u64 + lost,
            lost,
        })
    }

    /// The number of UDP probes due at a time that is `within`, without a reply although a later one has been answered.
    fn overtaken(&self, within: impl Fn(u64) -> bool) -> u64 {
        let Some((nth, first)) = (0..)
            .zip(&self.udp)
            .find_map(|(nth, reply): (u64, _)| Some((nth, (*reply)?)))
        else {
            return 0;
        };
        let period_ns = self.plan.probes.udp_ns;
        let base_ns = first.due_ns.saturating_sub(nth * period_ns);
        let missing = (0..).zip(&self.udp).filter(|(_, reply)| reply.is_none());
        missing
            .filter(|(nth, _): &(u64, _)| within(base_ns + nth * period_ns))
            .count() as u64
    }
}

fn new_recorder(plan: &QualityPlan) -> Option<BulkRecorder> {
    let load = plan.load_plan()?;
    Some(BulkRecorder::new(&Plan::Tcp(load), ServerAccount::Full))
}

/// The beginning and the end of a row, s.
fn span(row: &IntervalRow) -> (f64, f64) {
    let flows = || row.flows.iter().map(|flow| &flow.interval);
    let start_s = flows()
        .map(|interval| interval.start_s)
        .fold(f64::MAX, f64::min);
    let end_s = flows().map(|interval| interval.end_s).fold(0.0, f64::max);
    (start_s, end_s)
}

/// The share of a row's bytes that was retransmitted.
fn retransmitted(row: &IntervalRow) -> Option<f64> {
    let flows = row.flows.iter();
    let (again, fresh) = flows
        .filter_map(|flow| {
            Some((
                flow.interval.tcp?.retransmitted_bytes?,
                flow.interval.bytes?,
            ))
        })
        .fold((0, 0), |(again, fresh), one| (again + one.0, fresh + one.1));
    (again + fresh > 0).then(|| again as f64 / (again + fresh) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::plan::{PhaseLoad, ProbePeriods, Rate};
    use std::time::Duration;

    fn idle() -> LiveIntervals {
        let plan = QualityPlan {
            load: PhaseLoad::Idle,
            parallel: 1,
            time: Duration::from_secs(1),
            ramp: Duration::ZERO,
            stagger: Duration::ZERO,
            interval: Duration::from_millis(100),
            probes: ProbePeriods {
                udp_ns: 20_000_000,
                tcp_ns: 100_000_000,
                connect_ns: 200_000_000,
            },
            timeout: Duration::from_secs(1),
            rate: Rate::Max,
            congestion: None,
            dscp: None,
            same_machine: false,
        };
        LiveIntervals::new(&plan, 2.0, false)
    }

    fn reply(message: u64) -> Event {
        Event::Replied(ProbeReply {
            flow: 0,
            message,
            due_ns: message * 20_000_000,
            rtt_ns: 40_000_000,
        })
    }

    #[test]
    fn an_interval_is_complete_when_a_later_probe_was_answered_and_counts_those_overtaken() {
        let mut live = idle();
        let mut found = Vec::new();
        for message in [0, 1, 3, 4, 6] {
            found.extend(live.event(&reply(message)));
        }
        assert_eq!(found.len(), 1);
        let interval = found[0];
        assert_eq!((interval.probes, interval.lost), (5, 1));
        assert!((interval.start_s - 2.0).abs() < 1e-9 && (interval.end_s - 2.1).abs() < 1e-9);
        assert_eq!(interval.rtt_us, Some(40_000.0));
        assert_eq!((interval.up_bps, interval.down_bps), (None, None));
    }
}
