//! Statements on links as documents have them, and the doubts.

use super::hop_table::PathEnd;
use super::probe::AnswerKind;
use crate::hop_capacity::{HopLink, LinkClass, PathCapacities};
use crate::rate_estimate::RateEstimate;
use caudal_core::path::{
    HopAnswering, HostAnswer, MtuEvidence, NarrowPathLink, PathLink, PathLinkClass, PathReport,
};
use caudal_core::text::ExternalText;
use caudal_core::warning::{Warning, WarningCode};
use caudal_stats::{Estimate, IntervalMethod};

/// The difference between the hops of probes and of their answers from which on it is worth a word.
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

/// The narrow link, or why it cannot be told.
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
    warnings.extend(host(report, end, is_neighbour_silent));
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
    let limited = || {
        let hops = report.hops.iter();
        hops.filter(|hop| hop.answering == HopAnswering::RateLimited)
    };
    let slowest = limited()
        .filter_map(|hop| hop.answer_interval_ms)
        .fold(0.0, f64::max);
    match limited().count() {
        0 => {}
        1 => warnings.push(Warning::new(
            WarningCode::HopRateLimited,
            format!(
                "a hop answers about {:.1} times a second only",
                1e3 / slowest
            ),
        )),
        count => warnings.push(Warning::new(
            WarningCode::HopRateLimited,
            format!(
                "{count} hops limit their answers, down to about {:.1} a second",
                1e3 / slowest
            ),
        )),
    }
    warnings.extend(black_hole(report));
    warnings.extend(other_way_back(report));
    warnings
}

fn host(report: &PathReport, end: Option<PathEnd>, is_neighbour_silent: bool) -> Option<Warning> {
    match (report.host_answer, end) {
        (HostAnswer::Refused, Some(end)) => {
            let is_v6 = end.from.is_ipv6();
            let (code, why) = match end.kind {
                AnswerKind::Unreachable { code } if is_prohibited(code, is_v6) => (
                    WarningCode::HostAnsweredFor,
                    "probes may not pass".to_owned(),
                ),
                AnswerKind::Unreachable { code } => {
                    (WarningCode::HostSilent, unreachable(code, is_v6))
                }
                _ => (
                    WarningCode::HostAnsweredFor,
                    "nobody listens at the port, in place of the host".to_owned(),
                ),
            };
            Some(Warning::new(code, format!("{} says: {why}", end.from)))
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
