//! `caudal report compare`: two sides held against one another, the size of a difference first.

mod side;

use crate::exit::{Exit, Failure};
use crate::output::sink::Sink;
use caudal_core::quantity::Unit;
use caudal_experiment::Metric;
use caudal_plot::{Axis, Figure, Layer, Quantity};
use caudal_stats::{
    Contrast, Estimate, NotComparable, RunOrder, SideSummary, TimedValue,
    adjust_for_multiple_comparisons, contrast,
};
use caudal_store::Store;
use clap::Args;
use serde::Serialize;
use side::{Difference, Key, Side};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// The name and version of the format of `--json`.
pub const SCHEMA: &str = "caudal.comparison/1";

/// Cells shown in text; `--json` has all.
const MOST_SHOWN: usize = 60;

/// `caudal report compare`
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
    A side is the id of a run or a study, `last`, `tag:NAME` for all that has a tag, or several of these with commas.\n\
    A run with --repeat counts as so many runs; a study is compared case by case.\n\n\
    Examples:\n  \
    caudal report compare 1a2b 3c4d\n  \
    caudal report compare tag:before tag:after --metric goodput --margin 5%")]
pub struct CompareArgs {
    /// The first side, which the second is held against
    #[arg(value_name = "A")]
    pub first: String,
    /// The second side
    #[arg(value_name = "B")]
    pub second: String,
    /// Only this metric, by its whole name or the last part of it; may be given several times
    #[arg(long, value_name = "NAME")]
    pub metric: Vec<String>,
    /// Ask too whether B is within this part of A, as 5%: only so can it be said that nothing differs
    #[arg(long, value_name = "PART", value_parser = part)]
    pub margin: Option<f64>,
    /// The confidence of intervals and verdicts, as 0.95 or 95%
    #[arg(long, value_name = "P", default_value = "0.95", value_parser = part)]
    pub confidence: f64,
    /// Print the comparison as JSON
    #[arg(long)]
    pub json: bool,
    /// Draw the differences with their intervals into FILE
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}

fn part(text: &str) -> Result<f64, String> {
    let part = caudal_core::units::parse_fraction(text).map_err(|error| error.to_string())?;
    if part > 0.0 && part < 1.0 {
        Ok(part)
    } else {
        Err("it must lie between 0 and 1".to_owned())
    }
}

/// One case and metric on both sides.
#[derive(Debug, Clone, Serialize)]
struct Cell {
    #[serde(skip_serializing_if = "String::is_empty")]
    case: String,
    metric: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<Unit>,
    first: Option<SideSummary>,
    second: Option<SideSummary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Contrast>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cannot: Option<NotComparable>,
    verdict: String,
}

/// What a side is made of.
#[derive(Debug, Clone, Serialize)]
struct Of {
    given: String,
    what: String,
    ids: Vec<String>,
    left_out: BTreeMap<&'static str, usize>,
}

/// What only one side has.
#[derive(Debug, Clone, Serialize)]
struct Alone {
    first: Vec<String>,
    second: Vec<String>,
}

/// Two sides held against one another.
#[derive(Debug, Clone, Serialize)]
struct Comparison {
    schema: &'static str,
    confidence: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    margin: Option<f64>,
    first: Of,
    second: Of,
    cells: Vec<Cell>,
    unmatched: Alone,
    environment: Vec<Difference>,
    notes: Vec<String>,
    verdict: Vec<String>,
}

