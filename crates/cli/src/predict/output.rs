//! Predictions as people and programs read them: tables in 80 columns, the arithmetic, JSON, CSV, and a figure.

use super::sweep::Kind;
use super::{Answered, Answers, Parameter, Question, ShowArgs};
use crate::args::OutputArgs;
use crate::exit::Failure;
use crate::output::document::{command_line, this_tool};
use crate::output::sink::{Sink, Sinks};
use crate::output::text::{WIDTH, fold};
use caudal_core::prediction::{Method, Prediction};
use caudal_core::quantity::Unit;
use caudal_plot::{Axis, Figure, Layer, Quantity, Scale};
use serde_json::{Value, json};

/// The name and version of the JSON format.
pub const SCHEMA: &str = "caudal.predict/1";

/// The columns of the comma-separated values.
pub const COLUMNS: [&str; 13] = [
    "parameter",
    "at",
    "name",
    "value",
    "unit",
    "method",
    "binding",
    "tolerance_below",
    "tolerance_above",
    "title",
    "detail",
    "assumes",
    "source",
];

/// What follows an answer without its arithmetic.
pub(super) const HINT: &str = "--explain shows the arithmetic, what is assumed, and the sources";

/// Columns of a sweep's table at most, beside the parameter's own.
const MOST_COLUMNS: usize = 8;

/// Shows the answers in the ways asked for.
pub(super) fn show(question: &dyn Question, answered: &Answered) -> Result<(), Failure> {
    let args = question.show();
    let mut lines = text(question, answered);
    if let Some(path) = &args.svg {
        let mut file = Sink::file(path)?;
        file.write(&figure(question, answered)?.svg());
        file.finish()?;
        lines.push(format!("figure: {}", path.display()));
    }
    deliver(args, &lines, &|| to_json(question, answered), &|| {
        csv(answered)
    })
}

/// Writes text, JSON or CSV to where it is asked for.
pub(super) fn deliver(
    args: &ShowArgs,
    lines: &[String],
    json: &dyn Fn() -> Value,
    csv: &dyn Fn() -> Vec<String>,
) -> Result<(), Failure> {
    let output = OutputArgs {
        json: args.json,
        csv: args.csv,
        output: args.output.clone(),
        ..OutputArgs::default()
    };
    let mut sinks = Sinks::open(&output)?;
    for line in lines {
        sinks.text.line(line);
    }
    let data = if args.json {
        serde_json::to_string_pretty(&json()).unwrap_or_default()
    } else if args.csv {
        csv().join("\n")
    } else {
        String::new()
    };
    if !data.is_empty() {
        sinks.data.line(&data);
    }
    sinks.finish(&data)
}

/// What was asked, with its numbers.
fn headline(question: &dyn Question, answered: &Answered) -> String {
    fold(&format!("{}; {}", question.words(), given(answered)), 4)
}

/// The numbers in words, without those that are nothing.
fn given(answered: &Answered) -> String {
    let given: Vec<String> = answered
        .fixed
        .iter()
        .filter(|(_, value)| *value != 0.0)
        .map(|(parameter, value)| format!("{} {}", parameter.name, parameter.kind.show(*value)))
        .collect();
    given.join(", ")
}

fn text(question: &dyn Question, answered: &Answered) -> Vec<String> {
    let mut lines = vec![headline(question, answered), String::new()];
    let explain = question.show().explain;
    match &answered.answers {
        Answers::One(predictions) => {
            lines.extend(table(predictions));
            if explain {
                lines.extend(predictions.iter().flat_map(explanation));
            }
        }
        Answers::Sweep(parameter, rows) => {
            let names = columns(question, rows);
            lines.extend(sweep_table(parameter, rows, &names));
            if explain {
                // The first point shows the arithmetic; the others differ in their numbers only.
                let first = rows.first();
                lines.extend(
                    first
                        .iter()
                        .flat_map(|(_, predictions)| predictions)
                        .filter(|prediction| names.contains(&prediction.name))
                        .flat_map(explanation),
                );
            }
        }
    }
    if !explain {
        lines.push(String::new());
        lines.push(HINT.to_owned());
    }
    lines
}

