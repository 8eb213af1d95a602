//! The progress of a study: a line for each trial, and on a terminal the time that is left.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use caudal_core::quantity::{EstimateInUnit, Unit};
use caudal_experiment::{Case, FlowKindFile, FlowSpec, METRICS, Metric, MetricSubject};
use caudal_stats::mean_of_trials;
use caudal_study::StudyEvent;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output::fold;
use crate::output::sink::Sink;
use caudal_views::text::{self, truncated};

/// Maximum width of a case's key.
const MAX_KEY_WIDTH: usize = 34;

/// The progress of a study.
pub struct StudyProgress {
    bar: Option<ProgressBar>,
    out: Sink,
    /// The width of keys.
    width: usize,
    /// The words that the keys of all cases share.
    common: Vec<String>,
    began: Instant,
    /// The confidence level of intervals.
    confidence: f64,
    /// The time that the trials so far were expected to take.
    expected: Duration,
    /// The time that they took.
    taken: Duration,
}

impl StudyProgress {
    /// The progress of a study with these cases, whose lines are printed when `is_shown`.
    #[must_use]
    pub fn new(cases: &[Case], confidence: f64, is_shown: bool) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("[{bar:30}] {pos}/{len} trials, {msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        let common = common(cases);
        let names = cases.iter().map(|case| distinct_key(&case.key, &common));
        let longest = names.map(|name| name.chars().count()).max();
        Self {
            bar,
            out: if is_shown {
                Sink::stdout()
            } else {
                Sink::nowhere()
            },
            width: longest.unwrap_or(0).min(MAX_KEY_WIDTH),
            common,
            confidence,
            began: Instant::now(),
            expected: Duration::ZERO,
            taken: Duration::ZERO,
        }
    }

    /// Shows a line.
    pub fn line(&mut self, line: &str) {
        let out = &mut self.out;
        match &self.bar {
            Some(bar) => bar.suspend(|| out.line(line)),
            None => out.line(line),
        }
    }

    /// Shows an event of the study.
    pub fn event(&mut self, event: &StudyEvent<'_>) {
        match event {
            StudyEvent::TrialStarted {
                position,
                total,
                case,
                remaining,
            } => self.begin(*position, *total, &case.key, *remaining),
            StudyEvent::TrialEnded { expected } => self.end(*expected),
            StudyEvent::TrialCompleted {
                trial,
                case,
                total,
                values,
                is_repeated,
            } => {
                let results = match &trial.discarded {
                    Some(reason) if *is_repeated => vec![format!("{reason}: repeated")],
                    Some(reason) => vec![format!("{reason}: discarded repeatedly, given up")],
                    None => shown_metrics(case)
                        .iter()
                        .filter_map(|metric| {
                            metric_text(case, metric, values.get(metric)?, self.confidence)
                        })
                        .collect(),
                };
                self.trial(trial.position, *total, &case.key, &results);
            }
            StudyEvent::NotRecorded(_) => {}
        }
    }

    /// A trial begins; all trials that are left should take `remaining`.
    fn begin(&mut self, position: u64, total: u64, key: &str, remaining: Duration) {
        self.began = Instant::now();
        if let Some(bar) = &self.bar {
            let factor = if self.expected > Duration::ZERO {
                self.taken.as_secs_f64() / self.expected.as_secs_f64()
            } else {
                1.0
            };
            bar.set_length(total);
            bar.set_position(position - 1);
            bar.set_message(format!(
                "{} left: {}",
                about(remaining.mul_f64(factor)),
                truncated(&distinct_key(key, &self.common), MAX_KEY_WIDTH)
            ));
        }
    }

    /// A trial has ended that should have taken `expected`.
    fn end(&mut self, expected: Duration) {
        self.expected += expected;
        self.taken += self.began.elapsed();
        if let Some(bar) = &self.bar {
            bar.inc(1);
        }
    }

    /// The line of a trial: its position, its case, its results.
    fn trial(&mut self, position: u64, total: u64, key: &str, results: &[String]) {
        let digits = total.to_string().len();
        let head = format!(
            "{position:>digits$}/{total} {:<width$}",
            distinct_key(key, &self.common),
            width = self.width
        );
        self.line(&within(
            &format!("{head}  {}", results.join(", ")),
            2 * digits + 2,
        ));
    }