/// Compares what is kept.
///
/// # Errors
/// When the store cannot be read, nothing is kept under those names, or the sides have nothing in common.
pub fn compare(store: &Store, args: &CompareArgs) -> Result<(), Failure> {
    let side = |given: &str| {
        let side = side::side(given, store)?;
        if side.ids.is_empty() {
            return Err(Failure::usage(
                format!("nothing is kept as {given:?}"),
                "`caudal report list` shows what there is",
            ));
        }
        Ok(side)
    };
    let (first, second) = (side(&args.first)?, side(&args.second)?);
    let comparison = compared(&first, &second, args)?;
    let mut out = Sink::stdout();
    if let Some(path) = &args.svg {
        let drawn = figure(&comparison).ok_or_else(|| {
            Failure::new(
                Exit::Failed,
                "there is no interval to draw",
                "repeat both sides, as with --repeat 5",
            )
        })?;
        let mut file = Sink::file(path)?;
        file.write(&drawn.svg());
        file.finish()?;
    }
    if args.json {
        let json = serde_json::to_string_pretty(&comparison);
        out.line(&json.expect("a comparison has only names for keys"));
    } else {
        for line in text(&comparison) {
            out.line(&line);
        }
        if let Some(path) = &args.svg {
            out.line(&format!("figure: {}", path.display()));
        }
    }
    out.finish()
}

fn compared(first: &Side, second: &Side, args: &CompareArgs) -> Result<Comparison, Failure> {
    let wanted = |key: &Key| {
        let last = key.metric.rsplit('.').next().unwrap_or("");
        let first = last.split(' ').next().unwrap_or("");
        let all = &args.metric;
        all.is_empty()
            || all
                .iter()
                .any(|name| [&key.metric, last, first].contains(&name.as_str()))
    };
    let keys = |side: &Side| -> BTreeSet<Key> {
        side.readings
            .keys()
            .filter(|key| wanted(key))
            .cloned()
            .collect()
    };
    let (a, b) = (keys(first), keys(second));
    if a.is_disjoint(&b) {
        let has = |keys: &BTreeSet<Key>| {
            let names: BTreeSet<&str> = keys.iter().map(|key| key.metric.as_str()).collect();
            if names.is_empty() {
                "nothing".to_owned()
            } else {
                names.into_iter().take(6).collect::<Vec<_>>().join(", ")
            }
        };
        let message = format!(
            "the two have nothing in common to compare: A has {}, B has {}",
            has(&a),
            has(&b)
        );
        return Err(Failure::new(
            Exit::Failed,
            message,
            "compare runs of one kind",
        ));
    }
    let mut cells: Vec<Cell> = a
        .intersection(&b)
        .map(|key| cell(key, first, second, args))
        .collect();
    let mut found: Vec<&mut Contrast> = cells
        .iter_mut()
        .filter_map(|cell| cell.result.as_mut())
        .collect();
    let count = found.len();
    adjust_for_multiple_comparisons(&mut found, args.confidence);
    for cell in &mut cells {
        cell.verdict = verdict(cell, args.confidence, count);
    }
    let alone = |ours: &BTreeSet<Key>, theirs: &BTreeSet<Key>| {
        let alone = ours
            .difference(theirs)
            .map(|key| named(&key.case, &key.metric));
        alone.collect::<Vec<_>>()
    };
    let of = |side: &Side| Of {
        given: side.given.clone(),
        what: side.what.clone(),
        ids: side.ids.clone(),
        left_out: side.left_out.clone(),
    };
    let mut comparison = Comparison {
        schema: SCHEMA,
        confidence: args.confidence,
        margin: args.margin,
        first: of(first),
        second: of(second),
        unmatched: Alone {
            first: alone(&a, &b),
            second: alone(&b, &a),
        },
        environment: side::differences(first, second),
        notes: Vec::new(),
        verdict: Vec::new(),
        cells,
    };
    comparison.notes = notes(&comparison, first, second, count);
    comparison.verdict = overall(&comparison);
    Ok(comparison)
}

fn cell(key: &Key, first: &Side, second: &Side, args: &CompareArgs) -> Cell {
    let of = |side: &Side| side.readings.get(key).cloned().unwrap_or_default();
    let (a, b): (Vec<TimedValue>, Vec<TimedValue>) = (of(first), of(second));
    let (unit, other) = (first.units.get(&key.metric), second.units.get(&key.metric));
    let result = if unit == other {
        contrast(&a, &b, args.confidence, args.margin)
    } else {
        Err(NotComparable::Units)
    };
    Cell {
        case: key.case.clone(),
        metric: key.metric.clone(),
        unit: unit.copied(),
        first: SideSummary::from_results(&a, args.confidence),
        second: SideSummary::from_results(&b, args.confidence),
        cannot: result.as_ref().err().copied(),
        result: result.ok(),
        verdict: String::new(),
    }
}

