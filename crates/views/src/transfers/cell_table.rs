//! The table of a campaign: a row for each cell, with its mean time and the error of that.

use crate::fitted_row::{FittedCell, fitted_row};
use crate::text::{self, fold, percent, truncated};
use crate::width::LineWidth;
use caudal_core::quantity::{EstimateInUnit, Unit};
use caudal_core::transfer::{FileReport, TransferCellReport};

/// The width of the first column.
const NAME: usize = 20;

/// The table of a campaign: the cells of each content below its name, then what the columns mean.
pub(super) fn lines(report: &FileReport, width: LineWidth) -> Vec<String> {
    let mut lines = Vec::new();
    for (content, cells) in by_content(report) {
        let header = [
            &content, "n", "mean", "sd", "error", "goal", "runs", "goodput",
        ];
        lines.push(cells_of_row(header, width));
        lines.extend(cells.into_iter().map(|cell| row(cell, width)));
    }
    lines.push(fold(&meaning(report), 4, width));
    lines
}

fn cells_of_row(cells: [&str; 8], width: LineWidth) -> String {
    let [name, n, mean, sd, error, goal, runs, goodput] = cells;
    let name = truncated(name, NAME);
    let cells = [
        FittedCell::new(format!("{name:<NAME$}"), NAME, 0),
        FittedCell::new(n, 5, 3),
        FittedCell::new(mean, 11, 1),
        FittedCell::new(sd, 10, 5),
        FittedCell::new(error, 8, 2),
        FittedCell::new(goal, 5, 4),
        FittedCell::new(runs, 7, 6),
        FittedCell::new(goodput, 14, 0),
    ];
    fitted_row(&cells, width)
}

fn row(cell: &TransferCellReport, width: LineWidth) -> String {
    fn shown<T>(value: Option<T>, show: impl FnOnce(T) -> String) -> String {
        value.map_or_else(|| "–".to_owned(), show)
    }
    let mean = cell.time_s.as_ref();
    let values = [
        cell.cell.name(),
        cell.n.to_string(),
        shown(mean, |time| EstimateInUnit::new(time, Unit::Seconds).mean()),
        shown(cell.sd_s, |sd| Unit::Seconds.show(sd)),
        shown(cell.error, error),
        shown(cell.goal_met, |met| {
            if met { "met" } else { "no" }.to_owned()
        }),
        shown(cell.runs_needed, |runs| runs.to_string()),
        shown(cell.goodput_bps, text::bits),
    ];
    cells_of_row(values.each_ref().map(String::as_str), width)
}

/// An error in percent, with as many digits as are read at a glance.
fn error(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        few if few < 9.995 => format!("{few:.2} %"),
        some if some < 99.95 => format!("{some:.1} %"),
        many => format!("{many:.0} %"),
    }
}

/// The meaning of the columns.
fn meaning(report: &FileReport) -> String {
    let goal = &report.goal;
    let pilot = goal.pilot_runs.map_or_else(String::new, |runs| {
        format!(", with the spread of the pilot of {runs} runs")
    });
    let few = if report.cells.iter().any(|cell| cell.n > 0 && cell.n < 5) {
        "; fewer than five runs have none"
    } else {
        ""
    };
    format!(
        "error: half the {} interval of the mean time, as a part of it{pilot}{few}; goal: at most {}; runs: how many that takes",
        percent(goal.confidence),
        percent(goal.error),
    )
}

/// The cells of a report by what they transfer, in their order.
pub(super) fn by_content(report: &FileReport) -> Vec<(String, Vec<&TransferCellReport>)> {
    let mut groups: Vec<(String, Vec<&TransferCellReport>)> = Vec::new();
    for cell in &report.cells {
        let content = cell.cell.content();
        match groups.iter_mut().find(|(name, _)| *name == content) {
            Some((_, cells)) => cells.push(cell),
            None => groups.push((content, vec![cell])),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::super::sample::campaign;
    use super::*;
    use crate::text::WIDTH;

    #[test]
    fn each_cell_is_a_row_with_its_error_and_the_runs_that_the_goal_takes() {
        let table = lines(&campaign(6), LineWidth::UNLIMITED)
            .join("\n")
            .replace("\n    ", " ");
        assert_eq!(
            table,
            "\
1 MB                    n       mean        sd   error goal   runs       goodput
tcp                     6    10.0 ms  1.414 ms  14.8 %   no     11    800 Mbit/s
rbt 1400                6    5.00 ms  707.1 µs  14.8 %   no     11  1.600 Gbit/s
10 MB                   n       mean        sd   error goal   runs       goodput
tcp                     6  100.00 ms  500.0 µs  0.52 %  met      2    800 Mbit/s
rbt 1400                6   50.00 ms  250.0 µs  0.52 %  met      2  1.600 Gbit/s
error: half the 95 % interval of the mean time, as a part of it; goal: at most 10 %; runs: how many that takes"
        );
    }

    #[test]
    fn fewer_than_five_runs_have_neither_error_nor_goal() {
        let lines = lines(&campaign(3), LineWidth::UNLIMITED);
        assert!(lines[1].contains(" –    –      – "), "{}", lines[1]);
        let unfolded = lines.join("\n").replace("\n    ", " ");
        assert!(unfolded.contains("fewer than five runs have none"));
    }

    #[test]
    fn rows_fit_the_terminal() {
        let mut report = campaign(6);
        let cell = &mut report.cells[0];
        cell.cell.file = Some("a/very/long/name/of/a/file.iso".into());
        cell.n = 9999;
        cell.error = Some(9.87);
        cell.runs_needed = Some(999_999);
        for line in lines(&report, LineWidth::UNLIMITED).iter().take(7) {
            assert!(line.chars().count() <= WIDTH, "{line}");
        }
    }
}
