//! What is wrong, what is in doubt, and what is worth knowing.

use super::checked::{CheckedRuns, tcp_parts};
use caudal_core::bottleneck::{Bottleneck, Cause, LimitedBy};
use caudal_core::check::{
    CheckFinding, CheckFindingCode, CheckPart, CheckReport, CheckTcp, FindingWeight,
};
use caudal_core::plan::Direction;
use caudal_core::quality::{AdviceCode, Grade};
use caudal_core::quantity::{EstimateInUnit, Unit};
use caudal_core::warning::{Warning, WarningCode};

/// Minimum of the loss of datagrams at a modest rate, by the lower end of its interval, to be called wrong: at one in a thousand a flow of
/// TCP gets 45 Mbit/s at most over 10 ms (Mathis et al. 1997).
const MIN_LOSS: f64 = 0.001;
/// Minimum of the time to connect over one family, as a multiple of that over the other, and the difference in µs.
const MIN_SLOWER: (f64, f64) = (1.25, 2_000.0);

/// The tests without which it cannot be told whether something is wrong.
const NEEDED: [CheckPart; 4] = [
    CheckPart::RoundTrips,
    CheckPart::Download,
    CheckPart::Upload,
    CheckPart::UnderLoad,
];

/// The findings, the most important first: a busy host, problems, doubts, notes.
pub(super) fn findings(checked: &CheckedRuns, report: &CheckReport) -> Vec<CheckFinding> {
    let mut all = Vec::new();
    all.extend(of_warnings(checked));
    all.extend(families(report));
    all.extend(loss(report));
    all.extend(bufferbloat(checked, report));
    for tcp in &report.tcp {
        all.extend(single_flow(checked, tcp));
        all.extend(limits(tcp));
    }
    all.extend(small_mtu(report));
    all.extend(not_measured(checked));
    // The order in which they were found decides among those of one weight.
    all.sort_by_key(|finding| (finding.code != CheckFindingCode::HostBusy, finding.weight));
    all
}

fn direction_name(direction: Direction) -> &'static str {
    match direction {
        Direction::Up => "upload",
        Direction::Down => "download",
    }
}

fn finding(
    code: CheckFindingCode,
    weight: FindingWeight,
    text: String,
    remedy: &str,
) -> CheckFinding {
    CheckFinding {
        code,
        weight,
        direction: None,
        finding: text,
        remedy: remedy.to_owned(),
    }
}

/// What the tests themselves warn of: once for each kind, by the first test that does.
fn of_warnings(checked: &CheckedRuns) -> Vec<CheckFinding> {
    use FindingWeight::{Doubt, Note, Problem};
    let kinds: [(CheckFindingCode, FindingWeight, &[WarningCode]); 4] = [
        (CheckFindingCode::HostBusy, Doubt, &[WarningCode::HostBusy]),
        (
            CheckFindingCode::Outage,
            Problem,
            &[WarningCode::Outage, WarningCode::InterfaceDown],
        ),
        (
            CheckFindingCode::MtuBlackHole,
            Problem,
            &[WarningCode::PathMtuBlackHole],
        ),
        (
            CheckFindingCode::OthersTraffic,
            Note,
            &[WarningCode::OtherTraffic, WarningCode::AnotherTest],
        ),
    ];
    let mut found = Vec::new();
    for (code, weight, warnings) in kinds {
        let first = checked.runs.iter().find_map(|(part, run)| {
            let mut all = run.warnings.iter();
            let warning = all.find(|warning| warnings.contains(&warning.code))?;
            Some((*part, warning))
        });
        if let Some((
            part,
            Warning {
                message, remedy, ..
            },
        )) = first
        {
            let text = format!("{} ({})", message.as_received(), part.name());
            found.push(finding(code, weight, text, remedy.as_received()));
        }
    }
    found
}