/// One row a name: the formula's value, beside it the simulation's where there is one, and the figure behind it.
pub(super) fn table(predictions: &[Prediction]) -> Vec<String> {
    let mut names: Vec<&str> = Vec::new();
    for prediction in predictions {
        if !names.contains(&prediction.name.as_str()) {
            names.push(&prediction.name);
        }
    }
    let of = |name: &str, method: Method| {
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
            let (formula, simulation) = (of(name, Method::Formula), of(name, Method::Simulation));
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
    let wide = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let (title, value) = (wide(0).max(4), wide(1).max(7));
    let mut lines = Vec::new();
    let second = if simulated { wide(2).max(9) } else { 0 };
    if simulated {
        lines.push(format!(
            "{:<title$}  {:>value$}  {:>second$}",
            "", "formula", "simulated"
        ));
    }
    for [name, formula, simulation, detail] in &rows {
        let mut line = format!("{name:<title$}  {formula:>value$}");
        if simulated {
            line += &format!("  {simulation:>second$}");
        }
        lines.extend(beside(&line, detail));
    }
    lines
}

/// A line with words behind it, these wrapped in the room that is left.
fn beside(line: &str, words: &str) -> Vec<String> {
    let column = line.chars().count() + 2;
    let room = WIDTH.saturating_sub(column).max(16);
    let mut parts: Vec<String> = Vec::new();
    for word in words.split_whitespace() {
        match parts.last_mut() {
            Some(part) if part.chars().count() + 1 + word.chars().count() <= room => {
                part.push(' ');
                part.push_str(word);
            }
            _ => parts.push(word.to_owned()),
        }
    }
    let mut lines = vec![line.to_owned()];
    for (nth, part) in parts.into_iter().enumerate() {
        if nth == 0 {
            lines[0] = format!("{line}  {part}");
        } else {
            lines.push(format!("{:column$}{part}", ""));
        }
    }
    lines
}

/// The arithmetic of one prediction.
pub(super) fn explanation(prediction: &Prediction) -> Vec<String> {
    let mut lines = vec![
        String::new(),
        fold(
            &format!(
                "{} ({}): {}",
                prediction.title,
                prediction.name,
                prediction.unit_value()
            ),
            4,
        ),
    ];
    lines.extend(
        prediction
            .explanation
            .iter()
            .map(|step| fold(&format!("    {step}"), 6)),
    );
    lines.push(fold(&format!("    assumes: {}", prediction.assumes), 6));
    lines.push(fold(
        &format!(
            "    good to {}; source: {}",
            prediction.tolerance, prediction.source
        ),
        6,
    ));
    lines
}

/// The names that get a column or a line: those the question is about, that some row has.
fn columns(question: &dyn Question, rows: &[(f64, Vec<Prediction>)]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for wanted in question.columns() {
        let fits = |name: &str| match wanted.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == *wanted,
        };
        for prediction in rows.iter().flat_map(|(_, predictions)| predictions) {
            if fits(&prediction.name) && !names.contains(&prediction.name) {
                names.push(prediction.name.clone());
            }
        }
    }
    names.truncate(MOST_COLUMNS);
    names
}

fn named<'a>(predictions: &'a [Prediction], name: &str) -> Option<&'a Prediction> {
    predictions.iter().find(|one| one.name == name)
}

/// A table with a row for each value of the parameter; columns that do not fit in 80 follow in a table of their own.
fn sweep_table(
    parameter: &Parameter,
    rows: &[(f64, Vec<Prediction>)],
    names: &[String],
) -> Vec<String> {
    let first: Vec<String> = std::iter::once(parameter.name.to_owned())
        .chain(rows.iter().map(|(at, _)| parameter.kind.show(*at)))
        .collect();
    let lead = first
        .iter()
        .map(|cell| cell.chars().count())
        .max()
        .unwrap_or(0);
    let mut tables: Vec<Vec<Column>> = vec![Vec::new()];
    let mut used = lead;
    for name in names {
        let column = Column::of(name, rows);
        if used + 2 + column.width > WIDTH && tables.last().is_some_and(|table| !table.is_empty()) {
            tables.push(Vec::new());
            used = lead;
        }
        used += 2 + column.width;
        if let Some(table) = tables.last_mut() {
            table.push(column);
        }
    }
    let mut lines = Vec::new();
    for (nth, table) in tables.iter().enumerate() {
        if nth > 0 {
            lines.push(String::new());
        }
        let high = table
            .iter()
            .map(|column| column.title.len())
            .max()
            .unwrap_or(1);
        for line in 0..high {
            // The parameter's name stands on the last line of the titles.
            let name = if line + 1 == high {
                first.first().map_or("", String::as_str)
            } else {
                ""
            };
            let mut text = format!("{name:>lead$}");
            for column in table {
                let above = high - column.title.len();
                let word = line
                    .checked_sub(above)
                    .and_then(|at| column.title.get(at))
                    .map_or("", String::as_str);
                text += &format!("  {word:>width$}", width = column.width);
            }
            lines.push(text.trim_end().to_owned());
        }
        for (row, name) in first.iter().skip(1).enumerate() {
            let mut text = format!("{name:>lead$}");
            for column in table {
                let cell = column.cells.get(row).map_or("", String::as_str);
                text += &format!("  {cell:>width$}", width = column.width);
            }
            lines.push(text.trim_end().to_owned());
        }
    }
    lines
}

