//! One transfer as text: its goodput first, then where the time went and what held it back.

use crate::emphasis::EmphasizedLine;
use crate::interval_table::Detail;
use crate::text::{self, fold};
use crate::text_form::TextForm;
use caudal_core::bottleneck::{Bottleneck, LimitedBy};
use caudal_core::quantity::Unit;
use caudal_core::transfer::{TransferCell, TransferRun, TransferSummary, TransferTimes};

/// Minimum size of a transfer whose cost and limit mean something, bytes: less is over within the first round trips.
const MIN_EXPLAINED: u64 = 64 << 10;

/// The result of a transfer in one line.
#[must_use]
pub fn headline(cell: &TransferCell, result: &TransferSummary) -> EmphasizedLine {
    let before = format!("{}: ", cell.name());
    let Some(time_s) = result.time_s() else {
        let why = result.failure.as_ref().map_or_else(
            || "its content was not verified".to_owned(),
            ToString::to_string,
        );
        return EmphasizedLine {
            before,
            bold: "failed".to_owned(),
            after: format!("; {}: {why}", cell.content()),
        };
    };
    let time = Unit::Seconds.show(time_s);
    let (size, file) = match &cell.file {
        Some(file) => (text::bytes(result.bytes), format!("{file}, ")),
        None => (text::bytes(result.bytes), String::new()),
    };
    let resumed = match result.resumed_bytes {
        0 => String::new(),
        bytes => format!(" after {} from before", text::bytes(bytes)),
    };
    let (bold, time) = match result.goodput_bps {
        Some(bps) if bps > 0.0 => (text::bits(bps), format!(" in {time}")),
        _ => (time, String::new()),
    };
    EmphasizedLine {
        before,
        bold,
        after: format!("; {file}{size}{resumed}{time}, digest verified"),
    }
}

/// The lines that explain the result of a transfer.
pub(super) fn explanation(run: &TransferRun, form: TextForm) -> Vec<String> {
    let result = &run.result;
    let is_small = result.bytes < MIN_EXPLAINED && form.detail == Detail::Usual;
    if result.time_s().is_none() || is_small {
        return Vec::new();
    }
    let costs = costs(result);
    let lines = [
        Some(format!("  times: {}", times(&result.times))),
        (!costs.is_empty()).then(|| format!("  cost: {}", costs.join(", "))),
        run.limited_by
            .as_ref()
            .map(|limit| limit_line(limit, form.detail)),
    ];
    lines
        .into_iter()
        .flatten()
        .map(|line| fold(&line, 4, form.width))
        .collect()
}

fn times(times: &TransferTimes) -> String {
    let each = times.parts();
    let each = each.map(|(name, s)| format!("{name} {}", Unit::Seconds.show(s)));
    each.collect::<Vec<String>>().join(", ")
}

/// What was sent again or lost, and the processor time.
fn costs(result: &TransferSummary) -> Vec<String> {
    let plural = |count: u64, one: &str| match count {
        1 => format!("1 {one}"),
        count => format!("{count} {one}s"),
    };
    let unit = if result.datagrams.is_some() {
        "datagram"
    } else {
        "segment"
    };
    let mut costs = Vec::new();
    costs.extend(result.datagrams.map(|count| plural(count, "datagram")));
    costs.extend(result.lost.map(|lost| format!("{lost} lost")));
    costs.extend(
        result
            .retransmitted
            .map(|count| format!("{} sent again", plural(count, unit))),
    );
    costs.extend(
        result
            .socket_drops
            .filter(|drops| *drops > 0)
            .map(|drops| format!("{drops} dropped by the receiving socket")),
    );
    let of_byte = |ns: Option<f64>, end: &str| ns.map(|ns| format!("{ns:.2} ns/B {end}"));
    let sender = of_byte(result.sender_cpu_ns_per_byte, "CPU of the sender");
    let receiver = of_byte(result.receiver_cpu_ns_per_byte, "of the receiver");
    costs.extend(sender);
    costs.extend(receiver);
    costs
}

fn limit_line(limit: &LimitedBy, detail: Detail) -> String {
    let name = limit.name();
    if detail == Detail::Every || limit.limit == Bottleneck::Unknown {
        format!("  limited by: {name}: {}", limit.evidence)
    } else {
        format!("  limited by: {name}")
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{rbt, run, tcp};
    use super::*;
    use crate::width::LineWidth;

    #[test]
    fn the_goodput_comes_first() {
        let form = TextForm {
            quiet: false,
            detail: Detail::Usual,
            size_columns: false,
            width: LineWidth::UNLIMITED,
        };
        let run = run(1, 1, 1_000_000, 5000.0);
        let line = headline(&rbt(1_000_000), &run.result);
        assert_eq!(
            line.to_string(),
            "rbt 1400: 1.600 Gbit/s; 1 MB in 5 ms, digest verified"
        );
        assert_eq!(line.bold, "1.600 Gbit/s");
        assert!(
            line.with_emphasis(LineWidth::UNLIMITED)
                .contains("\x1b[1m1.600 Gbit/s\x1b[0m")
        );
        assert_eq!(
            explanation(&run, form)
                .join("\n")
                .replace("\n    ", " "),
            "  times: handshake 120 µs, transfer 4.780 ms, write 100 µs, verify 1.500 ms
  cost: 714 datagrams, 0 lost, 0 datagrams sent again, 0.21 ns/B CPU of the sender, 0.34 ns/B of the receiver"
        );
    }

    #[test]
    fn a_file_has_its_name_and_what_was_there_before() {
        let mut run = run(0, 1, 1_000_000, 5000.0);
        run.result.resumed_bytes = 2_000_000;
        let cell = TransferCell {
            file: Some("disk.img".into()),
            ..tcp(3_000_000)
        };
        assert_eq!(
            headline(&cell, &run.result).to_string(),
            "tcp: 1.600 Gbit/s; disk.img, 1 MB after 2 MB from before in 5 ms, digest verified"
        );
    }

    #[test]
    fn an_empty_file_has_a_time_and_no_goodput() {
        let mut run = run(0, 1, 0, 5000.0);
        run.result.goodput_bps = Some(0.0);
        let line = headline(&tcp(0), &run.result).to_string();
        assert_eq!(line, "tcp: 5 ms; 0 B, digest verified");
    }

    #[test]
    fn a_failure_is_no_result() {
        let failed = TransferSummary {
            failure: Some("the digest differs".into()),
            ..TransferSummary::default()
        };
        let line = headline(&tcp(1_000_000), &failed).to_string();
        assert_eq!(line, "tcp: failed; 1 MB: the digest differs");
    }
}
