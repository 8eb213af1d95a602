//! A table of predictions, a row for each name.

use crate::aligned::Alignment::{Left, Right};
use crate::aligned::aligned;
use crate::text::{WIDTH, wrap};
use caudal_core::prediction::{Method, Prediction};

/// The lines of a table with a row for each name: the value by formula, the simulated value where some row has one, and
/// the detail.
pub(super) fn table(predictions: &[Prediction]) -> Vec<String> {
    let mut names: Vec<&str> = Vec::new();
    for prediction in predictions {
        if !names.contains(&prediction.name.as_str()) {
            names.push(&prediction.name);
        }
    }
    let find = |name: &str, method: Method| {
        predictions
            .iter()
            .find(|one| one.name == name && one.method == method)
    };
    let is_simulated = predictions
        .iter()
        .any(|one| one.method == Method::Simulation);
    // The blanks are the minimum width of a title.
    let mut rows = vec![["    ", "formula", "simulated"].map(str::to_owned).to_vec()];
    let mut details = vec![""];
    for name in names {
        let (formula, simulation) = (find(name, Method::Formula), find(name, Method::Simulation));
        let Some(first) = formula.or(simulation) else {
            continue;
        };
        rows.push(vec![
            first.title.clone(),
            value_text(formula),
            value_text(simulation),
        ]);
        details.push(&first.detail);
    }
    if !is_simulated {
        rows.iter_mut().for_each(|row| row.truncate(2));
    }
    let lines = aligned(&rows, &[Left, Right]).into_iter().zip(details);
    let lines = lines.skip(usize::from(!is_simulated));
    lines
        .flat_map(|(line, detail)| with_detail(&line, detail))
        .collect()
}

/// The value of a prediction; a dash where there is none.
pub(super) fn value_text(prediction: Option<&Prediction>) -> String {
    prediction.map_or_else(|| "–".to_owned(), |one| one.unit_value().to_string())
}

/// A line with a detail behind it, which is wrapped in the columns that are left.
fn with_detail(line: &str, detail: &str) -> Vec<String> {
    let column = line.chars().count() + 2;
    let width = WIDTH.saturating_sub(column).max(16);
    let mut lines = vec![line.to_owned()];
    for (nth, part) in wrap(detail, width).into_iter().enumerate() {
        if nth == 0 {
            lines[0] = format!("{line}  {part}");
        } else {
            lines.push(format!("{:column$}{part}", ""));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::quantity::Unit;

    fn prediction(name: &str, method: Method, value: f64) -> Prediction {
        let mut one =
            Prediction::new(name, "TCP goodput", value, Unit::BitPerSecond).detail("detail");
        one.method = method;
        one
    }

    #[test]
    fn a_simulated_value_has_a_column_beside_the_formula() {
        let rows = table(&[
            prediction("tcp_goodput", Method::Formula, 8.894e6),
            prediction("tcp_goodput", Method::Simulation, 7.2e6),
            prediction("other", Method::Formula, 1e6),
        ]);
        assert_eq!(
            rows,
            [
                "                  formula     simulated",
                "TCP goodput  8.894 Mbit/s  7.200 Mbit/s  detail",
                "TCP goodput      1 Mbit/s             –  detail",
            ]
        );
    }

    #[test]
    fn the_detail_of_a_row_wraps_in_its_column() {
        let lines = with_detail("name  value", &"word ".repeat(30));
        assert!(lines.len() > 1);
        assert!(lines.iter().all(|line| line.chars().count() <= WIDTH));
        assert!(lines[1].starts_with("             word"));
    }
}
