//! A path as comma-separated values.

use caudal_core::path::{
    HopAnswering, PathBetweenEnds, PathDirection, PathHop, PathLink, PathReport,
};
use caudal_core::plan::Direction;
use caudal_core::units::BitRate;
use caudal_core::window::WindowReport;
use serde::Serialize;

/// The columns, a row for each hop with the link that leads to it; empty where a quantity is absent.
pub const CSV_COLUMNS: [&str; 22] = [
    "ttl",
    "address",
    "name",
    "answering",
    "other_addresses",
    "probes",
    "unanswered",
    "loss",
    "answer_interval_ms",
    "rtt_min_ms",
    "rtt_mean_ms",
    "rtt_p50_ms",
    "rtt_max_ms",
    "return_hops",
    "link_from_ttl",
    "link_class",
    "link_confidence",
    "capacity_bps",
    "capacity_low_bps",
    "capacity_high_bps",
    "at_least_bps",
    "narrow",
];

/// The columns of the second table, a row for each direction between both ends; empty where a quantity is absent.
pub const DIRECTION_COLUMNS: [&str; 17] = [
    "direction",
    "capacity_bps",
    "capacity_low_bps",
    "capacity_high_bps",
    "confidence",
    "shaped_bps",
    "bucket_bytes",
    "available_low_bps",
    "available_high_bps",
    "rtt_min_ms",
    "delay_variation_p50_ms",
    "delay_variation_p90_ms",
    "bdp_bytes",
    "window_needed_bytes",
    "window_allowed_bytes",
    "flows_needed",
    "duplex_mode",
];

/// The lines of a path: the header, then each hop; where both ends measured, an empty line and the same of each direction.
#[must_use]
pub fn csv_lines(report: &PathReport) -> Vec<String> {
    let mut lines = vec![CSV_COLUMNS.join(",")];
    lines.extend(report.hops.iter().map(|hop| row(report, hop)));
    if let Some(ends) = report.between_ends.as_deref() {
        lines.extend([String::new(), DIRECTION_COLUMNS.join(",")]);
        let rows = ends.directions.iter();
        lines.extend(rows.map(|of| direction_row(report, ends, of)));
    }
    lines
}

fn direction_row(report: &PathReport, ends: &PathBetweenEnds, of: &PathDirection) -> String {
    let bps = |value: Option<f64>| shown(value.map(|bps| format!("{bps:.0}")));
    let ms = |us: Option<f64>| shown(us.map(|us| format!("{:.6}", us / 1e3)));
    let narrow = of.narrow.as_ref();
    let capacity = narrow.and_then(|narrow| narrow.capacity_bps);
    let shaper = narrow.and_then(|narrow| narrow.shaper.as_ref());
    let available = of.available.as_ref();
    let window = of.window.as_deref();
    let baseline = ends.baseline.as_ref();
    let one_way = baseline.and_then(|baseline| match of.direction {
        Direction::Up => baseline.up.as_ref(),
        Direction::Down => baseline.down.as_ref(),
    });
    let cells: [String; 17] = [
        of.direction.name().to_owned(),
        bps(capacity.map(|one| one.mean)),
        bps(capacity.map(|one| one.low)),
        bps(capacity.map(|one| one.high)),
        narrow.map_or_else(String::new, |narrow| document_name(&narrow.confidence)),
        bps(shaper.map(|shaper| shaper.rate_bps.mean)),
        shown(shaper.map(|shaper| shaper.bucket_bytes.get())),
        shown(available.map(|found| found.low_bps.bps())),
        shown(available.and_then(|found| found.high_bps).map(BitRate::bps)),
        ms(baseline.and_then(|all| all.rtt_us).map(|rtt| rtt.min)),
        ms(one_way.map(|way| way.pdv_p50_us)),
        ms(one_way.and_then(|way| way.pdv_p90_us)),
        shown(window.and_then(|window| window.bdp_bytes)),
        shown(window.and_then(|window| window.needed_bytes)),
        shown(window.and_then(WindowReport::kernels_max_bytes)),
        shown(window.and_then(|window| window.flows_needed)),
        report
            .duplex
            .as_ref()
            .map_or_else(String::new, |duplex| document_name(&duplex.mode)),
    ];
    cells.join(",")
}