struct Column {
    title: Vec<String>,
    cells: Vec<String>,
    width: usize,
}

impl Column {
    fn of(name: &str, rows: &[(f64, Vec<Prediction>)]) -> Self {
        let found = |(_, predictions): &(f64, Vec<Prediction>)| {
            named(predictions, name).map_or_else(
                || "–".to_owned(),
                |prediction| prediction.unit_value().to_string(),
            )
        };
        let cells: Vec<String> = rows.iter().map(found).collect();
        let widest = cells
            .iter()
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or(0);
        let words = rows
            .iter()
            .find_map(|(_, predictions)| named(predictions, name))
            .map_or(name, |one| one.title.as_str());
        let room = words
            .split(' ')
            .map(|word| word.chars().count())
            .max()
            .unwrap_or(0)
            .max(widest);
        let mut title: Vec<String> = Vec::new();
        for word in words.split(' ') {
            match title.last_mut() {
                Some(line) if line.chars().count() + 1 + word.chars().count() <= room => {
                    line.push(' ');
                    line.push_str(word);
                }
                _ => title.push(word.to_owned()),
            }
        }
        Self {
            title,
            cells,
            width: room,
        }
    }
}

fn to_json(question: &dyn Question, answered: &Answered) -> Value {
    let mut given = serde_json::Map::new();
    for (parameter, value) in &answered.fixed {
        given.insert(key(parameter), number(parameter.kind, *value));
    }
    let mut value = json!({
        "schema": SCHEMA,
        "tool": this_tool(),
        "command": command_line(),
        "question": question.name(),
        "words": question.words(),
        "given": given,
    });
    let (name, what) = match &answered.answers {
        Answers::One(predictions) => ("predictions", json!(predictions)),
        Answers::Sweep(parameter, rows) => (
            "sweep",
            json!({
                "parameter": key(parameter),
                "points": rows.iter().map(|(at, predictions)| json!({
                    "at": number(parameter.kind, *at),
                    "predictions": predictions,
                })).collect::<Vec<_>>(),
            }),
        ),
    };
    if let Value::Object(map) = &mut value {
        map.insert(name.to_owned(), what);
    }
    value
}

/// A parameter's key in JSON: its flag with the ending of its unit.
fn key(parameter: &Parameter) -> String {
    let name = parameter.name.replace('-', "_");
    match parameter.kind {
        Kind::Rate => format!("{name}_bps"),
        Kind::Amount if name == "bytes" => name,
        Kind::Amount | Kind::Packet => format!("{name}_bytes"),
        Kind::Time => format!("{name}_s"),
        Kind::Share | Kind::Count => name,
    }
}

fn number(kind: Kind, value: f64) -> Value {
    match kind {
        Kind::Time | Kind::Share => json!(value),
        _ => json!(value as u64),
    }
}

fn csv(answered: &Answered) -> Vec<String> {
    let mut lines = vec![COLUMNS.join(",")];
    match &answered.answers {
        Answers::One(predictions) => {
            lines.extend(predictions.iter().map(|one| csv_row("", "", one)));
        }
        Answers::Sweep(parameter, rows) => {
            for (at, predictions) in rows {
                let at = number(parameter.kind, *at).to_string();
                lines.extend(
                    predictions
                        .iter()
                        .map(|one| csv_row(&key(parameter), &at, one)),
                );
            }
        }
    }
    lines
}

/// Rows of comma-separated values below their columns, of predictions without a sweep.
pub(super) fn rows(predictions: &[&Prediction]) -> Vec<String> {
    let mut lines = vec![COLUMNS.join(",")];
    lines.extend(predictions.iter().map(|one| csv_row("", "", one)));
    lines
}

fn csv_row(parameter: &str, at: &str, prediction: &Prediction) -> String {
    let quoted = |text: &str| {
        if text.contains([',', '"', '\n']) {
            format!("\"{}\"", text.replace('"', "\"\""))
        } else {
            text.to_owned()
        }
    };
    let method = match prediction.method {
        Method::Formula => "formula",
        Method::Simulation => "simulation",
    };
    [
        parameter.to_owned(),
        at.to_owned(),
        quoted(&prediction.name),
        prediction.value.to_string(),
        prediction.unit.name().to_owned(),
        method.to_owned(),
        prediction.binding.clone().unwrap_or_default(),
        prediction.tolerance.below.to_string(),
        prediction.tolerance.above.to_string(),
        quoted(&prediction.title),
        quoted(&prediction.detail),
        quoted(&prediction.assumes),
        quoted(&prediction.source),
    ]
    .join(",")
}

