//! What both ends of a path measured together, a line for each thing.

use super::{duplex, headline, throughput};
use crate::cells::ms;
use crate::idle_windows::{self, DirectionWindow, step_lines};
use crate::interval_table::Detail;
use crate::text::{fold, time_us};
use crate::text_form::TextForm;
use crate::width::LineWidth;
use crate::window_text;
use caudal_core::echo::{OneWaySummary, ReplySummary};
use caudal_core::path::{
    CapacityEvidence, NarrowCapacity, PathAvailable, PathBetweenEnds, PathDirection, PathReport,
    StatementConfidence, TokenBucketKind,
};
use caudal_core::quantity::{EstimateInUnit, Unit, rate, size};
use caudal_core::run::Run;

/// The lines between the narrow link and the table of hops.
pub(super) fn lines(report: &PathReport, form: TextForm) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(ends) = &report.between_ends {
        lines.push(format!(
            "measured with {}, in frames on the wire:",
            ends.peer
        ));
        for direction in &ends.directions {
            lines.extend(direction_lines(direction, form.detail));
        }
        lines.extend(hops_differ(report));
        lines.extend(ends.baseline.as_ref().map(round_trip));
        lines.extend(ends.baseline.as_ref().and_then(delay_variation));
    }
    if let Some(found) = &report.duplex {
        let is_headline = headline::is_duplex_first(report);
        lines.extend(duplex::lines(found, form.detail, is_headline));
    }
    let mut lines: Vec<String> = lines.iter().map(|line| fold(line, 4, form.width)).collect();
    let ends = report.between_ends.as_deref();
    if let Some(tcp) = ends.and_then(|ends| ends.throughput.as_ref()) {
        lines.extend(throughput::lines(tcp));
    }
    lines
}

/// What to do for a connection to fill the path.
pub(super) fn next_steps(run: &Run, report: &PathReport, width: LineWidth) -> Vec<String> {
    let duplex = report.duplex.as_ref();
    if let Some(remedy) = duplex.and_then(|duplex| duplex.remedy.as_ref()) {
        return vec![fold(&format!("next step: {remedy}"), 4, width)];
    }
    let ends = report.between_ends.as_deref();
    ends.map_or_else(Vec::new, |ends| step_lines(run, &windows(ends), width))
}

/// What is known while it is measured.
pub(super) fn live_lines(ends: &PathBetweenEnds) -> Vec<String> {
    let directions = ends.directions.iter();
    directions
        .flat_map(|direction| {
            let without_window = PathDirection {
                window: None,
                ..direction.clone()
            };
            direction_lines(&without_window, Detail::Usual)
        })
        .chain(ends.baseline.as_ref().map(round_trip))
        .collect()
}

fn direction_lines(of: &PathDirection, detail: Detail) -> Vec<String> {
    let name = of.direction.in_text();
    let mut lines = Vec::new();
    if let Some(narrow) = &of.narrow {
        lines.push(format!("  {name}: {}", capacity(narrow)));
        if detail == Detail::Every {
            lines.extend(evidence(narrow));
        }
        lines.push(format!("    {}", policer(narrow)));
    }
    match (&of.available, &of.available_unknown) {
        (Some(available), _) => lines.push(format!("    {}", available_text(available))),
        (None, Some(why)) => {
            lines.push(format!(
                "    available bandwidth: cannot tell, because {why}"
            ));
        }
        (None, None) => {}
    }
    if let Some(window) = &of.window {
        lines.push(format!("    window {}", idle_windows::text(window)));
        if detail == Detail::Every {
            let settings = window_text::settings(window);
            lines.extend(settings.into_iter().map(|line| format!("  {line}")));
        }
    }
    lines
}

/// The directions whose window is known.
fn windows(ends: &PathBetweenEnds) -> Vec<DirectionWindow<'_>> {
    let known = ends.directions.iter().filter_map(|of| {
        Some(DirectionWindow {
            direction: of.direction,
            window: of.window.as_deref()?,
            step: &of.next_step.as_ref()?.remedy,
        })
    });
    known.collect()
}

/// The capacity, or the shaper, with the confidence in it.
fn capacity(narrow: &NarrowCapacity) -> String {
    let doubt = match narrow.confidence {
        StatementConfidence::High => String::new(),
        other => format!(" ({} confidence)", other.name()),
    };
    let line = narrow
        .capacity_bps
        .as_ref()
        .map(|line| EstimateInUnit::new(line, Unit::BitPerSecond));
    match (&narrow.shaper, line) {
        (Some(shaper), line) => {
            let line = line.map_or_else(String::new, |line| {
                format!(", on a line of {}", line.mean())
            });
            let what = match shaper.kind {
                Some(TokenBucketKind::Policer) => "policed",
                Some(TokenBucketKind::Shaper) | None => "shaped",
            };
            format!(
                "{what} to {}, {} at once{line}{doubt}",
                EstimateInUnit::new(&shaper.rate_bps, Unit::BitPerSecond).plus_minus(),
                size(shaper.bucket_bytes)
            )
        }
        (None, Some(line)) => format!("narrow link {}{doubt}", line.plus_minus()),
        (None, None) => match narrow.at_least_bps {
            Some(bound) => format!("narrow link too fast to tell: above {}", rate(bound)),
            None => format!("narrow link {}", narrow.reason),
        },
    }
}

