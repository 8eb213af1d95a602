//! The closing block of a test of latency under load: the grade first, then the phases, then what to do.

use super::applications;
use crate::cells::{ms, rate, share};
use crate::fitted_row::{FittedCell, fitted_row};
use crate::interval_table::Detail;
use crate::text::{self, fold};
use crate::text_form::TextForm;
use crate::width::LineWidth;
use caudal_core::marks::MarkReport;
use caudal_core::plan::{Direction, PhaseLoad};
use caudal_core::quality::{DelayIncrease, Grade, PhaseReport, QualityReport};
use caudal_core::run::Run;

/// The lines of the closing block.
#[must_use]
pub fn result_lines(run: &Run, form: TextForm) -> Vec<String> {
    let Some(report) = run.quality() else {
        return Vec::new();
    };
    let mut lines = report_lines(report, form);
    lines.extend(text::warnings(run, form.width));
    lines
}

/// The same without the warnings of the run.
#[must_use]
pub fn report_lines(report: &QualityReport, form: TextForm) -> Vec<String> {
    let mut lines = vec![grade_line(report, form.width)];
    lines.extend(phase_table(report, form.width));
    if form.quiet {
        return lines;
    }
    lines.extend(responsiveness_line(report, form.width));
    lines.extend(via_line(report).map(|line| fold(&line, 4, form.width)));
    if form.detail == Detail::Every {
        let width = form.width;
        lines.extend(one_way_line(report, width));
        let phases = || report.phases.iter();
        lines.extend(phases().flat_map(|phase| added_lines(phase, width)));
        lines.extend(phases().filter_map(|phase| responsiveness_parts(phase, width)));
        lines.extend(phases().filter_map(|phase| one_way_percentiles(phase, width)));
        lines.extend(report.phases.iter().flat_map(probe_lines));
    }
    let sentences = applications::sentences(report);
    lines.extend(sentences.iter().map(|line| fold(line, 4, form.width)));
    let ways = [
        ("upload", &report.marks_up),
        ("download", &report.marks_down),
    ];
    for (name, marks) in ways {
        let is_told = |marks: &&MarkReport| {
            marks.is_notable() && (form.detail == Detail::Every || marks.changes().is_empty())
        };
        let marks = marks.iter().filter(is_told);
        lines.extend(marks.map(|marks| {
            let text = format!("marks of UDP probes, {name}: {}", marks.sentence());
            fold(&text, 4, form.width)
        }));
    }
    for advice in &report.advice {
        lines.push(fold(&advice.finding, 4, form.width));
        lines.push(fold(&format!("  → {}", advice.remedy), 4, form.width));
    }
    lines
}

/// Maximum of what load adds up to a host on the way, as a part of what it adds to the whole, and beside that, µs: echoes and probes do
/// not see the same moments.
const MAX_PART: f64 = 1.15;
const MAX_MORE_US: f64 = 3000.0;

/// What load adds up to the host on the way, of what it adds to the whole round trip.
fn via_line(report: &QualityReport) -> Option<String> {
    let via = report.via.as_ref()?;
    let (host, address) = (via.host.as_received(), via.address.as_received());
    let name = match host == address {
        true => host.to_owned(),
        false => format!("{host} ({address})"),
    };
    if via.phases.iter().all(|phase| phase.rtt_us.is_none()) {
        let why = "no echo came back, so the delay cannot be split";
        return Some(format!("via {name}: {why}"));
    }
    let phases = report.phases.iter().zip(&via.phases);
    let added = phases.filter_map(|(phase, echoes)| {
        Some((phase.load, echoes.added_us?, phase.added_rtt?.mean_us))
    });
    let added: Vec<(PhaseLoad, f64, f64)> = added.collect();
    if added.is_empty() {
        let why = "too few echoes came back to split the delay";
        return Some(format!("via {name}: {why}"));
    }
    let is_more = |(_, part_us, whole_us): &(PhaseLoad, f64, f64)| {
        *part_us > whole_us.max(0.0) * MAX_PART + MAX_MORE_US
    };
    let rest = match added.iter().any(is_more) {
        false => "the rest arises beyond",
        true => "that is more than the whole: it is not on the way, or answers echoes late",
    };
    let each = added.iter().map(|(load, part_us, whole_us)| {
        let (part, whole) = (added_ms(*part_us), added_ms(*whole_us));
        format!("{} {part} of {whole} ms", load.name())
    });
    let each: Vec<String> = each.collect();
    Some(format!(
        "via {name}: of what load adds, up to there: {}; {rest}",
        each.join(", ")
    ))
}