fn named(case: &str, metric: &str) -> String {
    if case.is_empty() {
        metric.to_owned()
    } else {
        format!("{case}: {metric}")
    }
}

fn shown(unit: Option<Unit>, value: f64) -> String {
    unit.map_or_else(
        || format!("{value:.4}"),
        |unit| match unit {
            // A part of a segment is no segment, but a part of a mean.
            Unit::Segments | Unit::Timeouts | Unit::Collisions | Unit::Frames | Unit::Messages => {
                format!("{value:.1} {}", unit.name())
            }
            unit => unit.show(value),
        },
    )
}

/// The word for being above or below.
fn word(metric: &str, unit: Option<Unit>, above: bool) -> &'static str {
    let about: Option<&Metric> = side::find_metric(metric);
    let is_rate = unit == Some(Unit::BitPerSecond)
        || about.is_some_and(|metric| metric.unit == Unit::BitPerSecond);
    match (is_rate, unit, above) {
        (true, _, true) => "faster",
        (true, _, false) => "slower",
        (false, Some(Unit::Seconds), true) => "longer",
        (false, Some(Unit::Seconds), false) => "shorter",
        (false, _, true) => "higher",
        (false, _, false) => "lower",
    }
}

/// One plain sentence on a cell.
fn verdict(cell: &Cell, confidence: f64, count: usize) -> String {
    let show = |value: f64| shown(cell.unit, value);
    let percent = |part: f64| format!("{} %", trimmed(part * 100.0));
    let Some(found) = &cell.result else {
        return cannot(cell, &show);
    };
    let apart = found.difference;
    let sure = percent(confidence);
    let relative = cell
        .first
        .map(|first| first.mean.mean.abs())
        .filter(|mean| *mean > 0.0)
        .map_or_else(String::new, |mean| {
            format!(" ({})", percent(apart.mean.abs() / mean))
        });
    let near = found.equivalence.filter(|near| near.holds).map(|near| {
        format!(
            "within {} of A, {}",
            percent(near.margin),
            show(near.within)
        )
    });
    if found.differs {
        let above = apart.mean > 0.0;
        let (low, high) = if above {
            (apart.low, apart.high)
        } else {
            (-apart.high, -apart.low)
        };
        let also = near.map_or_else(String::new, |near| format!("; still {near}"));
        return format!(
            "B is {}{relative} {}: {sure} interval {} to {}{also}",
            show(apart.mean.abs()),
            word(&cell.metric, cell.unit, above),
            show(low),
            show(high),
        );
    }
    if let Some(near) = near {
        return format!("no difference that matters: {near}, shown at {sure}");
    }
    if apart.low > 0.0 || apart.high < 0.0 {
        return format!(
            "cannot tell: alone it would count, but of {count} comparisons one such is to be expected \
             (adjusted p {:.2})",
            found.adjusted_p
        );
    }
    format!(
        "cannot tell: B is between {} {} and {} {} ({sure} interval)",
        show(-apart.low),
        word(&cell.metric, cell.unit, false),
        show(apart.high),
        word(&cell.metric, cell.unit, true),
    )
}

