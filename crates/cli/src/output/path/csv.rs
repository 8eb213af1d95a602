//! A path as comma-separated values.

use caudal_core::path::{HopAnswering, PathHop, PathLink, PathReport};
use caudal_core::units::BitRate;
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

/// The lines of a path: the header, then each hop.
#[must_use]
pub fn csv_lines(report: &PathReport) -> Vec<String> {
    let rows = report.hops.iter().map(|hop| row(report, hop));
    [CSV_COLUMNS.join(",")].into_iter().chain(rows).collect()
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
}
