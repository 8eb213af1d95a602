//! The progress of the transfers on a terminal: a bar with the rate and the time that is left.

use super::time_left::TimeLeft;
use caudal_core::transfer::{TransferCell, TransferProgress};
use caudal_core::units::{ByteCount, format_duration};
use caudal_measure::TransferPlace;
use caudal_views::text;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// The time without a byte after which the wait is explained, ns: the digest of a large content precedes its first byte.
const DIGEST_SHOWN_NS: u64 = 1_000_000_000;

/// The progress of the transfers on a terminal.
pub(super) struct FileProgress {
    /// `None` where it is not shown.
    bar: Option<ProgressBar>,
    time: TimeLeft,
    /// The transfers that are over.
    done: u64,
    began: Instant,
    /// The time at which the first began.
    first: Instant,
    /// The name of the transfer that is under way.
    name: String,
    /// The transfers that are left of each cell, the one under way included.
    left: Vec<u32>,
}

impl FileProgress {
    /// The progress of transfers of these cells.
    pub(super) fn new(cells: &[TransferCell], is_quiet: bool) -> Self {
        let is_shown = !is_quiet && std::io::stderr().is_terminal();
        let sizes = cells.iter().map(|cell| {
            let size = cell.size_bytes.map(ByteCount::get);
            size.unwrap_or(0)
        });
        Self {
            bar: is_shown.then(|| {
                let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr());
                let style = ProgressStyle::with_template("[{bar:20}] {wide_msg}");
                bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
                bar
            }),
            time: TimeLeft::new(sizes.collect()),
            done: 0,
            began: Instant::now(),
            first: Instant::now(),
            name: String::new(),
            left: Vec::new(),
        }
    }

    /// A transfer begins; `left` counts those that are left of each cell, with this one.
    pub(super) fn begin(&mut self, cell: &TransferCell, place: TransferPlace, left: &[u32]) {
        self.began = Instant::now();
        self.left = left.to_vec();
        let warm_up = match place {
            TransferPlace::WarmUp => ", discarded",
            TransferPlace::Block(_) => "",
        };
        self.name = format!("{} {}{warm_up}", cell.content(), cell.name());
        self.show(0.0, "");
    }

    /// The transfer under way has come so far.
    pub(super) fn advance(&self, progress: TransferProgress) {
        let share = progress
            .total_bytes
            .filter(|total| *total > 0)
            .map_or(0.0, |total| progress.bytes as f64 / total as f64);
        let rate = match progress.at_ns {
            0 => String::new(),
            at_ns if progress.bytes == 0 && at_ns > DIGEST_SHOWN_NS => {
                ", computing the digest".to_owned()
            }
            at_ns => format!(
                ", {}",
                text::bits(progress.bytes as f64 * 8e9 / at_ns as f64)
            ),
        };
        self.show(share, &rate);
    }

    /// The transfer of this cell is over.
    pub(super) fn end(&mut self, cell: usize) {
        self.time.took(cell, self.began.elapsed().as_secs_f64());
        self.done += 1;
    }

    /// Does something while the bar is not shown.
    pub(super) fn suspend(&self, action: impl FnOnce()) {
        match &self.bar {
            Some(bar) => bar.suspend(action),
            None => action(),
        }
    }

    /// Removes the bar.
    pub(super) fn close(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    /// Shows the bar with a transfer under way of which this share is done.
    fn show(&self, share: f64, rate: &str) {
        let Some(bar) = &self.bar else { return };
        let left: u64 = self.left.iter().map(|left| u64::from(*left)).sum();
        let total = self.done + left;
        // In thousandths of a transfer, so that a single one has a bar as well.
        bar.set_length(total * 1000);
        bar.set_position(self.done * 1000 + (share * 1000.0) as u64);
        let remaining = match self.time.of(&self.left) {
            Some(seconds) => about(seconds),
            None if share > 0.0 => about(self.began.elapsed().as_secs_f64() * (1.0 / share - 1.0)),
            None => String::new(),
        };
        let elapsed = format_duration(Duration::from_secs(self.first.elapsed().as_secs()));
        bar.set_message(format!(
            "{}/{total}, {elapsed}{remaining}: {}{rate}",
            (self.done + 1).min(total),
            text::truncated(&self.name, 28)
        ));
    }
}

/// A time that is left, to the second.
fn about(seconds: f64) -> String {
    let whole = Duration::try_from_secs_f64(seconds.ceil()).unwrap_or(Duration::ZERO);
    format!(", {} left", format_duration(whole))
}
