//! The closing block of a test with STAMP: the round trips, each direction, and how far the clocks can be believed.

use crate::fitted_row::{FittedCell, fitted_row};
use crate::interval_table::Detail;
use crate::round_trips::times_line;
use crate::text::{fold, percent, time_us, warnings};
use crate::text_form::TextForm;
use crate::width::LineWidth;
use caudal_core::echo::OneWaySummary;
use caudal_core::marks::MarkReport;
use caudal_core::run::Run;
use caudal_core::stamp::{ReflectorNumbering, StampClock, StampReport, StampWay};
use caudal_core::text::ExternalText;

/// The lines of the closing block.
#[must_use]
pub(super) fn result_lines(run: &Run, form: TextForm) -> Vec<String> {
    let Some(report) = run.stamp() else {
        return Vec::new();
    };
    let every = form.detail == Detail::Every;
    let mut lines = Vec::new();
    let mut push = |text: String| lines.push(fold(&text, 4, form.width));
    match times_line(&report.packets) {
        Some(times) => push(times),
        None => push("rtt: no reply came in time".to_owned()),
    }
    lines.extend(table(report, form.width));
    let mut push = |text: String| lines.push(fold(&text, 4, form.width));
    undecided(report).into_iter().for_each(&mut push);
    if !form.quiet {
        push(clocks(report));
        reflector(report, every).into_iter().for_each(&mut push);
    }
    marks(report).into_iter().for_each(&mut push);
    if every {
        details(report).into_iter().for_each(&mut push);
    }
    lines.extend(warnings(run, form.width));
    lines
}

/// A row for each direction below their header.
fn table(report: &StampReport, width: LineWidth) -> Vec<String> {
    let header = [
        "packets",
        "lost",
        "reordered",
        "dupl.",
        "delay p50",
        "var. p99",
    ];
    let ways = [
        ("upload", &report.ways.up, &report.packets.up),
        ("download", &report.ways.down, &report.packets.down),
    ];
    let mut lines = vec![cells("", header.map(str::to_owned), width)];
    lines.extend(
        ways.into_iter()
            .map(|(name, way, delay)| row(name, way, delay.as_ref(), width)),
    );
    lines
}

fn row(name: &str, way: &StampWay, delay: Option<&OneWaySummary>, width: LineWidth) -> String {
    let count =
        |count: Option<u64>| count.map_or_else(|| "–".to_owned(), |count| count.to_string());
    let lost = way.lost.map_or_else(
        || "cannot tell".to_owned(),
        |lost| match (lost, way.loss) {
            (0, _) | (_, None) => lost.to_string(),
            (_, Some(loss)) => format!("{lost} ({})", percent(loss.mean)),
        },
    );
    let median = delay.and_then(|way| Some(time_us(way.delay_us?.p50)));
    let variation = delay.and_then(|way| way.pdv_p99_us).map(time_us);
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
    let shown = [
        count(way.sent),
        lost,
        count(way.reordered),
        count(way.duplicate),
        or_dash(median),
        or_dash(variation),
    ];
    cells(name, shown, width)
}

fn cells(name: &str, shown: [String; 6], width: LineWidth) -> String {
    let [packets, lost, reordered, duplicate, delay, variation] = shown;
    let cells = [
        FittedCell::new(format!("{name:<9}"), 9, 0),
        FittedCell::new(packets, 9, 3),
        FittedCell::new(lost, 17, 0),
        FittedCell::new(reordered, 11, 4),
        FittedCell::new(duplicate, 7, 5),
        FittedCell::new(delay, 12, 1),
        FittedCell::new(variation, 12, 2),
    ];
    fitted_row(&cells, width)
}

/// The losses of which the direction is not known, and why.
fn undecided(report: &StampReport) -> Option<String> {
    let ways = &report.ways;
    if ways.undecided == 0 {
        return None;
    }
    let why = match (ways.up.lost, ways.numbering) {
        (Some(_), _) => "they come after the last reply",
        (None, Some(ReflectorNumbering::OfSender)) => {
            "the reflector numbers replies as packets are numbered: it keeps no state, or lost none on their way there"
        }
        (None, _) => "the reflector's numbers are not of this test alone",
    };
    Some(format!(
        "lost in a direction that cannot be told: {}, because {why}",
        ways.undecided
    ))
}

/// How far the delays of each direction can be believed.
fn clocks(report: &StampReport) -> String {
    let is_synchronized = |clock: Option<StampClock>| clock.filter(|one| one.is_synchronized);
    let word = |clock: StampClock| time_us(clock.error_us);
    let own = is_synchronized(report.clock);
    let said = match (own, is_synchronized(report.reflector.clock)) {
        (None, None) => "neither is synchronized".to_owned(),
        (Some(own), None) => format!("only this one is synchronized (to {})", word(own)),
        (None, Some(other)) => {
            format!(
                "only the reflector's is synchronized (to {} by its word)",
                word(other)
            )
        }
        (Some(own), Some(other)) => format!(
            "both are synchronized (to {}, and to {} by its word)",
            word(own),
            word(other)
        ),
    };
    let bound = report.packets.up.as_ref().and_then(|way| way.bound_us);
    let known = match (bound.map(time_us), &report.offset) {
        (None, _) => "the delay each way is not known".to_owned(),
        (Some(bound), None) => format!("the delay each way is known to ±{bound}"),
        (Some(bound), Some(_)) => {
            format!("the delay each way is known to ±{bound}, its variation exactly")
        }
    };
    format!("clocks: {said}; {known}")
}

