//! Where the time of each cell went, and what it cost.

use super::cell_table::by_content;
use crate::cells::share;
use crate::text::truncated;
use caudal_core::quantity::Unit;
use caudal_core::transfer::{FileReport, TransferCellReport};

/// The width of the first column.
const NAME: usize = 20;

/// Where the mean time of each cell went, then what a transfer cost on average.
pub(super) fn lines(report: &FileReport) -> Vec<String> {
    let mut lines = Vec::new();
    for (content, cells) in by_content(report) {
        let title = truncated(&content, NAME);
        lines.push(format!(
            "{title:<NAME$} {:>11} {:>11} {:>11} {:>11} {:>11}",
            "handshake", "transfer", "write", "fsync", "verify"
        ));
        lines.extend(cells.iter().map(|cell| times(cell)));
        lines.push(format!(
            "{title:<NAME$} {:>10} {:>8} {:>8} {:>8} {:>10} {:>10}",
            "datagrams", "resent", "loss", "drops", "send ns/B", "recv ns/B"
        ));
        lines.extend(cells.iter().map(|cell| costs(cell)));
    }
    lines
}

fn times(cell: &TransferCellReport) -> String {
    let time = |ns: Option<u64>| shown(ns, |ns| Unit::Seconds.show(ns as f64 / 1e9));
    let times = &cell.times;
    format!(
        "{:<NAME$} {:>11} {:>11} {:>11} {:>11} {:>11}",
        cell.cell.name(),
        time((cell.n > 0).then_some(times.handshake_ns)),
        time(times.transfer_ns),
        time(times.write_ns),
        time(times.sync_ns),
        time(times.verify_ns),
    )
}

fn costs(cell: &TransferCellReport) -> String {
    let count = |count: Option<f64>| shown(count, |count| format!("{count:.0}"));
    let of_byte = |ns: Option<f64>| shown(ns, |ns| format!("{ns:.3}"));
    format!(
        "{:<NAME$} {:>10} {:>8} {:>8} {:>8} {:>10} {:>10}",
        cell.cell.name(),
        count(cell.datagrams),
        count(cell.retransmitted),
        shown(cell.loss, |loss| share(Some(loss))),
        shown(cell.socket_drops, |drops| drops.to_string()),
        of_byte(cell.sender_cpu_ns_per_byte),
        of_byte(cell.receiver_cpu_ns_per_byte),
    )
}

fn shown<T>(value: Option<T>, show: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| "–".to_owned(), show)
}

#[cfg(test)]
mod tests {
    use super::super::sample::campaign;
    use super::*;

    #[test]
    fn each_cell_has_the_parts_of_its_time_and_its_costs() {
        let lines = lines(&campaign(6));
        assert_eq!(
            lines[..6].join("\n"),
            "\
1 MB                   handshake    transfer       write       fsync      verify
tcp                       120 µs    9.780 ms      100 µs           –    1.500 ms
rbt 1400                  120 µs    4.780 ms      100 µs           –    1.500 ms
1 MB                  datagrams   resent     loss    drops  send ns/B  recv ns/B
tcp                           –        0        –        –      0.214      0.341
rbt 1400                    714        0      0 %        0      0.214      0.341"
        );
        assert!(lines.iter().all(|line| line.chars().count() <= 80));
    }
}