/// The grade with what it was given for.
fn grade_line(report: &QualityReport, width: LineWidth) -> String {
    let Some(graded) = &report.grade else {
        return fold(&format!("no grade: {}", report.no_grade_reason()), 4, width);
    };
    let loaded = report.phases.iter();
    let loaded = loaded.filter(|phase| phase.load != PhaseLoad::Idle);
    let each: Vec<String> = loaded.filter_map(phase_grade).collect();
    let by = graded
        .single_load()
        .map_or_else(String::new, |load| format!(" by the {} alone", load.name()));
    fold(
        &format!(
            "grade {}{by}: load adds {} ms to the round-trip time on average ({})",
            graded.grade.name(),
            added_ms(graded.increase_us),
            each.join("; ")
        ),
        4,
        width,
    )
}

/// An increase in ms: nothing where it is within what round trips without load differ by, or below it.
fn added_ms(us: f64) -> String {
    if us < 50.0 {
        "0".to_owned()
    } else {
        ms(Some(us))
    }
}

/// The increase and the grade of a phase, by protocol where the path serves one first.
fn phase_grade(phase: &PhaseReport) -> Option<String> {
    let (name, added) = (phase.load.name(), phase.added_rtt?);
    let Some(grade) = phase.grade else {
        return Some(format!("{name} not graded"));
    };
    let of = |increase: DelayIncrease| {
        let grade = Grade::of_increase_us(increase.mean_us).name();
        format!("{} ms, {grade}", added_ms(increase.mean_us))
    };
    let by_protocol = phase.by_protocol.filter(|both| both.served_first.is_some());
    let apart = by_protocol.and_then(|both| Some((both.udp?, both.tcp?)));
    Some(match apart {
        Some((udp, tcp)) => format!("{name} UDP {}, TCP {}", of(udp), of(tcp)),
        None => format!("{name} {} ms, {}", added_ms(added.mean_us), grade.name()),
    })
}

/// A row a phase: goodput, round-trip times of UDP probes, their loss; of TCP probes where UDP does not pass.
fn phase_table(report: &QualityReport, width: LineWidth) -> Vec<String> {
    let header = ["down", "up", "p50", "p95", "p99", "max", "lost"].map(str::to_owned);
    let mut lines = vec![phase_cells("RTT ms", header, width)];
    for phase in &report.phases {
        let goodput = |direction| phase.direction(direction)?.summary.goodput_mean();
        let udp = phase.echo();
        let values = [
            rate(goodput(Direction::Down)),
            rate(goodput(Direction::Up)),
            ms(udp.map(|udp| udp.p50_us)),
            ms(udp.and_then(|udp| udp.p95_us)),
            ms(udp.and_then(|udp| udp.p99_us)),
            ms(udp.map(|udp| udp.max_us)),
            share(udp.map(|udp| udp.lost as f64 / udp.sent.max(1) as f64)),
        ];
        lines.push(phase_cells(phase.load.name(), values, width));
    }
    lines
}

fn phase_cells(name: &str, values: [String; 7], width: LineWidth) -> String {
    let [down, up, p50, p95, p99, max, lost] = values;
    let cells = [
        FittedCell::new(format!("{name:<8}"), 8, 0),
        FittedCell::new(down, 14, 1),
        FittedCell::new(up, 14, 1),
        FittedCell::new(p50, 9, 0),
        FittedCell::new(p95, 8, 4),
        FittedCell::new(p99, 8, 3),
        FittedCell::new(max, 8, 2),
        FittedCell::new(lost, 8, 0),
    ];
    fitted_row(&cells, width)
}

/// The delay that load adds in each direction, and its queue.
fn added_lines(phase: &PhaseReport, width: LineWidth) -> Vec<String> {
    let each = phase.added.iter().map(|added| {
        let queue = added.queue_max_bytes.map_or_else(String::new, |bytes| {
            format!(", a queue of up to {}", text::bytes(bytes as u64))
        });
        let again = phase
            .direction(added.direction)
            .and_then(|load| load.retransmitted)
            .map_or_else(String::new, |part| {
                format!("; {} retransmitted", share(Some(part)))
            });
        let line = format!(
            "{} adds, {}: mean {}, max {} ms{queue}{again}",
            phase.load.name(),
            added.direction.in_text(),
            ms(Some(added.increase.mean_us)),
            ms(Some(added.increase.max_us)),
        );
        fold(&line, 4, width)
    });
    each.collect()
}