fn row(report: &PathReport, hop: &PathHop) -> String {
    let rtt = hop.rtt_ms.as_ref();
    let ms = |value: Option<f64>| shown(value.map(|ms| format!("{ms:.6}")));
    let is_silent = matches!(
        hop.answering,
        HopAnswering::Silent | HopAnswering::NothingFromHere
    );
    let others: Vec<String> = hop
        .other_addresses
        .iter()
        .map(ToString::to_string)
        .collect();
    let of_hop = [
        hop.ttl.to_string(),
        shown(hop.address),
        shown(hop.name.as_ref().map(|name| quoted(&name.cell()))),
        document_name(&hop.answering),
        others.join(" "),
        hop.probes.to_string(),
        hop.unanswered.to_string(),
        // Where nothing answers, packets need not be lost.
        shown(
            hop.loss()
                .filter(|_| !is_silent)
                .map(|loss| format!("{loss:.6}")),
        ),
        ms(hop.answer_interval_ms),
        ms(rtt.map(|rtt| rtt.min)),
        ms(rtt.map(|rtt| rtt.mean)),
        ms(rtt.map(|rtt| rtt.p50)),
        ms(rtt.map(|rtt| rtt.max)),
        shown(hop.return_hops),
    ];
    let of_link = link_cells(report.link(hop.ttl));
    let narrow = report.narrow.as_ref().map(|narrow| narrow.ttl == hop.ttl);
    let narrow = shown(narrow.map(u8::from));
    let cells = of_hop.into_iter().chain(of_link).chain([narrow]);
    cells.collect::<Vec<_>>().join(",")
}

fn link_cells(link: Option<&PathLink>) -> [String; 7] {
    let Some(link) = link else {
        return <[String; 7]>::default();
    };
    let capacity = link.capacity_bps.as_ref();
    let interval = capacity.filter(|capacity| capacity.confidence > 0.0);
    let bps = |value: Option<f64>| shown(value.map(|bps| format!("{bps:.0}")));
    [
        link.from_ttl.to_string(),
        document_name(&link.class),
        document_name(&link.confidence),
        bps(capacity.map(|capacity| capacity.mean)),
        bps(interval.map(|capacity| capacity.low)),
        bps(interval.map(|capacity| capacity.high)),
        bps(link.at_least_bps.map(BitRate::as_f64)),
    ]
}

fn shown<T: std::fmt::Display>(value: Option<T>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// The name of a value as JSON writes it.
fn document_name(value: &impl Serialize) -> String {
    let name = serde_json::to_value(value).unwrap_or_default();
    name.as_str().unwrap_or_default().to_owned()
}

/// A text in quotation marks where it needs them (RFC 4180).
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn every_hop_is_a_row_with_the_link_that_leads_to_it() {
        let lines = csv_lines(&sample::three_hops());
        assert_eq!(lines.len(), 4);
        assert_eq!(
            lines[2],
            "2,10.0.0.2,,answers,,40,0,0.000000,,2.000000,2.500000,2.400000,3.000000,,1,serialising,high,9940000,9691500,10188500,,1"
        );
        for report in [
            sample::three_hops(),
            sample::silent_hop(),
            sample::nothing(),
            sample::hostile(),
        ] {
            for line in csv_lines(&report) {
                assert_eq!(line.split(',').count(), CSV_COLUMNS.len(), "{line}");
            }
        }
    }

    #[test]
    fn what_does_not_answer_has_no_loss() {
        let lines = csv_lines(&sample::silent_hop());
        assert_eq!(lines[2], "2,,,silent,,10,10,,,,,,,,,,,,,,,0");
    }

    #[test]
    fn a_name_is_no_formula_and_steers_nothing() {
        let mut report = sample::three_hops();
        report.hops[0].name = Some("=1+1,\u{1b}[2J".into());
        assert!(csv_lines(&report)[1].starts_with("1,10.0.0.1,\"'=1+1,\\u001b[2J\",answers"));
    }

    #[test]
    fn both_ends_are_a_second_table() {
        let mut report = sample::three_hops();
        report.between_ends = Some(Box::new(sample::between_ends()));
        report.duplex = Some(sample::duplex());
        let lines = csv_lines(&report);
        assert_eq!(lines[4..6], [String::new(), DIRECTION_COLUMNS.join(",")]);
        assert_eq!(
            lines[6..],
            [
                "up,9940000,9840600,10039400,high,,,4753340,4901881,20.000000,0.040000,0.080000,24850,31062,20000,2,mismatch_near_half",
                "down,98800000,97812000,99788000,medium,10000000,60000,,,20.000000,0.040000,0.080000,25000,31250,20000,,mismatch_near_half",
            ]
        );
    }
}
