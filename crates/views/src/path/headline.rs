//! The result of probing a path in a line: its narrow link, by its hops or between both ends, or the duplex mode.

use crate::cells::ms;
use crate::emphasis::EmphasizedLine;
use caudal_core::path::{NarrowPathLink, PathBetweenEnds, PathDuplex, PathReport};
use caudal_core::quantity::{self, EstimateInUnit, Unit};

/// The results, the most important first: what was asked for and measured.
pub(super) fn lines(report: &PathReport) -> Vec<EmphasizedLine> {
    let mut lines = Vec::new();
    if is_duplex_first(report) {
        lines.extend(report.duplex.as_ref().map(duplex));
    } else {
        lines.extend(report.between_ends.as_deref().and_then(between_ends));
    }
    if !report.links.is_empty() || lines.is_empty() {
        lines.push(narrow_link(report));
    }
    lines
}

/// `true` where the duplex mode alone was asked for: no available bandwidth was looked for.
pub(super) fn is_duplex_first(report: &PathReport) -> bool {
    let directions = report.between_ends.iter().flat_map(|ends| &ends.directions);
    let mut available =
        directions.map(|one| one.available.is_some() || one.available_unknown.is_some());
    report.duplex.is_some() && !available.any(|is_known| is_known)
}

/// The duplex mode, with the confidence in it and the reason.
pub(super) fn duplex(duplex: &PathDuplex) -> EmphasizedLine {
    let (bold, reason) = (duplex.mode.name(), duplex.reason.to_string());
    // A reason why it cannot be determined says so itself.
    let after = match reason.strip_prefix(bold) {
        Some(rest) => rest.to_owned(),
        None => format!(" ({} confidence): {reason}", duplex.confidence.name()),
    };
    EmphasizedLine {
        before: "duplex mode: ".to_owned(),
        bold: bold.to_owned(),
        after,
    }
}

/// The rate that each direction sustains; `None` where neither is known.
fn between_ends(ends: &PathBetweenEnds) -> Option<EmphasizedLine> {
    let rates: Vec<String> = ends
        .directions
        .iter()
        .filter_map(|one| {
            let at_least = one.narrow.as_ref().and_then(|narrow| narrow.at_least_bps);
            let rate = match one.sustained_bps() {
                Some(rate) => EstimateInUnit::new(rate, Unit::BitPerSecond).mean(),
                None => format!("above {}", quantity::rate(at_least?)),
            };
            Some(format!("{} {rate}", one.direction.in_text()))
        })
        .collect();
    (!rates.is_empty()).then(|| EmphasizedLine {
        before: "between both ends: ".to_owned(),
        bold: rates.join(", "),
        after: String::new(),
    })
}

/// The narrow link, or why it cannot be determined.
fn narrow_link(report: &PathReport) -> EmphasizedLine {
    let before = "narrow link: ".to_owned();
    let Some(narrow) = &report.narrow else {
        let why = report.narrow_unknown.as_ref();
        return EmphasizedLine {
            before,
            bold: "cannot tell".to_owned(),
            after: why.map_or_else(String::new, |why| format!(": {why}")),
        };
    };
    let shown = EstimateInUnit::new(&narrow.capacity_bps, Unit::BitPerSecond);
    let interval = match shown.confidence_interval() {
        Some(interval) => format!(" ({interval})"),
        None => " (without an interval)".to_owned(),
    };
    EmphasizedLine {
        before,
        bold: shown.mean(),
        after: format!("{interval}, {}{}", place(report, narrow), contested(narrow)),
    }
}

/// The hops at its ends.
fn place(report: &PathReport, narrow: &NarrowPathLink) -> String {
    let link = report.link(narrow.ttl);
    match link.map_or_else(|| narrow.ttl.saturating_sub(1), |link| link.from_ttl) {
        0 => format!("this machine to hop {}", narrow.ttl),
        from => format!("hop {from} to {}", narrow.ttl),
    }
}

/// The links that may be as narrow.
fn contested(narrow: &NarrowPathLink) -> String {
    let hops: Vec<String> = narrow.contested_by.iter().map(u8::to_string).collect();
    match hops.as_slice() {
        [] => String::new(),
        [one] => format!("; that to hop {one} may be as narrow"),
        several => format!("; those to hops {} may be as narrow", several.join(", ")),
    }
}

/// The most important result and the round-trip time of the host.
pub(super) fn in_one_line(report: &PathReport) -> EmphasizedLine {
    let mut results = lines(report).into_iter();
    let line = results.next().unwrap_or_else(|| narrow_link(report));
    let rtt = report.host().and_then(|host| host.rtt_ms);
    let rtt = rtt.map_or_else(
        || "no RTT of the host".to_owned(),
        |rtt| {
            let [min, mean, max] = [rtt.min, rtt.mean, rtt.max].map(|each| ms(Some(each * 1e3)));
            format!("RTT of the host {min}/{mean}/{max} ms (min/avg/max)")
        },
    );
    EmphasizedLine {
        after: format!("{}; {rtt}", line.after),
        ..line
    }
}