/// The responsiveness of each phase with load, the confidence once where it is the same.
fn responsiveness_line(report: &QualityReport, width: LineWidth) -> Option<String> {
    let found = report.phases.iter();
    let found: Vec<(&str, f64, &str)> = found
        .filter_map(|phase| {
            let found = phase.responsiveness?;
            Some((phase.load.name(), found.rpm, found.confidence.name()))
        })
        .collect();
    let (_, _, first) = *found.first()?;
    let is_same = found.iter().all(|(_, _, confidence)| *confidence == first);
    let each = (0..).zip(&found).map(|(nth, (name, rpm, confidence))| {
        let unit = if nth == 0 || !is_same { " RPM" } else { "" };
        let of_one = match is_same {
            true => String::new(),
            false => format!(" ({confidence} confidence)"),
        };
        format!("{name} {rpm:.0}{unit}{of_one}")
    });
    let each: Vec<String> = each.collect();
    let of_all = if is_same {
        format!(" ({first} confidence)")
    } else {
        String::new()
    };
    let line = format!("responsiveness: {}{of_all}", each.join(", "));
    Some(fold(&line, 4, width))
}

/// The responsiveness of a phase with its parts.
fn responsiveness_parts(phase: &PhaseReport, width: LineWidth) -> Option<String> {
    let found = phase.responsiveness?;
    let line = format!(
        "responsiveness, {}: new connections {:.0} RPM (handshake {} ms, request {} ms), loaded flows {:.0} RPM ({} ms)",
        phase.load.name(),
        found.foreign_rpm,
        ms(Some(found.tcp_f_us)),
        ms(Some(found.http_f_us)),
        found.loaded_rpm,
        ms(Some(found.http_l_us)),
    );
    Some(fold(&line, 4, width))
}

/// The median delay each way in each phase; where the clocks do not allow to tell it, why.
fn one_way_line(report: &QualityReport, width: LineWidth) -> Option<String> {
    let ways = || report.phases.iter().flat_map(|phase| &phase.one_way);
    if let Some(reason) = ways().find_map(|way| way.cannot_tell.as_ref()) {
        let line = format!("delay each way: cannot tell, because {reason}");
        return Some(fold(&line, 4, width));
    }
    let told = report.phases.iter();
    let told = told.filter(|phase| !phase.one_way.is_empty());
    let each = told.map(|phase| {
        let ways: Vec<String> = phase
            .one_way
            .iter()
            .map(|way| format!("{} {}", way.direction.name(), ms(way.p50_us)))
            .collect();
        format!("{} {}", phase.load.name(), ways.join(" "))
    });
    let each: Vec<String> = each.collect();
    let line = format!("delay each way, median in ms: {}", each.join("; "));
    (!each.is_empty()).then(|| fold(&line, 4, width))
}

/// The percentiles of the delay each way in a phase; `None` where they cannot be determined.
fn one_way_percentiles(phase: &PhaseReport, width: LineWidth) -> Option<String> {
    let told = phase.one_way.iter().filter(|way| way.cannot_tell.is_none());
    let each: Vec<String> = told
        .map(|way| {
            format!(
                "{} p50 {} p95 {} p99 {} max {}",
                way.direction.in_text(),
                ms(way.p50_us),
                ms(way.p95_us),
                ms(way.p99_us),
                ms(way.max_us)
            )
        })
        .collect();
    let name = phase.load.name();
    let line = format!("delay each way in ms, {name}: {}", each.join(", "));
    (!each.is_empty()).then(|| fold(&line, 4, width))
}

/// Every probe of a phase.
fn probe_lines(phase: &PhaseReport) -> Vec<String> {
    let each = phase.probes.iter().map(|probe| {
        format!(
            "  {:<8} {:<13} n {:>5} lost {:>3}  p50 {:>7} p95 {:>7} p99 {:>7} max {:>7}",
            phase.load.name(),
            probe.probe.title(),
            probe.sent,
            probe.lost,
            ms(Some(probe.p50_us)),
            ms(probe.p95_us),
            ms(probe.p99_us),
            ms(Some(probe.max_us)),
        )
    });
    each.collect()
}
