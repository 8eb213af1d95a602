//! The progress of a round-trip test of several sizes in a terminal: a line that is rewritten.

use super::sink::TextSink;
use caudal_core::event::SizeProgress;
use caudal_core::plan::{EchoPlan, EchoSchedule};
use std::time::Duration;

/// Width of the bar in columns.
const BAR: u64 = 30;

/// The progress of a round-trip test of several sizes.
#[derive(Debug)]
pub struct Progress {
    sizes: u64,
    clients: u64,
    /// Messages of each size.
    count: u64,
    /// The time between messages, where there is a schedule.
    period: Option<Duration>,
    /// Sizes that are complete, times clients.
    complete: u64,
}

impl Progress {
    /// The progress of a plan that has just begun.
    #[must_use]
    pub const fn new(plan: &EchoPlan) -> Self {
        Self {
            sizes: plan.sizes.len() as u64,
            clients: plan.clients as u64,
            count: plan.count,
            period: match plan.schedule {
                EchoSchedule::StopAndWait => None,
                EchoSchedule::Every { period, .. } => Some(period),
            },
            complete: 0,
        }
    }

    /// Shows that one more size is complete for one client.
    pub fn advance(&mut self, sink: &mut dyn TextSink, progress: &SizeProgress) {
        self.complete += 1;
        let line = self.line(progress);
        sink.write_with_controls(&format!("\r\x1b[K\x1b[2m{line}\x1b[0m"));
    }

    /// The size that is complete, the part that is done, and the time the others take at least: a larger message takes no
    /// less than the one before.
    fn line(&self, progress: &SizeProgress) -> String {
        let total = (self.sizes * self.clients).max(1);
        let full = (self.complete * BAR / total).min(BAR) as usize;
        let bar = format!("{}{}", "#".repeat(full), ".".repeat(BAR as usize - full));
        let done = self.complete / self.clients.max(1);
        let message_s = match self.period {
            Some(period) => period.as_secs_f64(),
            None => progress.mean_us / 1e6,
        };
        let left_s = message_s * self.count as f64 * (self.sizes - done.min(self.sizes)) as f64;
        format!(
            "{:>8} B  [{bar}] {done} of {} sizes, at least {left_s:.0} s left",
            progress.size_bytes, self.sizes
        )
    }

    /// Removes the line.
    pub fn end(&self, sink: &mut dyn TextSink) {
        if self.complete > 0 {
            sink.write_with_controls("\r\x1b[K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::plan::Transport;

    #[test]
    fn the_line_names_what_is_done_and_the_time_that_is_left() {
        let plan = EchoPlan {
            transport: Transport::Tcp,
            clients: 2,
            sizes: vec![1, 2, 4, 8],
            count: 1000,
            schedule: EchoSchedule::StopAndWait,
            timeout: Duration::from_secs(1),
            no_delay: true,
            congestion: None,
            dscp: None,
            window: None,
        };
        let mut progress = Progress::new(&plan);
        progress.complete = 4;
        let line = progress.line(&SizeProgress {
            client: 1,
            size_bytes: 2,
            replies: 1000,
            mean_us: 1500.0,
        });
        assert!(line.ends_with("2 of 4 sizes, at least 3 s left"), "{line}");
        assert!(line.contains("[###############...............]"), "{line}");
        assert!(line.chars().count() <= 80, "{line}");
    }
}
