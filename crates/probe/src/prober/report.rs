//! Statements on links as documents have them, and the doubts.

use super::hop_table::{HopTable, PathEnd};
use super::probe::AnswerKind;
use crate::hop_capacity::{HopLink, LinkClass, PathCapacities};
use crate::rate_estimate::RateEstimate;
use caudal_core::path::{
    HopAnswering, HostAnswer, MtuEvidence, NarrowPathLink, PathLink, PathLinkClass, PathRefusal,
    PathReport,
};
use caudal_core::quantity::Unit;
use caudal_core::text::ExternalText;
use caudal_core::warning::{Warning, WarningCode};
use caudal_stats::{Estimate, IntervalMethod};
use std::net::IpAddr;
use std::time::Duration;

/// Minimum difference between the hops of probes and of their answers to be reported.
const MIN_DIFFERENCE: u8 = 2;

/// A link as a document has it.
pub(super) fn link(link: &HopLink) -> PathLink {
    let statement = &link.statement;
    let capacity_bps = statement.capacity.as_ref().and_then(estimate);
    let bound = statement.capacity.as_ref().map(|rate| rate.low);
    let bound = bound.filter(|_| capacity_bps.is_none());
    PathLink {
        ttl: link.ttl,
        from_ttl: link.from_ttl.unwrap_or(0),
        class: match statement.class {
            LinkClass::Serialising => PathLinkClass::Serialising,
            LinkClass::Shaped => PathLinkClass::Shaped,
            LinkClass::TooFast => PathLinkClass::TooFast,
            LinkClass::Filtered => PathLinkClass::Filtered,
            LinkClass::PerhapsHiddenSwitch => PathLinkClass::PerhapsHiddenSwitch,
            LinkClass::Undetermined(_) => PathLinkClass::Undetermined,
        },
        confidence: statement.confidence.into(),
        capacity_bps,
        at_least_bps: statement.at_least.or(bound),
        reason: statement.reason.as_str().into(),
    }
}

/// A rate as a document has it; `None` for one whose interval has no upper end.
fn estimate(rate: &RateEstimate) -> Option<Estimate> {
    Some(Estimate {
        mean: rate.rate.as_f64(),
        low: rate.low.as_f64(),
        high: rate.high?.as_f64(),
        confidence: rate.confidence,
        n: rate.readings,
        method: IntervalMethod::TheilSenBootstrap,
    })
}

/// The narrow link, or why it cannot be determined.
pub(super) fn narrow(path: &PathCapacities) -> (Option<NarrowPathLink>, Option<ExternalText>) {
    match &path.narrow {
        Ok(narrow) => {
            let found = estimate(&narrow.capacity).map(|capacity_bps| NarrowPathLink {
                ttl: narrow.ttl,
                capacity_bps,
                contested_by: narrow.contested_by.clone(),
            });
            (found, None)
        }
        Err(reason) => (None, Some(reason.to_string().into())),
    }
}

/// Who says that probes do not reach the host.
pub(super) fn refusal(
    end: Option<PathEnd>,
    target: IpAddr,
    table: &HopTable,
) -> Option<PathRefusal> {
    let end = end.filter(|end| end.from != target)?;
    let AnswerKind::Unreachable { code } = end.kind else {
        return None;
    };
    let is_v6 = end.from.is_ipv6();
    Some(PathRefusal {
        ttl: table.answering_ttl_of(end.from),
        address: end.from,
        icmp_code: code,
        reason: if is_prohibited(code, is_v6) {
            prohibited(code, is_v6).into()
        } else {
            unreachable(code, is_v6).into()
        },
    })
}

/// The report with what limits on answers cost it: links, and the narrow one, that more probes may show.
pub(super) fn with_limits(mut report: PathReport, time: Duration) -> PathReport {
    let Some(interval) = slowest_answers(&report) else {
        return report;
    };
    let asked = format!(
        "cannot tell in {:.0} s, because hops answer one probe in {interval} only: more time may tell",
        time.as_secs_f64()
    );
    if report.narrow.is_none() && report.narrow_unknown.is_some() && report.routing_loop.is_none() {
        let why = format!(
            "hops answer one probe in {interval} only, too few in {:.0} s; more time may tell",
            time.as_secs_f64()
        );
        report.narrow_unknown = Some(why.into());
    }
    let limited: Vec<u8> = report
        .hops
        .iter()
        .filter(|hop| hop.answering == HopAnswering::RateLimited)
        .map(|hop| hop.ttl)
        .collect();
    for link in &mut report.links {
        let is_unknown = link.class == PathLinkClass::Undetermined;
        if is_unknown && (limited.contains(&link.ttl) || limited.contains(&link.from_ttl)) {
            link.reason = format!("{asked} ({})", link.reason).into();
        }
    }
    report
}

/// The time between two answers of the hop that answers least often, for people.
fn slowest_answers(report: &PathReport) -> Option<String> {
    let intervals = report.hops.iter().filter_map(|hop| hop.answer_interval_ms);
    let slowest = intervals.fold(0.0, f64::max);
    (slowest > 0.0).then(|| Unit::Seconds.show(slowest / 1e3))
}

/// The doubt that comes from hops that limit their answers.
fn limited_answers(report: &PathReport) -> Option<Warning> {
    let interval = slowest_answers(report)?;
    let limited = report
        .hops
        .iter()
        .filter(|hop| hop.answering == HopAnswering::RateLimited);
    let who = match limited.clone().count() {
        1 => "a hop answers".to_owned(),
        count => format!("{count} hops answer"),
    };
    let most = limited.map(|hop| hop.probes - hop.unanswered).max()?;
    let rests = if report.links.is_empty() {
        String::new()
    } else {
        format!(", so that capacities rest on {most} answers a hop at most")
    };
    let message = format!("{who} one probe in {interval} only{rests}");
    Some(Warning::new(WarningCode::HopRateLimited, message))
}