fn families(report: &CheckReport) -> Vec<CheckFinding> {
    let name = |address: std::net::IpAddr| if address.is_ipv4() { "IPv4" } else { "IPv6" };
    let [one, other] = report.families.as_slice() else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (this, that) in [(one, other), (other, one)] {
        let of = name(this.address);
        match (this.connect_us, that.connect_us) {
            (None, Some(_)) => {
                let reason = this
                    .error
                    .as_ref()
                    .map_or("nothing answered", |error| error.as_received());
                found.push(finding(
                    CheckFindingCode::FamilyBroken,
                    FindingWeight::Problem,
                    format!(
                        "the host has an {of} address, {}, that cannot be reached: {reason}",
                        this.address
                    ),
                    "mend the route or the server's address, or take the address out of the name",
                ));
            }
            (Some(us), Some(faster))
                if us > faster * MIN_SLOWER.0 && us - faster > MIN_SLOWER.1 =>
            {
                found.push(finding(
                    CheckFindingCode::FamilySlower,
                    FindingWeight::Note,
                    format!(
                        "{of} takes {} to connect, {} {}",
                        Unit::Seconds.show(us / 1e6),
                        name(that.address),
                        Unit::Seconds.show(faster / 1e6)
                    ),
                    "compare both routes: caudal path HOST -4, and -6",
                ));
            }
            _ => {}
        }
    }
    found
}

fn loss(report: &CheckReport) -> Vec<CheckFinding> {
    let mut found = Vec::new();
    for udp in &report.udp {
        let Some(loss) = udp.loss.filter(|loss| loss.low > MIN_LOSS) else {
            continue;
        };
        let shown = EstimateInUnit::new(&loss, Unit::Share);
        let interval = shown
            .confidence_interval()
            .map_or_else(String::new, |interval| format!(" ({interval})"));
        found.push(CheckFinding {
            direction: Some(udp.direction),
            ..finding(
                CheckFindingCode::Loss,
                FindingWeight::Problem,
                format!(
                    "{}{interval} of the datagrams are lost at {}, {}",
                    shown.mean(),
                    Unit::BitPerSecond.show(udp.rate_bps),
                    direction_name(udp.direction)
                ),
                "find the hop that loses: caudal path HOST",
            )
        });
    }
    if let Some(trips) = report.round_trips.as_ref().filter(|trips| trips.lost > 0) {
        found.push(finding(
            CheckFindingCode::Loss,
            FindingWeight::Problem,
            format!(
                "{} of {} messages had no reply in time, without load",
                trips.lost, trips.messages
            ),
            "find the hop that loses: caudal path HOST",
        ));
    }
    found
}

/// A load that delays everything else by 60 ms or more, or one whose queues were not tested.
fn bufferbloat(checked: &CheckedRuns, report: &CheckReport) -> Option<CheckFinding> {
    let load = report.load.as_ref()?;
    let Some(grade) = load.grade else {
        let reason = load
            .no_grade
            .as_deref()
            .unwrap_or("the phases cannot be compared");
        return Some(finding(
            CheckFindingCode::NoGrade,
            FindingWeight::Doubt,
            format!("no grade for latency under load: {reason}"),
            "measure again: caudal quality HOST",
        ));
    };
    if grade < Grade::C {
        return None;
    }
    let each: Vec<String> = load
        .directions
        .iter()
        .map(|one| {
            let added = Unit::Seconds.show(one.added_us.max(0.0) / 1e6);
            format!("{} adds {added}", direction_name(one.direction))
        })
        .collect();
    let quality = checked.run(CheckPart::UnderLoad)?.quality()?;
    let mut advice = quality.advice.iter();
    let remedy = advice.find(|advice| {
        matches!(
            advice.code,
            AdviceCode::PathQueue | AdviceCode::OwnQueue | AdviceCode::PathQueueBoth
        )
    });
    Some(finding(
        CheckFindingCode::Bufferbloat,
        FindingWeight::Problem,
        format!(
            "load delays everything else (grade {}): {}",
            grade.name(),
            each.join(", ")
        ),
        remedy.map_or("see caudal quality HOST", |advice| &advice.remedy),
    ))
}