/// Why a cell has no result.
fn cannot(cell: &Cell, show: &dyn Fn(f64) -> String) -> String {
    match cell.cannot {
        Some(NotComparable::TooFew { first, second }) => {
            let mean = |side: Option<SideSummary>| {
                side.map_or_else(|| "-".to_owned(), |side| show(side.mean.mean))
            };
            let (a, b) = (mean(cell.first), mean(cell.second));
            let runs = match (first, second) {
                (1, 1) => "one run each cannot be compared".to_owned(),
                (1, more) => format!("one run of A cannot be compared with {more} of B"),
                (more, _) => format!("{more} runs of A cannot be compared with one of B"),
            };
            format!(
                "cannot tell: {runs} (A {a}, B {b}): nothing says how much runs differ by themselves"
            )
        }
        Some(NotComparable::NoSpread { first, second }) if first == second => {
            format!(
                "every run of both gave {}: no difference, and no spread for an interval",
                show(first)
            )
        }
        Some(NotComparable::NoSpread { first, second }) => format!(
            "every run of A gave {}, every one of B {}: no spread for an interval",
            show(first),
            show(second)
        ),
        Some(NotComparable::NotANumber) => "cannot tell: a result is not a number".to_owned(),
        Some(NotComparable::Units) => "cannot tell: the two are not in the same unit".to_owned(),
        Some(NotComparable::Empty { .. } | NotComparable::Confidence) | None => {
            "cannot tell".to_owned()
        }
    }
}

/// A number with two digits behind what stands for itself, without zeros at its end.
fn trimmed(value: f64) -> String {
    let digits = match value.abs() {
        0.0 => 0,
        size if size < 1.0 => 2,
        size if size < 100.0 => 1,
        _ => 0,
    };
    let text = format!("{value:.digits$}");
    match text.strip_suffix(".0") {
        Some(whole) => whole.to_owned(),
        None => text,
    }
}

/// What to keep in mind.
fn notes(comparison: &Comparison, first: &Side, second: &Side, count: usize) -> Vec<String> {
    let mut notes = Vec::new();
    if first.ids.iter().any(|id| second.ids.contains(id)) {
        notes.push("the same runs are on both sides".to_owned());
    }
    for (name, side) in [("A", first), ("B", second)] {
        for (why, count) in &side.left_out {
            notes.push(format!("{count} of {name} left out: {why}"));
        }
    }
    if count > 1 {
        let alpha = trimmed((1.0 - comparison.confidence) * 100.0);
        notes.push(format!(
            "{count} comparisons at once: a difference counts when one false alarm among all has less than {alpha} % (Holm)"
        ));
    }
    let found = || {
        comparison
            .cells
            .iter()
            .filter_map(|cell| Some((cell, cell.result?)))
    };
    let suspected: Vec<String> = found()
        .filter(|(_, found)| found.drift.suspected)
        .map(|(cell, _)| named(&cell.case, &cell.metric))
        .collect();
    if !suspected.is_empty() {
        notes.push(format!(
            "drift: within a side {} already moved with time the way the sides differ; measure again, taking turns",
            suspected.join(", ")
        ));
    } else if found().any(|(_, found)| {
        found.differs
            && matches!(
                found.drift.order,
                RunOrder::FirstBefore | RunOrder::SecondBefore
            )
    }) {
        notes.push(
            "the sides were measured one after the other: what else changed meanwhile cannot be told apart".to_owned(),
        );
    }
    let apart = found().any(|(_, found)| found.result_disagrees(1.0 - comparison.confidence));
    if apart {
        notes.push(
            "the test by ranks (Mann-Whitney) does not agree everywhere: look at the single runs"
                .to_owned(),
        );
    }
    notes
}

/// What only a comparison of the program asks of a contrast.
trait Agreement {
    /// Whether the test by ranks says otherwise than that by means.
    fn result_disagrees(&self, alpha: f64) -> bool;
}

impl Agreement for Contrast {
    fn result_disagrees(&self, alpha: f64) -> bool {
        (self.p < alpha) != (self.ranks.p < alpha)
    }
}

