//! A test as far as it has come: the fold of its events.

use super::flow::FlowHistory;
use super::point::TestPoint;
use caudal_core::event::{Event, SizeProgress};
use caudal_core::interval::FlowInterval;
use caudal_core::path::PathRound;
use caudal_core::plan::{Plan, PlanKind, PlanRecord, TestEnd};
use caudal_core::run::Run;
use caudal_core::search::SearchTrial;
use caudal_core::transfer::{TransferProgress, TransferRecord};
use caudal_views::text::time_us;

/// Maximum number of intervals kept; of more, two become one.
const MAX_POINTS: usize = 20_000;
/// Minimum time between two readings of a file transfer that a rate is computed from, s: acknowledgements come in bursts.
const MIN_RATE_S: f64 = 0.5;
/// Maximum number of flows shown one by one.
const MAX_FLOWS: usize = 1000;
/// Maximum number of other rows kept.
const MAX_ROWS: usize = 1000;

/// A test as far as it has come.
#[derive(Debug, Clone, Default)]
pub struct Model {
    /// The test in a line, as its command announces it.
    pub headline: String,
    /// The workload.
    pub kind: Option<PlanKind>,
    /// Its planned length, s; `None` where it ends otherwise.
    pub planned_s: Option<f64>,
    /// The number of the run, from 1, where there are several.
    pub repeat: Option<u32>,
    /// Its intervals over all flows, in their order.
    pub points: Vec<TestPoint>,
    /// Its flows, by number.
    pub flows: Vec<FlowHistory>,
    /// The message sizes of a round-trip test that are complete.
    pub sizes: Vec<SizeProgress>,
    /// The trials of a search.
    pub trials: Vec<SearchTrial>,
    /// What is known of a path.
    pub path: Option<PathRound>,
    /// A running file transfer.
    pub transfer: Option<TransferProgress>,
    /// The file transfers that are over, a line each.
    pub transfers: Vec<String>,
    /// What the test has told in lines of text, such as the parts of a check.
    pub lines: Vec<String>,
    /// The moments that the user marked, s after the start.
    pub marks_s: Vec<f64>,
    /// The start, s since 1970, where times of day are shown rather than seconds.
    pub began_s: Option<f64>,
    /// `true` for a test that is running, or was when this was made.
    pub is_live: bool,
    /// The whole run, once it is over.
    pub run: Option<Box<Run>>,
    /// The time of the latest event that has one, s after the start.
    pub now_s: f64,
    /// The reading before of a running file transfer: its time, s, and its bytes.
    pub(crate) before: Option<(f64, u64)>,
}

impl Model {
    /// A test that has not begun.
    #[must_use]
    pub fn new(headline: impl Into<String>) -> Self {
        Self {
            headline: headline.into(),
            ..Self::default()
        }
    }