/// One flow that gets less than several.
fn single_flow(checked: &CheckedRuns, tcp: &CheckTcp) -> Option<CheckFinding> {
    let gain = tcp.gain?;
    let (one, several) = (tcp.one_bps?, tcp.several_bps?);
    let why = tcp.one_limited_by.as_ref();
    let is_window = |limit: &LimitedBy| {
        matches!(
            limit.limit,
            Bottleneck::ReceiverWindow | Bottleneck::SendBuffer
        ) || limit.cause == Some(Cause::RandomLoss)
    };
    let weight = if why.is_some_and(is_window) {
        FindingWeight::Problem
    } else {
        FindingWeight::Note
    };
    let reason = why
        .filter(|limit| limit.limit != Bottleneck::Unknown)
        .map_or_else(
            || "why cannot be told".to_owned(),
            |limit| format!("one is limited by {}: {}", limit.limit, limit.evidence),
        );
    let next = checked
        .direction(tcp_parts(tcp.direction)[0])
        .and_then(|summary| summary.next_step.as_ref());
    Some(CheckFinding {
        direction: Some(tcp.direction),
        ..finding(
            CheckFindingCode::SingleFlow,
            weight,
            format!(
                "{}: one flow gets {}, {} flows {} ({gain:.1} times as much); {reason}",
                direction_name(tcp.direction),
                Unit::BitPerSecond.show(one.mean),
                tcp.several,
                Unit::BitPerSecond.show(several.mean),
            ),
            next.map_or("", |next| &next.text),
        )
    })
}

/// Limits of a rate that somebody set.
fn limits(tcp: &CheckTcp) -> Option<CheckFinding> {
    let limit = tcp
        .several_limited_by
        .as_ref()
        .or(tcp.one_limited_by.as_ref())?;
    let (code, remedy) = match limit.cause? {
        Cause::ServerLimit => (
            CheckFindingCode::ServerLimit,
            "ask whoever runs the server for a higher --max-rate, to see what the network gives",
        ),
        Cause::Policer => (
            CheckFindingCode::Policer,
            "ask the provider for the rate and the burst that it allows",
        ),
        _ => return None,
    };
    let name = if code == CheckFindingCode::Policer {
        "a policer"
    } else {
        "the server's limit"
    };
    Some(CheckFinding {
        direction: Some(tcp.direction),
        ..finding(
            code,
            FindingWeight::Note,
            format!(
                "{} is limited by {name}: {}",
                direction_name(tcp.direction),
                limit.evidence
            ),
            remedy,
        )
    })
}

fn small_mtu(report: &CheckReport) -> Option<CheckFinding> {
    let path = report.path.as_ref()?;
    let (mtu, local) = (path.mtu_bytes?, path.local_mtu_bytes?);
    (mtu < local).then(|| {
        finding(
            CheckFindingCode::SmallMtu,
            FindingWeight::Note,
            format!("the path takes packets of {mtu} B, this machine's link {local} B"),
            "",
        )
    })
}

