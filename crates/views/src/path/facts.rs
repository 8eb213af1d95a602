//! What is to be said of a path as a whole: the answer of its host, path MTU, routes, and what probing took.

use crate::text::{self, fold};
use crate::width::LineWidth;
use caudal_core::path::{HostAnswer, MtuEvidence, PathMtu, PathReport, ProbingCost, RouteCount};
use caudal_core::quantity::{Unit, size};
use caudal_core::run::Run;
use caudal_core::warning::WarningCode;

/// The changes of the route that are listed one by one.
const MAX_CHANGES: usize = 4;

/// The lines below the table of hops.
pub(super) fn lines(run: &Run, report: &PathReport, width: LineWidth) -> Vec<String> {
    // What a warning says is not said twice.
    let is_warned = |code| run.warnings.iter().any(|warning| warning.code == code);
    let mut lines = Vec::new();
    let codes = [
        WarningCode::HostSilent,
        WarningCode::HostAnsweredFor,
        WarningCode::RoutingLoop,
    ];
    if !codes.into_iter().any(is_warned) {
        lines.extend(host_answer(report));
    }
    lines.extend(report.mtu.as_ref().map(|mtu| path_mtu(report, mtu)));
    lines.extend(report.routes.map(routes));
    if !is_warned(WarningCode::PathChanged) || report.changes.len() > 1 {
        lines.extend(changes(report));
    }
    lines.extend(policer_not_looked_for(report));
    lines.extend(cost(report));
    let without = report.means.without.iter();
    lines.extend(without.map(|what| format!("without {what}")));
    let cut_short = report.cut_short.iter();
    let cut_short = cut_short.filter(|_| !is_warned(WarningCode::CutShort));
    lines.extend(cut_short.map(|why| format!("cut short: {why}")));
    lines.iter().map(|line| fold(line, 4, width)).collect()
}

/// The answer of the host, unless it is the usual one.
fn host_answer(report: &PathReport) -> Option<String> {
    if report.hops.is_empty() {
        return None;
    }
    let address = report.target.address_or_name();
    match report.host_answer {
        HostAnswer::PortUnreachable => None,
        HostAnswer::Refused => Some(format!(
            "{address}: a router or firewall before the host refuses probes"
        )),
        HostAnswer::Nothing => Some(format!("{address}: the host does not answer")),
    }
}

/// The path MTU, where it shrinks, and what shows it.
fn path_mtu(report: &PathReport, mtu: &PathMtu) -> String {
    let place = mtu
        .shrinks_before_ttl
        .map_or_else(String::new, |ttl| format!(" before hop {ttl}"));
    let why = match mtu.evidence {
        MtuEvidence::WholeMtu => "that of this machine's link".to_owned(),
        MtuEvidence::Icmp => format!(
            "of {} at this machine: a router{place} says so (ICMP)",
            size(mtu.local_bytes)
        ),
        MtuEvidence::Unanswered => format!(
            "of {} at this machine: larger packets are lost{place} without a word",
            size(mtu.local_bytes)
        ),
    };
    let last = report.hops.last().map_or(mtu.to_ttl, |hop| hop.ttl);
    let part = if mtu.to_ttl < last {
        format!("; measured to hop {}", mtu.to_ttl)
    } else {
        String::new()
    };
    format!("path MTU: {}, {why}{part}", size(mtu.bytes))
}

/// The number of routes among the flows that were traced.
fn routes(count: RouteCount) -> String {
    let routes = match count.routes {
        1 => "one route".to_owned(),
        routes => format!("{routes} routes"),
    };
    let flows = match count.flows {
        1 => "one flow".to_owned(),
        flows => format!("{flows} flows"),
    };
    let doubt = if count.is_complete {
        " (95 %)"
    } else {
        ", perhaps more"
    };
    format!("{routes} among {flows}{doubt}")
}

/// The changes of the route.
fn changes(report: &PathReport) -> Vec<String> {
    let shown = report.changes.iter().take(MAX_CHANGES).map(|change| {
        format!(
            "the route changed at {:.1} s: hop {} was {} and is {}",
            change.at_s, change.ttl, change.from, change.to
        )
    });
    let more = report.changes.len().saturating_sub(MAX_CHANGES);
    let more = (more > 0).then(|| format!("and {more} more changes (--json)"));
    shown.chain(more).collect()
}

/// That no policer was looked for, and what looks for one; `None` where links were not measured, or both ends were to look for it.
fn policer_not_looked_for(report: &PathReport) -> Option<String> {
    let is_without = !report.links.is_empty() && report.between_ends.is_none();
    is_without.then(|| {
        "policers were not looked for: that takes --peer, and caudal serve at the other end"
            .to_owned()
    })
}

/// What probing took, and what measuring between both ends did; nothing where nothing was sent.
fn cost(report: &PathReport) -> Option<String> {
    let ends = report.between_ends.as_deref();
    let each = [
        ("", Some(&report.cost)),
        ("between both ends ", ends.map(|ends| &ends.cost)),
    ];
    let texts: Vec<String> = each
        .into_iter()
        .filter_map(|(of, cost)| Some(format!("{of}{}", cost_text(cost?)?)))
        .collect();
    (!texts.is_empty()).then(|| texts.join("; "))
}

fn cost_text(cost: &ProbingCost) -> Option<String> {
    let unit = if cost.packets == 1 {
        "packet"
    } else {
        "packets"
    };
    (cost.packets > 0).then(|| {
        format!(
            "{} {unit}, {} in {}",
            cost.packets,
            text::bytes(cost.bytes.get()),
            Unit::Seconds.show((cost.elapsed_s * 10.0).round() / 10.0)
        )
    })
}