/// The sweep as a figure: the columns that share the unit of the first.
fn figure(question: &dyn Question, answered: &Answered) -> Result<Figure, Failure> {
    let Answers::Sweep(parameter, rows) = &answered.answers else {
        return Err(Failure::usage("--svg draws a sweep", "give a range"));
    };
    let names = columns(question, rows);
    let find = |name: &str| {
        rows.iter()
            .find_map(|(_, predictions)| named(predictions, name))
    };
    let unit = names
        .first()
        .and_then(|name| find(name))
        .map(|one| one.unit);
    let Some(unit) = unit else {
        return Err(Failure::usage(
            "there is nothing to draw: no value of the sweep gives a prediction",
            "see the text without --svg",
        ));
    };
    let layers: Vec<Layer> = names
        .iter()
        .filter_map(|name| find(name).filter(|one| one.unit == unit))
        .map(|one| Layer::Line {
            name: one.title.clone(),
            points: rows
                .iter()
                .map(|(at, predictions)| {
                    (
                        *at,
                        named(predictions, &one.name).map_or(f64::NAN, |one| one.value),
                    )
                })
                .collect(),
        })
        .collect();
    let values = || {
        let points = layers.iter().flat_map(|layer| match layer {
            Layer::Line { points, .. } => points.iter(),
            _ => [].iter(),
        });
        points.map(|point| point.1)
    };
    let (low, high) = values()
        .filter(|value| value.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
    // Values that go over decades hide one another on equal steps.
    let scale = if low > 0.0 && high / low > 30.0 {
        Scale::Log
    } else {
        Scale::Linear
    };
    let quantity = match unit {
        Unit::BitPerSecond => Quantity::Rate,
        Unit::Bytes => Quantity::Bytes,
        Unit::Seconds => Quantity::Seconds,
        Unit::Share => Quantity::Percent,
        _ => Quantity::Number,
    };
    let what = match unit {
        Unit::BitPerSecond => "goodput",
        Unit::Bytes => "bytes",
        Unit::Seconds => "time",
        Unit::Share => "share",
        Unit::Efficiency => "part of the time",
        other => other.name(),
    };
    let fixed = given(answered);
    // Sizes that double hide one another on equal steps.
    let (least, most) = rows
        .iter()
        .map(|(at, _)| *at)
        .filter(|at| *at > 0.0)
        .fold((f64::INFINITY, 0.0_f64), |(least, most), at| {
            (least.min(at), most.max(at))
        });
    let spread = most / least;
    let subject = question.words();
    let subject = subject.split(':').next().unwrap_or("Prediction");
    Ok(Figure {
        title: format!("{subject}: {fixed}"),
        description: format!("{}; {fixed}; by formula, no measurement", question.words()),
        x: Axis::new(
            &match parameter.name {
                "mtu" => "MTU".to_owned(),
                "rtt" => "round-trip time".to_owned(),
                "bytes" => "amount".to_owned(),
                "length" => "payload of a datagram".to_owned(),
                "message" | "sizes" => "message size".to_owned(),
                name => name.replace('-', " "),
            },
            parameter.kind.quantity(),
            if spread > 100.0 {
                Scale::Log
            } else {
                parameter.kind.scale()
            },
        ),
        y: Axis {
            from_zero: low < 0.5 * high,
            ..Axis::new(what, quantity, scale)
        },
        layers,
        size: Figure::SIZE,
        note: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prediction(name: &str, method: Method, value: f64) -> Prediction {
        let mut one =
            Prediction::new(name, "TCP goodput", value, Unit::BitPerSecond).detail("detail");
        one.method = method;
        one
    }

    #[test]
    fn a_simulated_value_stands_beside_the_formula() {
        let rows = table(&[
            prediction("tcp_goodput", Method::Formula, 8.894e6),
            prediction("tcp_goodput", Method::Simulation, 7.2e6),
            prediction("other", Method::Formula, 1e6),
        ]);
        assert_eq!(
            rows,
            [
                "                 formula    simulated",
                "TCP goodput  8.894 Mbit/s  7.200 Mbit/s  detail",
                "TCP goodput      1 Mbit/s             –  detail",
            ]
            .map(|line| line.replace(
                "                 formula    simulated",
                "                  formula     simulated"
            ))
        );
    }

    #[test]
    fn words_beside_a_line_wrap_in_their_column() {
        let lines = beside("name  value", &"word ".repeat(30));
        assert!(lines.len() > 1);
        assert!(lines.iter().all(|line| line.chars().count() <= WIDTH));
        assert!(lines[1].starts_with("             word"));
    }

    #[test]
    fn text_with_commas_is_quoted() {
        let mut one = prediction("a", Method::Formula, 1.0);
        one.assumes = "this, and \"that\"".to_owned();
        assert!(csv_row("", "", &one).contains("\"this, and \"\"that\"\"\""));
    }
}
