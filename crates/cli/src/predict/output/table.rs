//! A table of predictions, a row for each name.

use caudal_core::prediction::{Method, Prediction};
use caudal_views::text::WIDTH;
use caudal_views::text::wrap;

/// The lines of a table with a row for each name: the value by formula, the simulated value where some row has one, and
/// the detail.
pub(in crate::predict) fn table(predictions: &[Prediction]) -> Vec<String> {
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
    let simulated = predictions
        .iter()
        .any(|one| one.method == Method::Simulation);
    let rows: Vec<[String; 4]> = names
        .iter()
        .filter_map(|name| {
            let (formula, simulation) =
                (find(name, Method::Formula), find(name, Method::Simulation));
            let first = formula.or(simulation)?;
            let shown = |one: Option<&Prediction>| {
                one.map_or_else(
                    || "–".to_owned(),
                    |prediction| prediction.unit_value().to_string(),
                )
            };
            Some([
                first.title.clone(),
                shown(formula),
                shown(simulation),
                first.detail.clone(),
            ])
        })
        .collect();
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let (title, value) = (width(0).max(4), width(1).max(7));
    let mut lines = Vec::new();
    let simulated_width = if simulated { width(2).max(9) } else { 0 };
    if simulated {
        lines.push(format!(
            "{:<title$}  {:>value$}  {:>simulated_width$}",
            "", "formula", "simulated"
        ));
    }
    for [name, formula, simulation, detail] in &rows {
        let mut line = format!("{name:<title$}  {formula:>value$}");
        if simulated {
            line += &format!("  {simulation:>simulated_width$}");
        }
        lines.extend(with_detail(&line, detail));
    }
    lines
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
