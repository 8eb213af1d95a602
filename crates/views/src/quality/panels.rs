//! The three panels of a test of latency under load: throughput, latency and loss on one time axis, in 80 columns or fewer.

use crate::cells::{ms, rate, share};
use crate::text::truncated;
use crate::width::{LineWidth, USUAL_WIDTH};
use caudal_core::plan::PhaseLoad;
use caudal_core::quality::QualityInterval;

/// Maximum columns of a panel's plot.
const MAX_COLUMNS: usize = 66;
/// The columns of the scale beside a plot, with the gap behind it.
const SCALE: usize = 13;
/// Rows of a panel's plot.
const ROWS: usize = 4;
/// Parts of a row that a block character can fill.
const EIGHTHS: usize = 8;
const BLOCKS: [char; EIGHTHS + 1] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The panels of a test planned for `total_s`, as far as it has gone.
///
/// They fit lines of this width: each panel is as wide as there is room, and a title is cut.
pub(super) fn panel_lines(
    intervals: &[QualityInterval],
    total_s: f64,
    width: LineWidth,
) -> Vec<String> {
    let room = width.columns().unwrap_or(USUAL_WIDTH);
    let number = room.saturating_sub(SCALE).min(MAX_COLUMNS);
    let end_s = intervals.last().map_or(0.0, |last| last.end_s);
    let total_s = total_s.max(end_s).max(1e-9);
    let columns = columns(intervals, total_s, number);
    let latest = intervals.last();
    let of = |value: fn(&QualityInterval) -> Option<f64>| -> Vec<Option<f64>> {
        let peak = |column: &Vec<&QualityInterval>| {
            let values = column.iter().filter_map(|one| value(one));
            values.reduce(f64::max)
        };
        columns.iter().map(peak).collect()
    };
    // The sum of both directions is the rate of no link.
    let goodput = |one: &QualityInterval| match (one.down_bps, one.up_bps) {
        (None, None) => None,
        (down, up) => Some(down.unwrap_or(0.0).max(up.unwrap_or(0.0))),
    };
    let rates = format!(
        "throughput   down {}   up {}",
        rate(latest.and_then(|one| one.down_bps)),
        rate(latest.and_then(|one| one.up_bps))
    );
    let latency = format!(
        "latency      RTT {} ms   max {} ms",
        ms(latest.and_then(|one| one.rtt_us)),
        ms(latest.and_then(|one| one.rtt_max_us))
    );
    let loss = format!(
        "loss         probes {}   retransmitted {}",
        share(latest.and_then(QualityInterval::loss)),
        share(latest.and_then(|one| one.retransmitted))
    );
    let lost = |one: &QualityInterval| match (one.loss(), one.retransmitted) {
        (None, None) => None,
        (probes, flows) => Some(probes.unwrap_or(0.0).max(flows.unwrap_or(0.0))),
    };
    let mut lines = plot(&rates, &of(goodput), |top| rate(Some(top)));
    lines.extend(plot(&latency, &of(|one| one.rtt_max_us), |top| {
        format!("{} ms", ms(Some(top)))
    }));
    lines.extend(plot(&loss, &of(lost), |top| share(Some(top))));
    lines.push(axis(&columns, end_s));
    let lines = lines.iter();
    lines
        .map(|line| truncated(line, room).into_owned())
        .collect()
}

/// The intervals of each column.
fn columns(
    intervals: &[QualityInterval],
    total_s: f64,
    number: usize,
) -> Vec<Vec<&QualityInterval>> {
    let mut columns = vec![Vec::new(); number];
    for one in intervals {
        let middle_s = f64::midpoint(one.start_s, one.end_s);
        let at = (middle_s / total_s * number as f64) as usize;
        columns[at.min(number - 1)].push(one);
    }
    // Where columns are narrower than intervals, an interval fills those up to the next.
    let last = columns.iter().rposition(|column| !column.is_empty());
    for at in 1..last.map_or(0, |last| last + 1) {
        if columns[at].is_empty() {
            columns[at] = columns[at - 1].clone();
        }
    }
    columns
}

