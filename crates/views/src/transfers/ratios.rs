//! The times of protocols as ratios.

use crate::text::{fold, percent};
use crate::width::LineWidth;
use caudal_core::quantity::{EstimateInUnit, Unit};
use caudal_core::transfer::{FileReport, TransferRatio};

/// The ratios of a campaign: a line each, below what they are.
pub(super) fn lines(report: &FileReport, width: LineWidth) -> Vec<String> {
    let each: Vec<String> = report
        .ratios
        .iter()
        .filter_map(|ratio| line(report, ratio, width))
        .collect();
    if each.is_empty() {
        return Vec::new();
    }
    let title = format!(
        "times as ratios, paired by block, with {} intervals on a log scale:",
        percent(report.goal.confidence)
    );
    [fold(&title, 4, width)].into_iter().chain(each).collect()
}

fn line(report: &FileReport, ratio: &TransferRatio, width: LineWidth) -> Option<String> {
    let own = &report.cells.get(ratio.cell as usize)?.cell;
    let reference = &report.cells.get(ratio.reference as usize)?.cell;
    let shown = EstimateInUnit::new(&ratio.time, Unit::Ratio);
    let interval = shown
        .confidence_interval()
        .map_or_else(String::new, |interval| format!(" ({interval})"));
    let verdict = match (ratio.time.low, ratio.time.high) {
        (_, high) if high < 1.0 => "faster",
        (low, _) if low > 1.0 => "slower",
        _ => "no difference shown",
    };
    let line = format!(
        "  {}: {} / {} = {}{interval}: {verdict}",
        own.content(),
        own.name(),
        reference.name(),
        shown.mean(),
    );
    Some(fold(&line, 4, width))
}

#[cfg(test)]
mod tests {
    use super::super::sample::{GOAL, campaign, rbt, run, tcp};
    use super::*;
    use caudal_analysis::transfer::file_report;

    #[test]
    fn a_ratio_says_which_is_faster() {
        let text = lines(&campaign(6), LineWidth::UNLIMITED).join("\n");
        assert_eq!(
            text,
            "\
times as ratios, paired by block, with 95 % intervals on a log scale:
  1 MB: rbt 1400 / tcp = 0.5000: faster
  10 MB: rbt 1400 / tcp = 0.500000 (95 % CI 0.500000–0.500000): faster"
        );
        assert_eq!(lines(&campaign(4), LineWidth::UNLIMITED), [""; 0]);
    }

    #[test]
    fn an_interval_around_one_shows_no_difference() {
        let times = [
            (10.0, 11.0),
            (12.0, 10.0),
            (11.0, 11.5),
            (10.0, 10.2),
            (9.0, 9.4),
        ];
        let runs = (1..).zip(times).flat_map(|(block, (first, second))| {
            [
                run(0, block, 1_000_000, first * 1e3),
                run(1, block, 1_000_000, second * 1e3),
            ]
        });
        let cells = vec![tcp(1_000_000), rbt(1_000_000)];
        let report = file_report(1, GOAL, cells, runs.collect());
        let text = lines(&report, LineWidth::UNLIMITED).join("\n");
        assert!(text.ends_with(": no difference shown"), "{text}");
        assert!(text.contains("95 % CI"), "{text}");
    }
}
