//! The warnings about a round-trip test.

use super::conditions::RttConditions;
use super::marks::marks;
use crate::path_mtu::{black_hole, fitting_payload, is_black_hole};
use caudal_analysis::host_health::throttled_warning;
use caudal_core::episode::{Episode, episode_warnings};
use caudal_core::loss::RefusedSends;
use caudal_core::plan::{Direction, EchoSchedule, MAX_DATAGRAM, Transport};
use caudal_core::quantity::Unit;
use caudal_core::warning::{Warning, WarningCode};

/// The share of processor time given to others that is worth a warning.
const STOLEN_SHARE: f64 = 0.02;
/// The share of a schedule's period by which messages may leave late.
const LATE_SHARE: f64 = 0.1;

/// The warnings about a round-trip test.
pub(super) fn warnings(measured: &RttConditions<'_>, episodes: &[Episode]) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let echo = measured.echo;
    match &echo.cut_short {
        Some(cut) => warnings.push(Warning::new(
            WarningCode::CutShort,
            format!("the test ended early: {cut}"),
        )),
        None => {
            let failures = echo
                .connections
                .iter()
                .filter_map(|one| one.failure.as_ref());
            warnings.extend(failures.map(|why| Warning::new(WarningCode::FlowFailed, why.clone())));
        }
    }
    warnings.extend(episode_warnings(episodes));
    for change in &echo.changed {
        warnings.push(Warning::new(WarningCode::ServerChangedPlan, change.clone()));
    }
    if !measured.left_out.is_empty() {
        warnings.push(Warning::new(
            WarningCode::SizesLeftOut,
            format!(
                "no datagram can have {} B; the maximum is {MAX_DATAGRAM}",
                list(measured.left_out)
            ),
        ));
    }
    warnings.extend(measured.peer.path_warnings(echo.plan.transport));
    warnings.extend(fragmented(measured));
    warnings.extend(send_refused(measured));
    warnings.extend(schedule_late(measured));
    warnings.extend(too_short(measured));
    for direction in [Direction::Up, Direction::Down] {
        let marks = marks([echo], direction);
        warnings.extend(
            marks
                .iter()
                .flat_map(|marks| marks.warnings(direction.in_text())),
        );
    }
    warnings.extend(stolen_cpu(measured));
    let echo = measured.echo;
    warnings.extend(throttled_warning(
        &echo.client_usage,
        echo.server_usage.as_ref(),
    ));
    warnings
}

fn list(sizes: &[u32]) -> String {
    let sizes: Vec<String> = sizes.iter().map(u32::to_string).collect();
    sizes.join(", ")
}

fn fragmented(measured: &RttConditions<'_>) -> Option<Warning> {
    let (plan, peer) = (&measured.echo.plan, measured.peer);
    if plan.transport == Transport::Udp && is_black_hole(peer) {
        return black_hole(peer);
    }
    let room = fitting_payload(peer)?;
    let larger: Vec<u32> = plan
        .sizes
        .iter()
        .copied()
        .filter(|size| plan.transport == Transport::Udp && *size > room)
        .collect();
    (!larger.is_empty()).then(|| {
        Warning::new(
            WarningCode::Fragmented,
            format!(
                "{room} B fit; datagrams of {} B are fragmented",
                list(&larger)
            ),
        )
    })
}

fn send_refused(measured: &RttConditions<'_>) -> Option<Warning> {
    let mut refused = RefusedSends::default();
    for size in measured.sizes {
        refused += size.pooled.refused_sends();
    }
    refused.warning("messages", "this host")
}

fn schedule_late(measured: &RttConditions<'_>) -> Option<Warning> {
    let EchoSchedule::Every { period, .. } = measured.echo.plan.schedule else {
        return None;
    };
    let allowed_us = period.as_secs_f64() * 1e6 * LATE_SHARE;
    let (size, late) = measured
        .sizes
        .iter()
        .filter_map(|size| {
            let late = size.pooled.lateness_us?;
            Some((size.size_bytes, late.p99.unwrap_or(late.max)))
        })
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .filter(|(_, late)| *late > allowed_us)?;
    Some(Warning::new(
        WarningCode::ScheduleLate,
        format!(
            "messages of {size} B left up to {} late (p99)",
            Unit::Seconds.show(late / 1e6)
        ),
    ))
}

fn too_short(measured: &RttConditions<'_>) -> Option<Warning> {
    let unreliable: Vec<u32> = measured
        .sizes
        .iter()
        .filter(|size| size.pooled.rtt_us.is_some_and(|rtt| !rtt.mean_trusted))
        .map(|size| size.size_bytes)
        .collect();
    (!unreliable.is_empty()).then(|| {
        Warning::new(
            WarningCode::TooShort,
            format!(
                "the mean's interval is unreliable for {} B: too few independent round trips",
                list(&unreliable)
            ),
        )
        .with_remedy("measure more messages, on a machine that does nothing else meanwhile")
    })
}

fn stolen_cpu(measured: &RttConditions<'_>) -> Option<Warning> {
    let echo = measured.echo;
    let ends = [
        (Some(&echo.client_usage), measured.peer.client.cpus),
        (echo.server_usage.as_ref(), measured.peer.server.cpus),
    ];
    let stolen = ends
        .into_iter()
        .filter_map(|(usage, cpus)| usage?.stolen_share(cpus))
        .fold(0.0, f64::max);
    (stolen > STOLEN_SHARE).then(|| {
        Warning::new(
            WarningCode::StolenCpu,
            format!(
                "the hypervisor gave {:.1} % of the processor time to others",
                stolen * 100.0
            ),
        )
    })
}