fn not_measured(checked: &CheckedRuns) -> Vec<CheckFinding> {
    let mut found: Vec<CheckFinding> = Vec::new();
    for missing in &checked.not_measured {
        let is_needed = NEEDED.contains(&missing.part) && !checked.left_out.contains(&missing.part);
        let weight = if is_needed {
            FindingWeight::Doubt
        } else {
            FindingWeight::Note
        };
        let reason = missing.reason.as_received();
        // A server that is not there is one reason for many tests.
        let mut same = found.iter_mut();
        if let Some(earlier) =
            same.find(|earlier| earlier.remedy.is_empty() && earlier.finding.ends_with(reason))
        {
            earlier.finding = format!("{}, {}", missing.part.name(), earlier.finding);
            earlier.weight = earlier.weight.min(weight);
            continue;
        }
        found.push(finding(
            CheckFindingCode::NotMeasured,
            weight,
            format!("{} not measured: {reason}", missing.part.name()),
            "",
        ));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::check::{
        CheckFamily, CheckLoad, CheckLoadDirection, CheckRoundTrips, CheckUdp, CheckVerdict,
        PartNotMeasured,
    };
    use caudal_stats::Estimate;

    fn of(report: &CheckReport) -> Vec<CheckFindingCode> {
        let found = findings(&CheckedRuns::default(), report);
        found.iter().map(|finding| finding.code).collect()
    }

    fn between(low: f64, mean: f64, high: f64) -> Estimate {
        Estimate {
            low,
            high,
            ..Estimate::single(mean)
        }
    }

    fn udp(low: f64, mean: f64) -> CheckReport {
        CheckReport {
            udp: vec![CheckUdp {
                direction: Direction::Up,
                rate_bps: 1e6,
                loss: Some(between(low, mean, 0.1)),
                jitter_us: None,
            }],
            ..CheckReport::default()
        }
    }

    #[test]
    fn loss_is_wrong_where_its_interval_says_so() {
        assert_eq!(of(&udp(0.0005, 0.002)), []);
        assert_eq!(of(&udp(0.004, 0.01)), [CheckFindingCode::Loss]);
        let lost = CheckReport {
            round_trips: Some(CheckRoundTrips {
                mean_us: Estimate::single(1e4),
                p99_us: None,
                messages: 300,
                lost: 2,
            }),
            ..CheckReport::default()
        };
        assert_eq!(of(&lost), [CheckFindingCode::Loss]);
    }

    #[test]
    fn a_family_that_does_not_answer_is_wrong_and_a_slower_one_worth_knowing() {
        let family = |address: &str, connect_us| CheckFamily {
            address: address.parse().unwrap(),
            connect_us,
            error: None,
        };
        let both = |v4, v6| CheckReport {
            families: vec![family("192.0.2.1", v4), family("2001:db8::1", v6)],
            ..CheckReport::default()
        };
        assert_eq!(of(&both(Some(1e4), None)), [CheckFindingCode::FamilyBroken]);
        assert_eq!(
            of(&both(Some(1e4), Some(2e4))),
            [CheckFindingCode::FamilySlower]
        );
        assert_eq!(of(&both(Some(1e4), Some(1.1e4))), []);
        assert_eq!(of(&both(Some(100.0), Some(900.0))), []);
        assert_eq!(of(&both(None, None)), []);
    }

    #[test]
    fn no_grade_is_a_doubt() {
        let mut report = CheckReport {
            load: Some(CheckLoad {
                grade: None,
                no_grade: Some("the load did not fill the path".to_owned()),
                directions: vec![CheckLoadDirection {
                    direction: Direction::Up,
                    added_us: 1e5,
                }],
            }),
            ..CheckReport::default()
        };
        report.findings = findings(&CheckedRuns::default(), &report);
        assert_eq!(report.findings[0].code, CheckFindingCode::NoGrade);
        assert_eq!(report.clone().judged().verdict, CheckVerdict::Undecided);
        if let Some(load) = &mut report.load {
            load.grade = Some(Grade::B);
        }
        assert_eq!(of(&report), []);
    }

    #[test]
    fn one_reason_for_several_tests_is_told_once() {
        let missing = |part| PartNotMeasured {
            part,
            reason: "no server answers".into(),
        };
        let checked = CheckedRuns {
            not_measured: vec![missing(CheckPart::UdpUpload), missing(CheckPart::Download)],
            ..CheckedRuns::default()
        };
        let found = not_measured(&checked);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].weight, FindingWeight::Doubt);
        assert_eq!(
            found[0].finding,
            "download, one flow, UDP upload not measured: no server answers"
        );
        let asked = CheckedRuns {
            left_out: vec![CheckPart::Download],
            ..checked
        };
        assert_eq!(not_measured(&asked)[0].weight, FindingWeight::Note);
    }
}