/// The doubt about a path that goes round.
fn loop_warning(report: &PathReport) -> Option<Warning> {
    let found = report.routing_loop.as_ref()?;
    let addresses: Vec<String> = found.addresses.iter().map(ToString::to_string).collect();
    let last = found.first_ttl + found.hops - 1;
    let message = format!(
        "routing loop: {} (hops {} to {last}) send packets to {} round in a circle",
        addresses.join(", "),
        found.first_ttl,
        report.target.address_or_name()
    );
    Some(Warning::new(WarningCode::RoutingLoop, message))
}

/// The doubts about a path.
pub(super) fn warnings(
    report: &PathReport,
    end: Option<PathEnd>,
    is_neighbour_silent: bool,
) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if let Some(why) = &report.cut_short {
        let message = format!("{why} after {:.1} s", report.cost.elapsed_s);
        warnings.push(Warning::new(WarningCode::CutShort, message));
    }
    match loop_warning(report) {
        Some(found) => warnings.push(found),
        None => warnings.extend(host(report, end, is_neighbour_silent)),
    }
    warnings.extend(report.changes.first().map(|first| {
        let more = match report.changes.len() - 1 {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        let message = format!(
            "at hop {} {} answered instead of {} after {:.1} s{more}",
            first.ttl, first.to, first.from, first.at_s
        );
        Warning::new(WarningCode::PathChanged, message)
    }));
    warnings.extend(limited_answers(report));
    warnings.extend(black_hole(report));
    warnings.extend(other_way_back(report));
    warnings
}

fn host(report: &PathReport, end: Option<PathEnd>, is_neighbour_silent: bool) -> Option<Warning> {
    match (report.host_answer, end) {
        (HostAnswer::Refused, Some(end)) => {
            let is_v6 = end.from.is_ipv6();
            let (code, why) = match end.kind {
                AnswerKind::Unreachable { code } if is_prohibited(code, is_v6) => {
                    (WarningCode::HostAnsweredFor, prohibited(code, is_v6))
                }
                AnswerKind::Unreachable { code } => {
                    (WarningCode::HostSilent, unreachable(code, is_v6))
                }
                _ => (
                    WarningCode::HostAnsweredFor,
                    "nobody listens at the port, in place of the host".to_owned(),
                ),
            };
            let place = report.refusal.as_ref().and_then(|refusal| refusal.ttl);
            let who = match place {
                Some(ttl) => format!("hop {ttl} ({})", end.from),
                None => end.from.to_string(),
            };
            Some(Warning::new(code, format!("{who} says: {why}")))
        }
        (HostAnswer::Nothing, _) if report.cut_short.is_none() => {
            let message = match report.hops.iter().rfind(|hop| hop.address.is_some()) {
                Some(last) => format!("nothing answers beyond hop {}", last.ttl),
                None if is_neighbour_silent => {
                    "nothing answers: the first hop is not there (no link-layer address)".to_owned()
                }
                None => "nothing answers on this path".to_owned(),
            };
            Some(Warning::new(WarningCode::HostSilent, message))
        }
        _ => None,
    }
}

/// Whether the code of an "unreachable" says that a rule forbids it. Sources: RFC 1812 section 5.2.7.1; RFC 4443 section 3.1.
const fn is_prohibited(code: u8, is_v6: bool) -> bool {
    if is_v6 {
        matches!(code, 1 | 5 | 6)
    } else {
        matches!(code, 9 | 10 | 13)
    }
}

/// What the code of an "unreachable" says where a rule forbids it.
fn prohibited(code: u8, is_v6: bool) -> String {
    let why = match (is_v6, code) {
        (false, 9) => "network administratively prohibited",
        (false, 10) => "host administratively prohibited",
        (true, 5) => "source address failed policy",
        (true, 6) => "reject route",
        _ => "communication administratively prohibited",
    };
    format!("probes may not pass ({why})")
}

/// What the code of an "unreachable" says otherwise.
fn unreachable(code: u8, is_v6: bool) -> String {
    match (is_v6, code) {
        (false, 0) | (true, 0) => "there is no route to the host's network".to_owned(),
        (false, 1) | (true, 3) => "the host is not there (host unreachable)".to_owned(),
        _ => format!("the host cannot be reached (code {code})"),
    }
}

fn black_hole(report: &PathReport) -> Option<Warning> {
    let mtu = report.mtu.as_ref()?;
    if mtu.evidence != MtuEvidence::Unanswered {
        return None;
    }
    let place = mtu
        .shrinks_before_ttl
        .map_or_else(String::new, |ttl| format!(" before hop {ttl}"));
    let message = format!(
        "packets above {} bytes are dropped{place} without a word",
        mtu.bytes.get()
    );
    Some(Warning::new(WarningCode::PathMtuBlackHole, message))
}

fn other_way_back(report: &PathReport) -> Option<Warning> {
    let host = report.hops.last()?;
    if report.host_answer != HostAnswer::PortUnreachable {
        return None;
    }
    let back = host.return_hops?;
    (back.abs_diff(host.ttl) >= MIN_DIFFERENCE).then(|| {
        let message = format!(
            "the host is {} hops away, and its answers took {back} back",
            host.ttl
        );
        Warning::new(WarningCode::ReturnPathDiffers, message)
    })
}