    /// The model of a recorded run, from its events.
    pub fn of_events<'e>(
        headline: impl Into<String>,
        events: impl IntoIterator<Item = &'e Event>,
    ) -> Self {
        let mut model = Self::new(headline);
        events.into_iter().for_each(|event| model.event(event));
        model
    }

    /// A series of tests since `began_s`, s since 1970: a point for each, and the times at which they changed, s after that.
    #[must_use]
    pub fn timeline(
        headline: impl Into<String>,
        began_s: f64,
        points: Vec<TestPoint>,
        changes_s: Vec<f64>,
    ) -> Self {
        Self {
            began_s: Some(began_s),
            points,
            marks_s: changes_s,
            ..Self::new(headline)
        }
    }

    /// Takes the next event.
    pub fn event(&mut self, event: &Event) {
        match event {
            Event::Agreed(agreement) => self.begin(agreement.repeat, &agreement.plan),
            Event::Interval { repeat, flows } => self.interval(*repeat, flows),
            Event::Quality { interval } => self.push(TestPoint::of_quality(interval)),
            Event::RoundTrips(interval) => self.push(TestPoint::of_round_trips(interval)),
            Event::Connections { interval } => self.push(TestPoint::of_connections(interval)),
            Event::Size(size) => keep(&mut self.sizes, *size),
            Event::Trial { trial } => keep(&mut self.trials, *trial),
            Event::PathRound { round } => {
                self.now_s = self.now_s.max(round.at_s);
                self.path = Some(round.clone());
            }
            Event::Transfer(progress) => self.transfer(*progress),
            Event::Transferred { transfer } => {
                self.transfer = None;
                self.before = None;
                keep(&mut self.transfers, transfer_line(transfer));
            }
            Event::Finished { run } => {
                self.kind = self.kind.or(run.kind());
                self.marks_s = run.marks_s.clone();
                self.run = Some(run.clone());
            }
            _ => {}
        }
    }

    /// Takes a line of text about the test.
    pub fn line(&mut self, line: &str) {
        for line in line.lines() {
            keep(&mut self.lines, line.to_owned());
        }
    }

    /// Marks a moment of a test that is running.
    pub fn mark(&mut self, time_s: f64) {
        if self.run.is_none() {
            keep(&mut self.marks_s, time_s);
        }
    }

    /// The end of what there is to show, s after the start.
    #[must_use]
    pub fn end_s(&self) -> f64 {
        self.points
            .last()
            .map_or(self.now_s, |last| last.end_s.max(self.now_s))
    }

    /// The latest interval that had ended at this time.
    #[must_use]
    pub fn at(&self, time_s: f64) -> Option<&TestPoint> {
        let after = self.points.partition_point(|point| point.end_s <= time_s);
        self.points[..after].last()
    }

    /// The intervals that had ended at this time.
    #[must_use]
    pub fn until(&self, time_s: f64) -> &[TestPoint] {
        let after = self
            .points
            .partition_point(|point| point.end_s <= time_s + 1e-9);
        &self.points[..after]
    }

    fn begin(&mut self, repeat: Option<u32>, plan: &PlanRecord) {
        let kind = plan.kind();
        // The phases of these are one test after another.
        let goes_on = self.kind == kind
            && matches!(
                kind,
                Some(PlanKind::Quality | PlanKind::Path | PlanKind::File)
            );
        if goes_on {
            return;
        }
        let is_within_path = self.kind == Some(PlanKind::Path) || self.kind == Some(PlanKind::File);
        if is_within_path {
            return;
        }
        *self = Self {
            headline: std::mem::take(&mut self.headline),
            trials: std::mem::take(&mut self.trials),
            marks_s: std::mem::take(&mut self.marks_s),
            lines: std::mem::take(&mut self.lines),
            is_live: self.is_live,
            kind,
            repeat,
            planned_s: planned_s(plan),
            ..Self::default()
        };
    }

    fn interval(&mut self, repeat: u32, flows: &[FlowInterval]) {
        if self.repeat.is_some_and(|number| number != repeat) {
            self.points.clear();
            self.flows.clear();
            self.repeat = Some(repeat);
        }
        if let Some(point) = TestPoint::of_flows(flows) {
            self.push(point);
        }
        for flow in flows {
            let known = |history: &FlowHistory| history.flow.id == flow.flow.id;
            match self.flows.iter().position(known) {
                Some(place) => self.flows[place].push(flow),
                None if self.flows.len() < MAX_FLOWS => {
                    let mut history = FlowHistory::new(flow.flow);
                    history.push(flow);
                    self.flows.push(history);
                }
                None => {}
            }
        }
    }

    /// The rate of a running file transfer between this reading and the one before.
    fn transfer(&mut self, progress: TransferProgress) {
        let at_s = progress.at_ns as f64 / 1e9;
        let (start_s, bytes) = self.before.unwrap_or((0.0, 0));
        if at_s >= start_s + MIN_RATE_S {
            let arrived = progress.bytes.saturating_sub(bytes);
            self.push(TestPoint {
                start_s,
                end_s: at_s,
                up_bps: Some(arrived as f64 * 8.0 / (at_s - start_s)),
                ..TestPoint::default()
            });
            self.before = Some((at_s, progress.bytes));
        } else if progress.bytes < bytes || at_s < start_s {
            // Another transfer has begun.
            self.points.clear();
            self.before = Some((at_s, progress.bytes));
        }
        self.transfer = Some(progress);
    }

    fn push(&mut self, point: TestPoint) {
        let is_sound = point.start_s.is_finite() && point.end_s.is_finite() && point.start_s >= 0.0;
        let follows = self
            .points
            .last()
            .is_none_or(|last| point.end_s >= last.end_s);
        if !is_sound || !follows {
            return;
        }
        if self.points.len() >= MAX_POINTS {
            let joined = |pair: &[TestPoint]| match pair {
                [one, next] => one.joined(next),
                _ => pair[0],
            };
            self.points = self.points.chunks(2).map(joined).collect();
        }
        self.now_s = self.now_s.max(point.end_s);
        self.points.push(point);
    }
}