/// The answer in a line or two.
fn overall(comparison: &Comparison) -> Vec<String> {
    let cells = &comparison.cells;
    if let [only] = cells.as_slice() {
        return vec![format!(
            "{}: {}",
            named(&only.case, &only.metric),
            only.verdict
        )];
    }
    let count = |wanted: &dyn Fn(&Contrast) -> bool| {
        let found = cells.iter().filter_map(|cell| cell.result.as_ref());
        found.filter(|found| wanted(found)).count()
    };
    let told = count(&|_| true);
    if told == 0 {
        return vec![format!(
            "cannot tell: none of {} metrics has runs enough on both sides",
            cells.len()
        )];
    }
    let differ = count(&|found| found.differs);
    let near = count(&|found| !found.differs && found.equivalence.is_some_and(|near| near.holds));
    let mut lines = vec![match differ {
        0 => format!("no difference shown in {told} comparisons"),
        1 => format!("1 of {told} comparisons shows a difference"),
        more => format!("{more} of {told} comparisons show a difference"),
    }];
    if comparison.margin.is_some() {
        lines.push(format!("{near} more are shown to be within the margin"));
    }
    lines
}

/// Breaks a text at blanks into lines of at most 80 columns.
fn wrapped(first: &str, rest: &str, text: &str) -> Vec<String> {
    const WIDTH: usize = 80;
    let mut lines = Vec::new();
    let mut line = first.to_owned();
    let mut is_fresh = true;
    // A number and its unit stay together.
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match words.last_mut() {
            Some(last) if last.ends_with(|c: char| c.is_ascii_digit()) && word.len() < 10 => {
                last.push(' ');
                last.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    for word in &words {
        if !is_fresh && line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push(std::mem::replace(&mut line, rest.to_owned()));
            is_fresh = true;
        }
        if !is_fresh {
            line.push(' ');
        }
        line.push_str(word);
        is_fresh = false;
    }
    lines.push(line);
    lines
}

fn text(comparison: &Comparison) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, of) in [("A", &comparison.first), ("B", &comparison.second)] {
        let given = if of.ids.len() == 1 {
            &of.ids[0][..8]
        } else {
            &of.given
        };
        lines.extend(wrapped(
            &format!("{name}  "),
            "   ",
            &format!("{given}, {}", of.what),
        ));
    }
    lines.push(String::new());
    let is_one = comparison.cells.len() == 1;
    for line in &comparison.verdict {
        lines.extend(wrapped("", "  ", line));
    }
    // What differs comes first, what cannot be told last.
    let mut cells: Vec<&Cell> = comparison.cells.iter().collect();
    cells.sort_by_key(|cell| match &cell.result {
        Some(found) if found.differs => 0,
        Some(_) => 1,
        None => 2,
    });
    for cell in cells.iter().take(MOST_SHOWN) {
        if !is_one {
            lines.push(String::new());
            let line = format!("{}: {}", named(&cell.case, &cell.metric), cell.verdict);
            lines.extend(wrapped("", "  ", &line));
        }
        let (Some(first), Some(second), Some(found)) = (&cell.first, &cell.second, &cell.result)
        else {
            continue;
        };
        let side = |name: &str, side: &SideSummary| {
            let sd = side
                .sd
                .map_or_else(String::new, |sd| format!(", sd {}", shown(cell.unit, sd)));
            format!(
                "{name} {} (n {}{sd})",
                shown(cell.unit, side.mean.mean),
                side.n
            )
        };
        lines.extend(wrapped(
            "  ",
            "  ",
            &format!("{}; {}", side("A", first), side("B", second)),
        ));
        let mut how = format!(
            "Welch t {:.2}, df {:.1}, p {}; Mann-Whitney p {}",
            found.t,
            found.df,
            probability(found.p),
            probability(found.ranks.p)
        );
        if found.adjusted_p != found.p {
            how += &format!("; adjusted p {}", probability(found.adjusted_p));
        }
        if let Some(shift) = found.shift {
            how += &format!("; Hodges-Lehmann shift {}", shown(cell.unit, shift));
        }
        lines.extend(wrapped("  ", "  ", &how));
    }
    if comparison.cells.len() > MOST_SHOWN {
        lines.push(format!(
            "… and {} more: see --json",
            comparison.cells.len() - MOST_SHOWN
        ));
    }
    let mut section = |title: &str, entries: Vec<String>| {
        if !entries.is_empty() {
            lines.push(String::new());
            lines.push(title.to_owned());
            for entry in entries {
                lines.extend(wrapped("  ", "    ", &entry));
            }
        }
    };
    section("Keep in mind", comparison.notes.clone());
    let values = |values: &[String]| {
        let shown: Vec<String> = values.iter().take(3).map(|value| brief(value)).collect();
        let more = if values.len() > 3 {
            format!(" and {} more", values.len() - 3)
        } else {
            String::new()
        };
        format!("{}{more}", shown.join(", "))
    };
    let environment = comparison.environment.iter().map(|one| {
        format!(
            "{}: A {}, B {}",
            one.what,
            values(&one.first),
            values(&one.second)
        )
    });
    section("Other conditions that differ", environment.collect());
    let alone = |name: &str, keys: &[String]| match keys {
        [] => None,
        keys => {
            let more = if keys.len() > 6 {
                format!(" and {} more", keys.len() - 6)
            } else {
                String::new()
            };
            let some: Vec<&str> = keys.iter().take(6).map(String::as_str).collect();
            Some(format!("{name}: {}{more}", some.join(", ")))
        }
    };
    let unmatched = [
        alone("A", &comparison.unmatched.first),
        alone("B", &comparison.unmatched.second),
    ];
    section(
        "Only on one side",
        unmatched.into_iter().flatten().collect(),
    );
    lines
}

