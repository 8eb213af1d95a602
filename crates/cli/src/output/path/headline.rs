//! The result of probing a path in a line: its narrow link.

use crate::output::columns::ms;
use crate::output::emphasis::EmphasizedLine;
use crate::output::text::percent;
use caudal_core::path::{NarrowPathLink, PathReport};
use caudal_core::quantity::{EstimateInUnit, Unit};

/// The narrow link, or why it cannot be told.
pub(super) fn narrow_link(report: &PathReport) -> EmphasizedLine {
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
    let interval = match shown.interval() {
        Some(interval) => {
            let level = percent(narrow.capacity_bps.confidence);
            format!(" ({level} interval {interval})")
        }
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

/// The narrow link and the round-trip time of the host.
pub(super) fn in_one_line(report: &PathReport) -> EmphasizedLine {
    let line = narrow_link(report);
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