/// What a capacity was read from.
fn evidence(narrow: &NarrowCapacity) -> Vec<String> {
    let mut lines = vec![format!("    {}", narrow.reason)];
    let of = |what: &str, estimate| {
        let shown = EstimateInUnit::new(estimate, Unit::BitPerSecond).plus_minus();
        format!("    {what}: {shown}")
    };
    let what = match (narrow.evidence, narrow.bulk_packets) {
        (CapacityEvidence::Bulks, Some(packets)) => format!("bulks of {packets} packets"),
        (CapacityEvidence::Trains, _) => "trains".to_owned(),
        _ => "pairs".to_owned(),
    };
    lines.extend(narrow.capacity_bps.as_ref().map(|one| of(&what, one)));
    let confirmed = narrow.confirmed_by_bps.as_ref();
    let other = match narrow.evidence {
        CapacityEvidence::Pairs => "packets of another size",
        CapacityEvidence::Bulks | CapacityEvidence::Trains => "shorter bulks",
    };
    lines.extend(confirmed.map(|one| of(other, one)));
    lines.extend(narrow.trains_bps.as_ref().map(|one| of("trains", one)));
    lines
}

/// Whether there is a policer or shaper, as far as trains tell.
fn policer(narrow: &NarrowCapacity) -> String {
    let longest = size(narrow.longest_train_bytes);
    match &narrow.shaper {
        Some(shaper) => match shaper.kind {
            Some(TokenBucketKind::Policer) => {
                "a policer: what exceeds the rate is dropped".to_owned()
            }
            Some(TokenBucketKind::Shaper) | None => {
                "a token bucket: what exceeds the rate waits".to_owned()
            }
        },
        None if narrow.longest_train_bytes.get() == 0 => {
            "policer or shaper: cannot tell without a train that arrived".to_owned()
        }
        None => format!("no policer or shaper with a bucket of up to {longest}"),
    }
}

/// What hops show where both ends found another rate.
fn hops_differ(report: &PathReport) -> Option<String> {
    let narrow = report
        .narrow
        .as_ref()
        .filter(|_| report.narrow_hop_link().is_none())?;
    let shown = EstimateInUnit::new(&narrow.capacity_bps, Unit::BitPerSecond);
    Some(format!(
        "  hops show {} to hop {} for packets that come one by one; several in a row get what both ends found",
        shown.mean(),
        narrow.ttl
    ))
}

fn available_text(available: &PathAvailable) -> String {
    let bracket = match available.high_bps {
        Some(high) if high <= available.low_bps => format!("{}, all of it", rate(high)),
        Some(high) => format!("{} to {}", rate(available.low_bps), rate(high)),
        None => format!("at least {}", rate(available.low_bps)),
    };
    let grey = match (available.grey_low_bps, available.grey_high_bps) {
        (Some(low), Some(high)) if low < high => {
            format!(", varying from {} to {}", rate(low), rate(high))
        }
        _ => String::new(),
    };
    let doubt = if available.unfinished {
        " (the search was not finished)"
    } else {
        ""
    };
    format!("available bandwidth {bracket}{grey}{doubt}")
}

fn round_trip(baseline: &ReplySummary) -> String {
    let Some(rtt) = baseline.rtt_us else {
        return "  round trip without load: no reply".to_owned();
    };
    let [min, mean, max] = [rtt.min, rtt.mean, rtt.max].map(|each| ms(Some(each)));
    let lost = match baseline.lost {
        0 => String::new(),
        lost => format!(", {lost} of {} lost", baseline.sent),
    };
    format!("  round trip without load: {min}/{mean}/{max} ms (min/avg/max){lost}")
}

/// The delay above its minimum each way: median and 90th percentile.
fn delay_variation(baseline: &ReplySummary) -> Option<String> {
    let one = |of: &OneWaySummary| {
        let p90 = of.pdv_p90_us.map_or_else(|| "–".to_owned(), time_us);
        format!("{}/{p90}", time_us(of.pdv_p50_us))
    };
    let (up, down) = (baseline.up.as_ref()?, baseline.down.as_ref()?);
    Some(format!(
        "  delay variation (p50/p90): upload {}, download {}",
        one(up),
        one(down)
    ))
}