/// What is known of the reflector and of the way there.
fn reflector(report: &StampReport, every: bool) -> Option<String> {
    let reflector = &report.reflector;
    // One whose clock has a resolution of less says that it kept none.
    let kept = reflector.kept_us.filter(|kept| kept.p50 > 0.0);
    let kept = kept.map(|kept| {
        format!(
            "kept packets for {} (p50; not in the round trips)",
            time_us(kept.p50)
        )
    });
    let seen = reflector.seen_from.as_ref().filter(|_| every);
    let seen = seen.map(|source| format!("sees this end as {}", ExternalText::as_received(source)));
    let hops = match (report.hops_up, report.hops_down) {
        (Some(up), Some(down)) => Some(format!("{up} hops there, {down} back")),
        (Some(up), None) => Some(format!("{up} hops there")),
        (None, Some(down)) => Some(format!("{down} hops back")),
        (None, None) => None,
    };
    let parts: Vec<String> = [kept, seen, hops].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("reflector: {}", parts.join("; ")))
}

/// What became of the marks, where there is something to say of them that no warning says.
fn marks(report: &StampReport) -> Vec<String> {
    let ways = [
        ("upload", &report.marks_up),
        ("download", &report.marks_down),
    ];
    let told = |(name, marks): (&str, &Option<MarkReport>)| {
        let marks = marks.as_ref()?;
        let is_told = marks.is_notable() && marks.changes().is_empty();
        is_told.then(|| format!("marks, {name}: {}", marks.sentence()))
    };
    ways.into_iter().filter_map(told).collect()
}

/// Everything else that is known.
fn details(report: &StampReport) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, way) in [
        ("upload", &report.packets.up),
        ("download", &report.packets.down),
    ] {
        if let Some(way) = way {
            let us = |us: Option<f64>| us.map_or_else(|| "–".to_owned(), time_us);
            lines.push(format!(
                "{name}: delay above the minimum p50 {}, p90 {}, p99 {}, p99.9 {}, max {}; from one packet to the next {} on average",
                time_us(way.pdv_p50_us),
                us(way.pdv_p90_us),
                us(way.pdv_p99_us),
                us(way.pdv_p99_9_us),
                time_us(way.pdv_max_us),
                us(way.ipdv_mean_abs_us)
            ));
        }
    }
    if let Some(late) = &report.packets.lateness_us {
        lines.push(format!(
            "schedule: packets left late by p50 {}, max {}, which is not in the round trips",
            time_us(late.p50),
            time_us(late.max)
        ));
    }
    if let Some(late) = &report.reflector.late_us {
        lines.push(format!(
            "replies left the reflector {} after their timestamp (p50 of {}, by follow-up telemetry)",
            time_us(late.p50),
            late.n
        ));
    }
    if !report.extensions.is_empty() {
        let each = report.extensions.iter().map(|one| {
            let answer = if one.is_answered {
                "answered"
            } else {
                "not answered"
            };
            format!("{} {answer}", one.extension.name())
        });
        lines.push(format!(
            "extensions: {}",
            each.collect::<Vec<_>>().join(", ")
        ));
    }
    if report.discarded > 0 {
        lines.push(format!(
            "discarded: {} packets that are no replies of this test",
            report.discarded
        ));
    }
    if let Some(why) = &report.kernel_stamps_missing {
        lines.push(format!("times are the program's, not the kernel's: {why}"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::stamp::StampWays;

    fn way(sent: u64, lost: u64) -> StampWay {
        StampWay {
            sent: Some(sent),
            lost: Some(lost),
            loss: caudal_stats::wilson(lost, sent, 0.95),
            duplicate: Some(0),
            reordered: Some(0),
        }
    }

    #[test]
    fn rows_fit_80_columns_and_say_what_cannot_be_told() {
        let full = row(
            "download",
            &way(4_000_000, 399_999),
            None,
            LineWidth::UNLIMITED,
        );
        assert!(full.chars().count() <= 80, "{full}");
        assert!(full.contains("399999 (10.00 %)"), "{full}");
        for columns in [40, 60, 80] {
            let narrow = row(
                "upload",
                &way(1000, 12),
                None,
                LineWidth::of_columns(columns),
            );
            assert!(narrow.chars().count() <= columns, "{narrow}");
            assert!(narrow.contains("12 (1.2"), "{narrow}");
        }
        let unknown = row("upload", &StampWay::default(), None, LineWidth::UNLIMITED);
        assert!(unknown.contains("cannot tell"), "{unknown}");
    }

    #[test]
    fn the_reason_is_named_where_a_direction_is_not_known() {
        let report = |ways| StampReport {
            packets: caudal_core::echo::ReplySummary::default(),
            ways,
            reflector: caudal_core::stamp::StampReflector::default(),
            clock: None,
            offset: None,
            hops_up: Some(2),
            hops_down: None,
            extensions: Vec::new(),
            marks_up: None,
            marks_down: None,
            discarded: 0,
            elapsed_s: 1.0,
            kernel_stamps_missing: None,
            cut_short: None,
        };
        let stateless = report(StampWays {
            numbering: Some(ReflectorNumbering::OfSender),
            up: StampWay::default(),
            down: StampWay::default(),
            undecided: 7,
        });
        let line = undecided(&stateless).unwrap();
        assert!(
            line.starts_with(
                "lost in a direction that cannot be told: 7, because the reflector numbers"
            ),
            "{line}"
        );
        let after = report(StampWays {
            numbering: Some(ReflectorNumbering::Own),
            up: way(10, 1),
            down: way(9, 0),
            undecided: 2,
        });
        assert!(
            undecided(&after)
                .unwrap()
                .ends_with("they come after the last reply")
        );
        assert_eq!(
            reflector(&after, false),
            Some("reflector: 2 hops there".to_owned())
        );
        assert!(clocks(&after).contains("the delay each way is not known"));
    }
}
