//! The table of round-trip times by message size, in µs.

use crate::cells::level;
use crate::fitted_row::{FittedCell, fitted_row};
use crate::width::LineWidth;
use caudal_core::echo::{ReplySummary, SizeSummary};

/// Digits a number of the table may take.
const CELL: usize = 6;

/// Which columns are left out first where the terminal is narrow: those of the largest rank.
const RANKS: [u8; 10] = [7, 0, 5, 8, 4, 1, 6, 2, 9, 3];

/// The header of the table by size, in µs.
#[must_use]
pub fn header(confidence: f64, width: LineWidth) -> String {
    let interval = format!("±{}%", level(confidence));
    cells(
        "size B",
        &[
            "first", "mean", &interval, "sd", "min", "p50", "p90", "p99", "p99.9", "max",
        ],
        width,
    )
}

/// One row of the table by size: `name` is a size or a client.
#[must_use]
pub fn row(name: &str, replies: &ReplySummary, width: LineWidth) -> String {
    let first = replies.first_us;
    let Some(rtt) = &replies.rtt_us else {
        return format!("{name:>8} {:>CELL$}  no reply in time", cell(first));
    };
    // The lower end stops at zero; the upper one does not.
    let half = (rtt.confidence > 0.0).then_some(rtt.mean_high - rtt.mean);
    let values = [
        first,
        Some(rtt.mean),
        half,
        rtt.sd,
        Some(rtt.min),
        Some(rtt.p50),
        rtt.p90,
        rtt.p99,
        rtt.p99_9,
        Some(rtt.max),
    ];
    let values = values.map(cell);
    cells(name, &values.each_ref().map(String::as_str), width)
}

/// The rows of one size: all clients together, and each by itself where that is asked for.
#[must_use]
pub fn rows(size: &SizeSummary, each_client: bool, width: LineWidth) -> Vec<String> {
    let mut lines = vec![row(&size.size_bytes.to_string(), &size.pooled, width)];
    if each_client && size.clients.len() > 1 {
        for client in &size.clients {
            lines.push(row(&format!("#{}", client.client), &client.replies, width));
        }
    }
    lines
}

fn cells(name: &str, values: &[&str; 10], width: LineWidth) -> String {
    let values = values.iter().zip(RANKS);
    let values = values.map(|(value, rank)| FittedCell::new(*value, CELL + 1, rank));
    let name = FittedCell::new(name, 8, 0);
    let cells: Vec<FittedCell> = std::iter::once(name).chain(values).collect();
    fitted_row(&cells, width).trim_end().to_owned()
}

/// A time in µs in at most [`CELL`] characters; "–" where there are too few samples for one.
fn cell(us: Option<f64>) -> String {
    match us {
        None => "–".to_owned(),
        Some(us) if us < 99.995 => format!("{us:.2}"),
        Some(us) if us < 999.95 => format!("{us:.1}"),
        Some(us) if us < 999_999.5 => format!("{us:.0}"),
        Some(us) if us < 99_949_999.5 => format!("{:.1}s", us / 1e6),
        Some(us) => format!("{:.0}s", us / 1e6),
    }
}