    /// Removes the bar.
    pub fn close(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

/// The values of parameters that the keys of all cases have in common.
fn common(cases: &[Case]) -> Vec<String> {
    let mut keys = cases.iter().map(|case| case.key.split(' '));
    let first: Vec<String> = keys
        .next()
        .into_iter()
        .flatten()
        .filter(|word| word.contains('='))
        .map(str::to_owned)
        .collect();
    keys.fold(first, |mut shared, words| {
        let words: Vec<&str> = words.collect();
        shared.retain(|word| words.contains(&word.as_str()));
        shared
    })
}

/// The key of a case without the words that all cases share.
fn distinct_key(key: &str, common: &[String]) -> String {
    let words = key.split(' ');
    let rest: Vec<&str> = words
        .filter(|word| !common.iter().any(|shared| shared == word))
        .collect();
    if rest.is_empty() {
        key.to_owned()
    } else {
        rest.join(" ")
    }
}

/// A line, folded where it is too long, with later lines indented by `indent`.
#[must_use]
pub fn within(line: &str, indent: usize) -> String {
    if line.chars().count() <= text::WIDTH {
        line.to_owned()
    } else {
        fold(line, indent)
    }
}

/// An approximate time: `40 s`, `3 min`, `2 h 10 min`.
#[must_use]
pub fn about(time: Duration) -> String {
    let seconds = time.as_secs_f64().round() as u64;
    match seconds {
        0..100 => format!("{seconds} s"),
        100..5700 => format!("{} min", (seconds + 30) / 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// The metrics that the line of a trial shows.
fn shown_metrics(case: &Case) -> Vec<String> {
    let mut all = Vec::new();
    for flow in &case.flows {
        let name = &flow.name;
        match flow.kind {
            FlowKindFile::Tcp => all.push(format!("{name}.goodput")),
            FlowKindFile::Udp => all.extend([format!("{name}.goodput"), format!("{name}.loss")]),
            FlowKindFile::Rtt | FlowKindFile::RttUdp => all.push(format!("{name}.rtt")),
            FlowKindFile::File => all.push(format!("{name}.time")),
            FlowKindFile::Path => all.extend(path_metrics(flow)),
        }
    }
    all
}

/// The metrics that the line of a trial shows of a path.
fn path_metrics(flow: &FlowSpec) -> Vec<String> {
    let Some(scope) = flow.path.map(|path| path.measure) else {
        return Vec::new();
    };
    let mut shown = Vec::new();
    if scope.has_links() {
        shown.push("capacity");
    }
    if scope.has_ends() {
        shown.extend(["capacity_up", "capacity_down"]);
    }
    if scope.has_duplex() {
        shown.extend([
            "full_duplex",
            "half_duplex",
            "mismatch_near",
            "mismatch_far",
        ]);
    }
    shown
        .iter()
        .map(|metric| format!("{}.{metric}", flow.name))
        .collect()
}

/// The unit of a metric by its full name.
fn unit(case: &Case, metric: &str) -> Option<Unit> {
    let (subject, name) = metric.rsplit_once('.')?;
    let has_metric = |one: &&Metric| {
        let kind = case
            .flows
            .iter()
            .find(|flow| flow.name == subject)
            .map(|flow| flow.kind);
        match (one.subject, kind) {
            (MetricSubject::Total, _) => subject == "total",
            (MetricSubject::Link, _) => subject.starts_with("links."),
            (MetricSubject::Captured, Some(_))
            | (MetricSubject::Tcp, Some(FlowKindFile::Tcp))
            | (MetricSubject::Udp, Some(FlowKindFile::Udp))
            | (MetricSubject::Traffic, Some(FlowKindFile::Tcp | FlowKindFile::Udp))
            | (MetricSubject::Echo, Some(FlowKindFile::Rtt | FlowKindFile::RttUdp))
            | (MetricSubject::File, Some(FlowKindFile::File))
            | (MetricSubject::Path, Some(FlowKindFile::Path)) => true,
            _ => false,
        }
    };
    METRICS
        .iter()
        .filter(has_metric)
        .find(|one| one.name == name)
        .map(|one| one.unit)
}

/// The mean of a metric over the trials of a case so far: `tcp 94.1 Mbit/s ± 0.3 Mbit/s`.
fn metric_text(case: &Case, metric: &str, values: &[f64], confidence: f64) -> Option<String> {
    let unit = unit(case, metric)?;
    let (subject, name) = metric.rsplit_once('.')?;
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let value = mean_of_trials(values, confidence)
        .filter(|_| values.len() > 1)
        .map_or_else(
            || unit.show(mean),
            |estimate| EstimateInUnit::new(&estimate, unit).plus_minus(),
        );
    let noun = match name {
        "goodput" => String::new(),
        other => format!(" {other}"),
    };
    (!values.is_empty()).then(|| format!("{subject}{noun} {value}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rounded_to_a_unit_that_people_use() {
        for (seconds, expected) in [
            (0, "0 s"),
            (99, "99 s"),
            (100, "2 min"),
            (5699, "95 min"),
            (7800, "2 h 10 min"),
        ] {
            assert_eq!(about(Duration::from_secs(seconds)), expected);
        }
    }

    #[test]
    fn long_keys_are_truncated() {
        assert_eq!(truncated("congestion=bbr", 34), "congestion=bbr");
        assert_eq!(truncated("congestion=bbr", 5), "cong…");
    }
}
