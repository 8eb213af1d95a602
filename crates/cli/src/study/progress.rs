//! What is shown while a study runs: a line for each trial, and on a terminal how long it still takes.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use caudal_core::quantity::Unit;
use caudal_experiment::FlowKindFile;
use caudal_experiment::{Case, METRICS, Metric, MetricSubject};
use caudal_stats::mean_interval;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output::sink::Sink;
use crate::output::text;

/// The widest a case's key is shown.
const WIDEST: usize = 34;

/// What is shown while a study runs.
pub struct Progress {
    bar: Option<ProgressBar>,
    out: Sink,
    /// How wide keys are shown.
    width: usize,
    /// The words of keys that all cases share.
    common: Vec<String>,
    began: Instant,
    /// What trials were expected to take so far, and took.
    expected: Duration,
    taken: Duration,
}

impl Progress {
    /// Nothing yet; `shows` whether lines are printed.
    #[must_use]
    pub fn new(cases: &[Case], shows: bool) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("[{bar:30}] {pos}/{len} trials, {msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        let common = common(cases);
        let names = cases.iter().map(|case| told_apart(&case.key, &common));
        let longest = names.map(|name| name.chars().count()).max();
        Self {
            bar,
            out: if shows {
                Sink::stdout()
            } else {
                Sink::nowhere()
            },
            width: longest.unwrap_or(0).min(WIDEST),
            common,
            began: Instant::now(),
            expected: Duration::ZERO,
            taken: Duration::ZERO,
        }
    }

    /// A line.
    pub fn line(&mut self, line: &str) {
        let out = &mut self.out;
        match &self.bar {
            Some(bar) => bar.suspend(|| out.line(line)),
            None => out.line(line),
        }
    }

    /// A trial begins: its number, of how many, and what all that are left should take.
    pub fn begin(&mut self, number: u64, of: u64, key: &str, left: Duration) {
        self.began = Instant::now();
        if let Some(bar) = &self.bar {
            let factor = if self.expected > Duration::ZERO {
                self.taken.as_secs_f64() / self.expected.as_secs_f64()
            } else {
                1.0
            };
            bar.set_length(of);
            bar.set_position(number - 1);
            bar.set_message(format!(
                "{} left: {}",
                about(left.mul_f64(factor)),
                cut(&told_apart(key, &self.common), WIDEST)
            ));
        }
    }

    /// A trial has ended that should have taken `expected`.
    pub fn end(&mut self, expected: Duration) {
        self.expected += expected;
        self.taken += self.began.elapsed();
        if let Some(bar) = &self.bar {
            bar.inc(1);
        }
    }

    /// The line of a trial: its number, its case, what it came to.
    pub fn trial(&mut self, number: u64, of: u64, key: &str, said: &[String]) {
        let digits = of.to_string().len();
        let head = format!(
            "{number:>digits$}/{of} {:<width$}",
            told_apart(key, &self.common),
            width = self.width
        );
        self.line(&within(
            &format!("{head}  {}", said.join(", ")),
            2 * digits + 2,
        ));
    }

    /// Takes the bar away.
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

/// What tells a case from the others: its key without what all have in common.
fn told_apart(key: &str, common: &[String]) -> String {
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

/// A line as it stands where it fits, else folded, later lines indented by `indent`.
#[must_use]
pub fn within(line: &str, indent: usize) -> String {
    if line.chars().count() <= text::WIDTH {
        line.to_owned()
    } else {
        text::fold(line, indent)
    }
}

/// At most `width` characters of a text.
fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width - 1).collect();
    format!("{kept}…")
}

/// A time as people say it: `40 s`, `3 min`, `2 h 10 min`.
#[must_use]
pub fn about(time: Duration) -> String {
    let seconds = time.as_secs_f64().round() as u64;
    match seconds {
        0..100 => format!("{seconds} s"),
        100..5700 => format!("{} min", (seconds + 30) / 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// The metrics that a line shows of a case.
#[must_use]
pub fn shown(case: &Case) -> Vec<String> {
    let mut all = Vec::new();
    for flow in &case.flows {
        let name = &flow.name;
        match flow.kind {
            FlowKindFile::Tcp => all.push(format!("{name}.goodput")),
            FlowKindFile::Udp => all.extend([format!("{name}.goodput"), format!("{name}.loss")]),
            FlowKindFile::Rtt | FlowKindFile::RttUdp => all.push(format!("{name}.rtt")),
        }
    }
    all
}

/// The unit of a metric by its full name.
#[must_use]
pub fn unit(case: &Case, metric: &str) -> Option<Unit> {
    let (of, name) = metric.rsplit_once('.')?;
    let on = |one: &&Metric| {
        let kind = case
            .flows
            .iter()
            .find(|flow| flow.name == of)
            .map(|flow| flow.kind);
        match (one.subject, kind) {
            (MetricSubject::Total, _) => of == "total",
            (MetricSubject::Link, _) => of.starts_with("links."),
            (MetricSubject::Tcp, Some(FlowKindFile::Tcp))
            | (MetricSubject::Udp, Some(FlowKindFile::Udp))
            | (MetricSubject::Traffic, Some(FlowKindFile::Tcp | FlowKindFile::Udp))
            | (MetricSubject::Echo, Some(FlowKindFile::Rtt | FlowKindFile::RttUdp)) => true,
            _ => false,
        }
    };
    METRICS
        .iter()
        .filter(on)
        .find(|one| one.name == name)
        .map(|one| one.unit)
}

/// A metric over the trials of a case so far, in words: `tcp 94.1 Mbit/s ± 0.3 Mbit/s`.
#[must_use]
pub fn words(case: &Case, metric: &str, values: &[f64], confidence: f64) -> Option<String> {
    let unit = unit(case, metric)?;
    let (of, name) = metric.rsplit_once('.')?;
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let value = mean_interval(values, confidence)
        .filter(|_| values.len() > 1)
        .map_or_else(
            || unit.show(mean),
            |estimate| format!("{} ± {}", unit.show(mean), unit.show(estimate.half_width())),
        );
    let noun = match name {
        "goodput" => String::new(),
        other => format!(" {other}"),
    };
    (!values.is_empty()).then(|| format!("{of}{noun} {value}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_said_as_people_say_them() {
        for (seconds, said) in [
            (0, "0 s"),
            (99, "99 s"),
            (100, "2 min"),
            (5699, "95 min"),
            (7800, "2 h 10 min"),
        ] {
            assert_eq!(about(Duration::from_secs(seconds)), said);
        }
    }

    #[test]
    fn long_keys_are_cut() {
        assert_eq!(cut("congestion=bbr", 34), "congestion=bbr");
        assert_eq!(cut("congestion=bbr", 5), "cong…");
    }
}
