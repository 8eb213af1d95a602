//! A path as rows of the table of values.

use crate::export::value_table::{ValueRow, ValueTable};
use caudal_core::path::{HopAnswering, PathDirection, PathHop, PathLink, PathReport};

/// Adds the capacity of the narrow link, the path MTU, each hop with the link that leads to it, and each direction between both ends.
pub(super) fn push_path(table: &mut ValueTable, row: &ValueRow<'_>, report: &PathReport) {
    let of_path = |metric, unit, value| ValueRow {
        kind: "estimate",
        metric,
        unit,
        value,
        ..row.clone()
    };
    if let Some(narrow) = &report.narrow {
        let row = of_path("capacity", "bit/s", 0.0);
        table.push(&row.with_estimate(&narrow.capacity_bps));
    }
    if let Some(mtu) = &report.mtu {
        table.push(&of_path("path_mtu", "bytes", mtu.bytes.as_f64()));
    }
    for hop in &report.hops {
        let address = hop.address.map_or_else(String::new, |at| at.to_string());
        let row = ValueRow {
            case: &format!("hop {}", hop.ttl),
            flow: &address,
            ..row.clone()
        };
        push_hop(table, &row, hop, report.link(hop.ttl));
    }
    let directions = report.between_ends.iter().flat_map(|ends| &ends.directions);
    for of in directions {
        let row = ValueRow {
            case: of.direction.name(),
            ..row.clone()
        };
        push_path_direction(table, &row, of);
    }
}

/// Adds what both ends found of a direction.
fn push_path_direction(table: &mut ValueTable, row: &ValueRow<'_>, of: &PathDirection) {
    let of_direction = |metric, unit, value| ValueRow {
        kind: "estimate",
        metric,
        unit,
        value,
        ..row.clone()
    };
    let narrow = of.narrow.as_ref();
    let estimates = [
        ("capacity", narrow.and_then(|one| one.capacity_bps)),
        (
            "shaped_rate",
            narrow.and_then(|one| Some(one.shaper.as_ref()?.rate_bps)),
        ),
    ];
    for (metric, estimate) in estimates {
        if let Some(estimate) = estimate {
            table.push(&of_direction(metric, "bit/s", 0.0).with_estimate(&estimate));
        }
    }
    let available = of.available.as_ref();
    let window = of.window.as_deref();
    let values = [
        (
            "available_low",
            "bit/s",
            available.map(|found| found.low_bps.as_f64()),
        ),
        (
            "available_high",
            "bit/s",
            available.and_then(|found| Some(found.high_bps?.as_f64())),
        ),
        (
            "bdp",
            "bytes",
            window.and_then(|window| Some(window.bdp_bytes? as f64)),
        ),
        (
            "window_needed",
            "bytes",
            window.and_then(|window| Some(window.needed_bytes? as f64)),
        ),
    ];
    for (metric, unit, value) in values {
        if let Some(value) = value {
            table.push(&of_direction(metric, unit, value));
        }
    }
}

/// Adds the round-trip times and the loss of a hop, and the capacity of the link that leads to it.
fn push_hop(table: &mut ValueTable, row: &ValueRow<'_>, hop: &PathHop, link: Option<&PathLink>) {
    let of_hop = |metric, unit, value| ValueRow {
        kind: "estimate",
        metric,
        unit,
        value,
        ..row.clone()
    };
    if let Some(rtt) = &hop.rtt_ms {
        table.push(&ValueRow {
            low: Some(rtt.mean_low / 1e3),
            high: Some(rtt.mean_high / 1e3),
            n: Some(rtt.n),
            ..of_hop("rtt", "s", rtt.mean / 1e3)
        });
        table.push(&of_hop("rtt_min", "s", rtt.min / 1e3));
        table.push(&of_hop("rtt_max", "s", rtt.max / 1e3));
    } else if let Some(rtt) = &hop.reported_rtt_ms {
        table.push(&of_hop("rtt", "s", rtt.mean / 1e3));
        table.push(&of_hop("rtt_min", "s", rtt.min / 1e3));
        table.push(&of_hop("rtt_max", "s", rtt.max / 1e3));
    }
    // What is not answered is lost only where probes are answered at all, and without a limit.
    if let Some(loss) = hop
        .loss()
        .filter(|_| hop.answering == HopAnswering::Answers)
    {
        table.push(&of_hop("loss", "share", loss));
    }
    if let Some(capacity) = link.and_then(|link| link.capacity_bps) {
        table.push(&of_hop("capacity", "bit/s", 0.0).with_estimate(&capacity));
    }
    if let Some(bound) = link.and_then(|link| link.at_least_bps) {
        table.push(&of_hop("capacity_at_least", "bit/s", bound.as_f64()));
    }
}
