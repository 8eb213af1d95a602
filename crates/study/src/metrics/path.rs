//! The metrics of a path that was probed, from its run, beside what its links are in the lab.

use std::collections::BTreeMap;

use caudal_core::path::{PathDuplexMode, PathLink, PathLinkClass, PathReport};
use caudal_core::plan::Direction;
use caudal_core::run::Run;
use caudal_core::units::BitRate;
use caudal_experiment::{FlowSpec, PathScope, path_link_name};

use super::metric_set::FlowMetrics;
use crate::testbed::{LabNetwork, narrow_capacity, path_links};

/// Adds the metrics of a path; `network` is the lab that it leads through.
pub(super) fn add(
    run: &Run,
    flow: &FlowSpec,
    network: Option<&LabNetwork>,
    all: &mut BTreeMap<String, f64>,
) {
    let Some(report) = run.path() else {
        return;
    };
    let measure = flow.path.map(|path| path.measure);
    let mut metrics = FlowMetrics::new(flow.name.clone(), all);
    add_from_one_end(report, &mut metrics);
    add_between_ends(report, flow, network, &mut metrics);
    add_duplex(report, &mut metrics);
    add_cost(report, &mut metrics);
    if !measure.is_some_and(PathScope::has_links) {
        return;
    }
    let truth = network.map(|network| path_links(flow, network));
    for link in &report.links {
        let mut links = truth.iter().flatten();
        let expected = links.find(|one| one.ttl == link.ttl);
        let expected = expected.and_then(|one| one.capacity_bps);
        let subject = format!("{}.{}", flow.name, path_link_name(link.ttl));
        let mut metrics = FlowMetrics::new(subject, all);
        let is_narrow = report.narrow.as_ref().map(|narrow| narrow.ttl) == Some(link.ttl);
        metrics.put("narrow", Some(share(is_narrow)));
        add_link(link, expected, &mut metrics);
    }
}

const fn share(holds: bool) -> f64 {
    if holds { 1.0 } else { 0.0 }
}

/// The difference of what was found from what is, of the latter.
fn error(found: Option<f64>, truth: Option<f64>) -> Option<f64> {
    let (found, truth) = (found?, truth?);
    Some((found / truth - 1.0).abs())
}

fn add_from_one_end(report: &PathReport, metrics: &mut FlowMetrics<'_>) {
    let narrow = report.narrow.as_ref();
    metrics.put("capacity", narrow.map(|narrow| narrow.capacity_bps.mean));
    let mtu = report.mtu.as_ref().map(|mtu| mtu.bytes.as_f64());
    metrics.put("mtu", mtu);
    let routes = report.routes.as_ref();
    metrics.put("routes", routes.map(|count| f64::from(count.routes)));
    let rtt = report.host().and_then(|host| host.rtt_ms.as_ref());
    metrics.put("rtt_min", rtt.map(|rtt| rtt.min / 1e3));
}

fn add_link(link: &PathLink, truth: Option<f64>, metrics: &mut FlowMetrics<'_>) {
    let capacity = link.capacity_bps.as_ref().map(|capacity| capacity.mean);
    metrics.put("capacity", capacity);
    metrics.put("error", error(capacity, truth));
    metrics.put("measured", Some(share(capacity.is_some())));
    for (metric, class) in [
        ("serialising", PathLinkClass::Serialising),
        ("shaped", PathLinkClass::Shaped),
        ("too_fast", PathLinkClass::TooFast),
        ("hidden_switch", PathLinkClass::PerhapsHiddenSwitch),
    ] {
        metrics.put(metric, Some(share(link.class == class)));
    }
}

fn add_between_ends(
    report: &PathReport,
    flow: &FlowSpec,
    network: Option<&LabNetwork>,
    metrics: &mut FlowMetrics<'_>,
) {
    let measure = flow.path.map(|path| path.measure);
    // The capacity by which the duplex mode is found is a rough one.
    let (Some(ends), true) = (
        report.between_ends.as_deref(),
        measure.is_some_and(PathScope::has_ends),
    ) else {
        return;
    };
    for (direction, [capacity, off, low, high]) in [
        (
            Direction::Up,
            [
                "capacity_up",
                "error_up",
                "available_up_low",
                "available_up_high",
            ],
        ),
        (
            Direction::Down,
            [
                "capacity_down",
                "error_down",
                "available_down_low",
                "available_down_high",
            ],
        ),
    ] {
        let Some(found) = ends.direction(direction) else {
            continue;
        };
        let sustained = found.sustained_bps().map(|rate| rate.mean);
        let truth = network.and_then(|network| narrow_capacity(flow, network, direction));
        metrics.put(capacity, sustained);
        metrics.put(off, error(sustained, truth));
        let available = found.available.as_ref();
        metrics.put(low, available.map(|found| found.low_bps.as_f64()));
        let bound = available.and_then(|found| found.high_bps);
        metrics.put(high, bound.map(BitRate::as_f64));
    }
}

fn add_duplex(report: &PathReport, metrics: &mut FlowMetrics<'_>) {
    let Some(duplex) = &report.duplex else { return };
    let mode = duplex.mode;
    for (metric, told) in [
        ("full_duplex", mode == PathDuplexMode::Full),
        ("half_duplex", mode == PathDuplexMode::Half),
        ("mismatch_near", mode == PathDuplexMode::MismatchNearHalf),
        ("mismatch_far", mode == PathDuplexMode::MismatchFarHalf),
        (
            "duplex_unknown",
            matches!(mode, PathDuplexMode::CannotTell | PathDuplexMode::Mismatch),
        ),
    ] {
        metrics.put(metric, Some(share(told)));
    }
}

fn add_cost(report: &PathReport, metrics: &mut FlowMetrics<'_>) {
    let between = report.between_ends.as_ref().map(|ends| ends.cost);
    let between = between.unwrap_or_default();
    let time = report.cost.elapsed_s + between.elapsed_s;
    metrics.put("probing_time", Some(time));
    let bytes = report.cost.bytes.as_f64() + between.bytes.as_f64();
    metrics.put("probing_bytes", Some(bytes));
}
