//! The progress of a study: a line for each trial, and on a terminal the time that is left.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use caudal_experiment::Case;
use caudal_study::StudyEvent;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output::line_width;
use crate::output::sink::Sink;
use caudal_views::study::TrialLines;
use caudal_views::text::about;

/// The progress of a study.
pub struct StudyProgress {
    bar: Option<ProgressBar>,
    out: Sink,
    lines: TrialLines,
    began: Instant,
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
        Self {
            bar,
            out: if is_shown {
                Sink::stdout()
            } else {
                Sink::nowhere()
            },
            lines: TrialLines::new(cases, confidence),
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
                let results = self.lines.results((*case, *trial), values, *is_repeated);
                let position = (trial.position, *total);
                let line = self.lines.line(position, &case.key, &results, line_width());
                self.line(&line);
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
                self.lines.short_key(key)
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

    /// Removes the bar.
    pub fn close(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}
