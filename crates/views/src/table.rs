//! The interval table as it grows: lines in a pipe, and in a terminal a region below them that is rewritten.

use super::interval_table::{FlowRows, RowForm, header, row_lines};
use super::sink::{TextSink, erase};
use caudal_core::interval::IntervalRow;
use caudal_core::plan::{Plan, Transport};
use std::time::Duration;

/// Maximum number of flows shown one by one in the rewritten region.
const MAX_FLOWS_SHOWN: usize = 12;
/// Tests shorter than this show no progress bar.
const MIN_BAR_TIME: Duration = Duration::from_secs(3);
/// Maximum width of the progress bar in columns.
const MAX_BAR: usize = 40;
/// The columns beside the bar: the indentation of the rows, brackets and the time that is left.
const BESIDE_BAR: usize = 30;

/// The interval table of one run on its way to a sink.
#[derive(Debug)]
pub struct IntervalTable {
    transport: Transport,
    form: RowForm,
    rewrites: bool,
    /// Lines of the rewritten region.
    region: usize,
    total: Option<Duration>,
    has_header: bool,
}

impl IntervalTable {
    /// The table for a plan, on this sink; its header is written with the first row.
    #[must_use]
    pub fn new(sink: &dyn TextSink, plan: &Plan, form: RowForm) -> Self {
        Self {
            transport: plan.transport(),
            form,
            rewrites: sink.is_terminal(),
            region: 0,
            total: plan.bulk().and_then(|bulk| bulk.ticks().total()),
            has_header: false,
        }
    }

    /// Adds a row.
    pub fn row(&mut self, sink: &mut dyn TextSink, row: &IntervalRow) {
        if !std::mem::replace(&mut self.has_header, true) {
            sink.line(&header(self.transport, self.form));
        }
        let mut lines = String::new();
        if self.rewrites {
            lines += &erase(self.region);
            // The lines that stay are sums; each flow's latest values are below, rewritten.
            let flows = if row.flows.len() > 1 {
                FlowRows::SumOnly
            } else {
                FlowRows::Each
            };
            for line in row_lines(row, self.form, flows) {
                lines += &line;
                lines.push('\n');
            }
            let region = self.region_lines(row);
            for line in &region {
                // Dimmed, to distinguish what will be rewritten from what stays.
                lines += &format!("\x1b[2m{line}\x1b[0m\n");
            }
            self.region = region.len();
        } else {
            for line in row_lines(row, self.form, FlowRows::Each) {
                lines += &line;
                lines.push('\n');
            }
        }
        sink.write_with_controls(&lines);
    }

    /// Removes the rewritten region.
    pub fn end(&mut self, sink: &mut dyn TextSink) {
        if self.rewrites {
            sink.write_with_controls(&erase(self.region));
            self.region = 0;
        }
    }

    fn region_lines(&self, row: &IntervalRow) -> Vec<String> {
        let mut region = Vec::new();
        if row.flows.len() > 1 {
            region.extend(row_lines(row, self.form, FlowRows::Each));
            region.retain(|line| !line.contains(" sum "));
            if region.len() > MAX_FLOWS_SHOWN {
                let more = region.len() - MAX_FLOWS_SHOWN;
                region.truncate(MAX_FLOWS_SHOWN);
                region.push(format!("{:>15}  and {more} more flows", ""));
            }
        }
        region.extend(self.bar(row));
        region
    }

    fn bar(&self, row: &IntervalRow) -> Option<String> {
        let total = self
            .total
            .filter(|total| *total >= MIN_BAR_TIME)?
            .as_secs_f64();
        let elapsed = row.flows.first()?.interval.end_s.min(total);
        let columns = self.form.width.columns().unwrap_or(usize::MAX);
        let bar = columns.saturating_sub(BESIDE_BAR).min(MAX_BAR);
        let full = ((elapsed / total * bar as f64).round() as usize).min(bar);
        Some(format!(
            "{:>15}  [{}{}] {:.0} s left",
            "",
            "#".repeat(full),
            ".".repeat(bar - full),
            (total - elapsed).max(0.0)
        ))
    }
}