/// A panel: its title, then the bars of its values below the label of the largest.
fn plot(title: &str, values: &[Option<f64>], label: impl Fn(f64) -> String) -> Vec<String> {
    let top = values.iter().flatten().copied().fold(0.0, f64::max);
    let mut lines = vec![title.to_owned()];
    for row in (0..ROWS).rev() {
        let bars: String = values
            .iter()
            .map(|value| {
                let height = value.unwrap_or(0.0) / top.max(1e-12) * (ROWS * EIGHTHS) as f64;
                // The least that is not nothing is to be seen.
                let least = f64::from(u8::from(value.is_some_and(|value| value > 0.0)));
                let filled = height.max(least) as usize;
                BLOCKS[filled.saturating_sub(row * EIGHTHS).min(EIGHTHS)]
            })
            .collect();
        let scale = match row {
            _ if row == ROWS - 1 => label(top),
            0 => "0".to_owned(),
            _ => String::new(),
        };
        lines.push(format!("{scale:>12} {bars}").trim_end().to_owned());
    }
    lines
}

/// The time axis: the phases, each where it begins.
fn axis(columns: &[Vec<&QualityInterval>], end_s: f64) -> String {
    let mut line: Vec<char> = vec![' '; columns.len()];
    let mut before: Option<PhaseLoad> = None;
    for (at, column) in columns.iter().enumerate() {
        let Some(first) = column.last() else { continue };
        if before.replace(first.load) != Some(first.load) {
            // The name before it ends with a gap.
            if let Some(gap) = at.checked_sub(1) {
                line[gap] = ' ';
            }
            for (place, letter) in line[at..].iter_mut().zip(first.load.name().chars()) {
                *place = letter;
            }
        }
    }
    let line: String = line.into_iter().collect();
    format!("{end_s:>10.1} s {line}").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use unicode_width::UnicodeWidthStr;

    fn interval(nth: u32) -> QualityInterval {
        let load = PhaseLoad::ALL[(nth / 50) as usize % 4];
        QualityInterval {
            load,
            start_s: f64::from(nth) * 0.2,
            end_s: f64::from(nth + 1) * 0.2,
            down_bps: (load == PhaseLoad::Download).then_some(20e6),
            up_bps: (load == PhaseLoad::Upload).then_some(5e6),
            retransmitted: None,
            rtt_us: Some(40e3),
            rtt_max_us: Some(40e3 + f64::from(nth) * 1e3),
            tcp_rtt_us: None,
            probes: 10,
            lost: u64::from(nth.is_multiple_of(7)),
        }
    }

    #[test]
    fn three_panels_fit_the_terminal_on_one_time_axis() {
        let intervals: Vec<_> = (0..200).map(interval).collect();
        for columns in [40, 60, 78] {
            let lines = panel_lines(&intervals, 40.0, LineWidth::of_columns(columns));
            assert_eq!(lines.len(), 16);
            assert!(
                lines.iter().all(|line| line.width() <= columns),
                "{lines:#?}"
            );
            assert!(lines.last().unwrap().contains(PhaseLoad::ALL[3].name()));
        }
        let lines = panel_lines(&intervals, 40.0, LineWidth::UNLIMITED);
        assert!(lines.iter().all(|line| line.width() <= 80), "{lines:#?}");
        let titles: Vec<_> = ["throughput", "latency", "loss"]
            .iter()
            .map(|title| lines.iter().position(|line| line.starts_with(title)))
            .collect();
        assert_eq!(titles, [Some(0), Some(5), Some(10)]);
        let axis = lines.last().unwrap();
        for load in PhaseLoad::ALL {
            assert!(axis.contains(load.name()), "{axis}");
        }
        assert!(lines[1].contains("20 Mbit/s") && lines[1].contains('█'));
    }

    #[test]
    fn a_test_that_has_begun_has_panels_as_well() {
        assert_eq!(
            panel_lines(&[interval(0)], 35.0, LineWidth::UNLIMITED).len(),
            16
        );
        assert_eq!(panel_lines(&[], 35.0, LineWidth::UNLIMITED).len(), 16);
    }
}