/// A file transfer that is over, in a line.
fn transfer_line(transfer: &TransferRecord) -> String {
    let time = time_us(transfer.elapsed_s * 1e6);
    let name = transfer
        .plan
        .transport()
        .map_or_else(|| "file".to_owned(), |transport| transport.to_string());
    match transfer.failure.as_ref().or(transfer.cut_short.as_ref()) {
        Some(why) => format!("{name}: failed after {time}: {why}"),
        None => format!("{name}: done in {time}"),
    }
}

/// Keeps one more, unless there are too many to show.
fn keep<T>(all: &mut Vec<T>, one: T) {
    if all.len() < MAX_ROWS {
        all.push(one);
    }
}

/// The planned length of a test.
fn planned_s(plan: &PlanRecord) -> Option<f64> {
    let plan = Plan::try_from(plan).ok()?;
    match plan.bulk()?.end {
        TestEnd::Time(time) => Some(time.as_secs_f64()),
        TestEnd::Bytes(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(at_ms: u64, bytes: u64) -> Event {
        Event::Transfer(TransferProgress {
            at_ns: at_ms * 1_000_000,
            bytes,
            total_bytes: Some(1_000_000),
        })
    }

    #[test]
    fn the_rate_of_a_transfer_is_over_half_a_second_at_least() {
        let mut model = Model::new("");
        for (at_ms, bytes) in [
            (100, 90_000),
            (300, 100_000),
            (500, 250_000),
            (1000, 500_000),
        ] {
            model.event(&progress(at_ms, bytes));
        }
        let rates: Vec<Option<f64>> = model.points.iter().map(|point| point.up_bps).collect();
        assert_eq!(rates, [Some(4e6), Some(4e6)]);
        // The next file begins anew.
        model.event(&progress(10, 0));
        assert!(model.points.is_empty());
    }

    #[test]
    fn intervals_that_cannot_be_are_left_out() {
        let mut model = Model::new("");
        let point = |start_s: f64, end_s: f64| TestPoint {
            start_s,
            end_s,
            ..TestPoint::default()
        };
        for (start_s, end_s) in [
            (0.0, 1.0),
            (f64::NAN, 2.0),
            (-1.0, 2.0),
            (0.0, 0.5),
            (1.0, 2.0),
        ] {
            model.push(point(start_s, end_s));
        }
        assert_eq!(model.points.len(), 2);
    }

    #[test]
    fn a_test_of_a_day_takes_bounded_memory() {
        let mut model = Model::new("");
        for second in 0..864_000 {
            let start_s = f64::from(second) / 10.0;
            model.push(TestPoint {
                start_s,
                end_s: start_s + 0.1,
                up_bps: Some(1e6),
                ..TestPoint::default()
            });
        }
        assert!(model.points.len() <= MAX_POINTS);
        assert!((model.end_s() - 86_400.0).abs() < 1e-6);
        assert!(
            model
                .points
                .iter()
                .all(|point| point.up_bps.is_some_and(|bps| (bps - 1e6).abs() < 1.0))
        );
    }
}
