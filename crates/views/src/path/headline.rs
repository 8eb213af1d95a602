//! The result of probing a path in a line: its narrow link, by its hops or between both ends, or the duplex mode.

use crate::cells::ms;
use crate::emphasis::EmphasizedLine;
use crate::text;
use caudal_core::path::{
    CapacityEvidence, NarrowPathLink, PathDirection, PathDuplex, PathHop, PathReport,
    StatementConfidence, TokenBucketKind,
};
use caudal_core::quantity::{self, EstimateInUnit, Unit};

/// The results, the most important first: what was asked for and measured.
pub(super) fn lines(report: &PathReport) -> Vec<EmphasizedLine> {
    let mut lines = Vec::new();
    if is_duplex_first(report) {
        lines.extend(report.duplex.as_ref().map(duplex));
    } else {
        lines.extend(between_ends(report));
    }
    // One narrow link: what both ends found, or else what the hops show.
    if lines.is_empty() || is_duplex_first(report) && !report.links.is_empty() {
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

/// The narrow link of each direction as both ends found it, with the hops at its ends where they show it too; `None` where neither is known.
fn between_ends(report: &PathReport) -> Option<EmphasizedLine> {
    let directions = &report.between_ends.as_ref()?.directions;
    let known = directions.iter().filter_map(rate_of_direction);
    if known.count() == 0 {
        return None;
    }
    let rates: Vec<String> = directions
        .iter()
        .map(|one| {
            let rate = rate_of_direction(one).unwrap_or_else(|| "cannot tell".to_owned());
            format!("{} {rate}", one.direction.in_text())
        })
        .collect();
    let narrow = || directions.iter().filter_map(|one| one.narrow.as_ref());
    let is_by_trains =
        narrow().any(|one| one.capacity_bps.is_some() && one.evidence == CapacityEvidence::Trains);
    let is_doubtful = narrow().any(|one| one.confidence == StatementConfidence::Low);
    let is_too_fast = narrow().any(|one| one.at_least_bps.is_some());
    let mut after = String::from(if is_by_trains {
        ", by packet trains between both ends"
    } else {
        ", between both ends"
    });
    after += if is_too_fast {
        " (too fast to tell)"
    } else if is_doubtful {
        " (low confidence)"
    } else {
        ""
    };
    if let Some(link) = report.narrow_hop_link() {
        after += &format!(", {}", place(report, link));
    }
    Some(EmphasizedLine {
        before: "narrow link: ".to_owned(),
        bold: rates.join(", "),
        after,
    })
}

/// The rate that a direction sustains, and what holds it to that where it is no link; `None` where it is not known.
fn rate_of_direction(of: &PathDirection) -> Option<String> {
    let narrow = of.narrow.as_ref()?;
    let Some(rate) = of.sustained_bps() else {
        return Some(format!("above {}", quantity::rate(narrow.at_least_bps?)));
    };
    let rate = EstimateInUnit::new(rate, Unit::BitPerSecond).mean();
    let shaper = narrow.shaper.as_ref();
    let kind = shaper.map(|shaper| shaper.kind.unwrap_or(TokenBucketKind::Shaper));
    Some(match kind {
        Some(kind) => format!("{rate} (a {})", kind.name()),
        None => rate,
    })
}

/// The narrow link, or why it cannot be determined.
fn narrow_link(report: &PathReport) -> EmphasizedLine {
    let is_asked_for = report.narrow_unknown.is_some() || !report.links.is_empty();
    if report.narrow.is_none() && !is_asked_for && !report.hops.is_empty() {
        return host_line(report);
    }
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

/// The host as far as hops alone show it: where no capacities were asked for.
fn host_line(report: &PathReport) -> EmphasizedLine {
    let count = |hops: usize| text::counted(hops as u64, "hop");
    let before = format!("{}: ", report.target.host);
    let Some(host) = report.host() else {
        let answering = report.hops.iter().filter(|hop| hop.address.is_some());
        return EmphasizedLine {
            before,
            bold: "does not answer".to_owned(),
            after: format!(", {} before it do", count(answering.count())),
        };
    };
    let times = host.times_ms().map_or_else(String::new, |rtt| {
        let [min, mean, max] = [rtt.min, rtt.mean, rtt.max].map(|each| ms(Some(each * 1e3)));
        format!(", RTT {min}/{mean}/{max} ms (min/avg/max)")
    });
    let lost = host.loss().map_or_else(String::new, |loss| {
        format!(", {} of {} probes lost", text::percent(loss), host.probes)
    });
    EmphasizedLine {
        before,
        bold: count(usize::from(host.ttl)),
        after: format!("{times}{lost}"),
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
    let rtt = report.host().and_then(PathHop::times_ms);
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
