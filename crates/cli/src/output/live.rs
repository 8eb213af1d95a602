//! The table as it grows: lines in a pipe, and in a terminal a region below them that is rewritten.

use crate::output::sink::Sink;
use crate::output::text;
use caudal_core::interval::Row;
use caudal_core::plan::{Ticks, Transport};
use std::time::Duration;

/// Flows shown one by one in the rewritten region at most.
const MOST_FLOWS: usize = 12;
/// Tests shorter than this show no progress bar.
const BAR_FROM: Duration = Duration::from_secs(3);

/// A table on its way to a sink.
#[derive(Debug)]
pub struct Live {
    transport: Transport,
    verbose: bool,
    quiet: bool,
    rewrites: bool,
    region: usize,
    total: Option<Duration>,
}

impl Live {
    /// A table for a test; its header is written with the first row.
    #[must_use]
    pub fn new(
        sink: &Sink,
        transport: Transport,
        ticks: &Ticks,
        verbose: bool,
        quiet: bool,
    ) -> Self {
        Self {
            transport,
            verbose,
            quiet,
            rewrites: sink.is_terminal(),
            region: 0,
            total: ticks.total(),
        }
    }

    /// Writes the header.
    pub fn begin(&mut self, sink: &mut Sink) {
        if !self.quiet {
            sink.line(&text::header(self.transport, self.verbose));
        }
    }

    /// Adds a row.
    pub fn row(&mut self, sink: &mut Sink, row: &Row) {
        if self.quiet {
            return;
        }
        let several = row.flows.len() > 1;
        let mut lines = String::new();
        if self.rewrites {
            lines += &self.erased();
            // History keeps the sums; each flow's latest values are below, rewritten.
            for line in text::row_lines(row, self.verbose, !several) {
                lines += &line;
                lines.push('\n');
            }
            let mut region = Vec::new();
            if several {
                region.extend(text::row_lines(row, self.verbose, true));
                region.retain(|line| !line.contains(" sum "));
                if region.len() > MOST_FLOWS {
                    let more = region.len() - MOST_FLOWS;
                    region.truncate(MOST_FLOWS);
                    region.push(format!("{:>15}  and {more} flows more", ""));
                }
            }
            region.extend(self.bar(row));
            for line in &region {
                // Dimmed, so that what is history and what will be rewritten can be told apart.
                lines += &format!("\x1b[2m{line}\x1b[0m\n");
            }
            self.region = region.len();
        } else {
            for line in text::row_lines(row, self.verbose, true) {
                lines += &line;
                lines.push('\n');
            }
        }
        sink.write(&lines);
    }

    /// Takes the rewritten region away again.
    pub fn end(&mut self, sink: &mut Sink) {
        if self.rewrites && !self.quiet {
            sink.write(&self.erased());
            self.region = 0;
        }
    }

    fn erased(&self) -> String {
        if self.region == 0 {
            String::new()
        } else {
            format!("\x1b[{}A\x1b[J", self.region)
        }
    }

    fn bar(&self, row: &Row) -> Option<String> {
        let total = self.total.filter(|total| *total >= BAR_FROM)?.as_secs_f64();
        let at = row
            .flows
            .first()
            .map(|(_, interval)| interval.end_s)?
            .min(total);
        let width = 40_usize;
        let full = (at / total * width as f64).round() as usize;
        Some(format!(
            "{:>15}  [{}{}] {:.0} s left",
            "",
            "#".repeat(full.min(width)),
            ".".repeat(width.saturating_sub(full)),
            (total - at).max(0.0)
        ))
    }
}
