//! The table of round-trip times by message size, in µs.

use crate::cells::level;
use caudal_core::echo::{ReplySummary, SizeSummary};

/// Digits a number of the table may take.
const CELL: usize = 6;

/// The header of the table by size, in µs.
#[must_use]
pub fn header(confidence: f64) -> String {
    let interval = format!("±{}%", level(confidence));
    cells(
        "size B",
        &[
            "first", "mean", &interval, "sd", "min", "p50", "p90", "p99", "p99.9", "max",
        ],
    )
}

/// One row of the table by size: `name` is a size or a client.
#[must_use]
pub fn row(name: &str, replies: &ReplySummary) -> String {
    let first = replies.first_us;
    let Some(rtt) = &replies.rtt_us else {
        return cells(
            name,
            &[
                &cell(first),
                "no",
                "reply",
                "in",
                "time",
                "",
                "",
                "",
                "",
                "",
            ],
        );
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
    cells(name, &values.each_ref().map(String::as_str))
}

/// The rows of one size: all clients together, and each by itself where that is asked for.
#[must_use]
pub fn rows(size: &SizeSummary, each_client: bool) -> Vec<String> {
    let mut lines = vec![row(&size.size_bytes.to_string(), &size.pooled)];
    if each_client && size.clients.len() > 1 {
        for client in &size.clients {
            lines.push(row(&format!("#{}", client.client), &client.replies));
        }
    }
    lines
}

fn cells(name: &str, values: &[&str; 10]) -> String {
    let mut line = format!("{name:>8}");
    for value in values {
        line += &format!(" {value:>CELL$}");
    }
    line.trim_end().to_owned()
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