fn brief(value: &str) -> String {
    const MOST: usize = 40;
    if value.chars().count() <= MOST {
        return value.to_owned();
    }
    value.chars().take(MOST - 1).chain(['…']).collect()
}

fn probability(p: f64) -> String {
    if p < 0.0001 {
        "< 0.0001".to_owned()
    } else {
        format!("{p:.4}")
    }
}

/// The differences with their intervals, as parts of A's means; `None` without any.
fn figure(comparison: &Comparison) -> Option<Figure> {
    const MOST: usize = 40;
    const ROW: u32 = 26;
    let drawn: Vec<(String, Estimate, f64, bool)> = comparison
        .cells
        .iter()
        .filter_map(|cell| {
            let (found, first) = (cell.result?, cell.first?);
            let base = first.mean.mean.abs();
            let name = named(&cell.case, &cell.metric);
            (base > 0.0).then_some((name, found.difference, base, found.differs))
        })
        .take(MOST)
        .collect();
    if drawn.is_empty() {
        return None;
    }
    let points = |which: bool| {
        let all = drawn.iter().enumerate();
        all.filter(|(_, (.., differs))| *differs == which)
            .map(|(at, (_, apart, base, _))| {
                let interval = (apart.low / base, apart.high / base);
                (apart.mean / base, at as f64, Some(interval))
            })
            .collect::<Vec<_>>()
    };
    let mut layers = vec![Layer::Event {
        at: 0.0,
        label: "equal".to_owned(),
    }];
    for (name, which) in [("shown to differ", true), ("not shown to differ", false)] {
        let points = points(which);
        if !points.is_empty() {
            layers.push(Layer::Intervals {
                name: name.to_owned(),
                points,
            });
        }
    }
    let sure = trimmed(comparison.confidence * 100.0);
    let names: Vec<String> = drawn.iter().map(|(name, ..)| name.clone()).collect();
    let rows = u32::try_from(names.len()).unwrap_or(40);
    Some(Figure {
        title: format!(
            "{} less {}",
            comparison.second.given, comparison.first.given
        ),
        description: format!(
            "Differences of the means of {} from those of {}, as parts of the latter, each with its {sure} % interval",
            comparison.second.given, comparison.first.given
        ),
        x: Axis::linear("difference, part of A", Quantity::Percent).from_zero(),
        y: Axis::categories("", names),
        layers,
        size: (Figure::SIZE.0, 190 + ROW * rows),
        note: Some(format!("{sure} % intervals after Welch, each by itself")),
    })
}
