//! From an experiment's file to its cases: everything filled in that needs no network, everything refused that makes no sense.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::Duration;

use super::campaign::{Campaign, Case, FlowSpec, MOST_CASES, RateSpec};
use super::expression::{Expression, ExpressionError, Named, Scope, Template};
use super::file::{CaseFile, ExperimentFile, FlowFile, KindFile, PlaceFile};
use super::nearest::suggestion;
use super::scalar::{Scalar, number};
use crate::plan::{LARGEST_BLOCK, LARGEST_DATAGRAM, LONGEST, MOST_FLOWS, SHORTEST_INTERVAL};
use crate::stats::StopRule;
use crate::topology::{Location, PRESETS, Preset, Step, Topology, TopologyFile};
use crate::units::{BitRate, ByteCount, format_duration, parse_duration, parse_fraction};

/// The most combinations that are gone through before some are excluded.
const MOST_COMBINATIONS: u128 = 100_000;
/// The most flows of an experiment.
const MOST_FLOW_FILES: usize = 64;
/// The most trials of a case.
const MOST_TRIALS: u64 = 10_000;
/// Messages of each size of an echo flow that is not told.
const MESSAGES: u64 = 1000;

/// An experiment that cannot be carried out, and where its file says so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}; {remedy}")]
pub struct ExperimentError {
    /// Where.
    pub at: Location,
    /// What is wrong.
    pub problem: String,
    /// What to do about it.
    pub remedy: String,
}

impl ExperimentError {
    fn new(at: Location, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            at,
            problem: problem.into(),
            remedy: remedy.into(),
        }
    }

    fn of_expression(at: Location, error: ExpressionError, text: &str) -> Self {
        let column = text
            .get(..error.at)
            .map_or(0, |before| before.chars().count())
            + 1;
        let problem = match column {
            1 => error.problem,
            _ => format!("{} (character {column})", error.problem),
        };
        Self::new(at, problem, error.remedy)
    }
}

type Result<T> = std::result::Result<T, ExperimentError>;

fn top(key: &str) -> Location {
    Location::default().key(key)
}

/// A point of the matrix.
#[derive(Debug, Clone)]
pub(super) struct Point {
    name: Option<String>,
    title: Option<String>,
    parameters: Vec<(String, Scalar)>,
    /// What the named case sets, which is not in its key.
    set: BTreeSet<String>,
}

impl Point {
    fn key(&self) -> String {
        let varied = self
            .parameters
            .iter()
            .filter(|(name, _)| !self.set.contains(name))
            .map(|(name, value)| format!("{name}={value}"));
        let words: Vec<String> = self.name.iter().cloned().chain(varied).collect();
        if words.is_empty() {
            return "all".to_owned();
        }
        words.join(" ")
    }
}

/// Whether `text` names the case with this key, name and parameters: its key, its name, or words `parameter=value`, alone or
/// behind the name.
pub(super) fn describes(
    text: &str,
    key: &str,
    name: Option<&str>,
    parameters: &[(String, Scalar)],
) -> bool {
    if text == key || name == Some(text) {
        return true;
    }
    let words = match name.and_then(|name| text.strip_prefix(name)) {
        Some(rest) if rest.starts_with(char::is_whitespace) => rest,
        _ => text,
    };
    let mut any = false;
    words.split_whitespace().all(|word| {
        any = true;
        word.split_once('=').is_some_and(|(parameter, value)| {
            parameters
                .iter()
                .any(|(known, as_written)| known == parameter && as_written.to_string() == value)
        })
    }) && any
}

impl Campaign {
    /// What the file unfolds into, with `--quick` if asked for.
    ///
    /// # Errors
    /// The first thing that cannot be, and where the file says so.
    pub fn unfold(file: &ExperimentFile, quick: bool) -> Result<Self> {
        names(file)?;
        // The whole file is held to be right, whichever variant is asked for.
        let whole = points(file, &Places(None))?;
        texts(file, &whole)?;
        let (experiment, places) = if quick {
            quickened(file, &whole)?
        } else {
            (file.clone(), Places(None))
        };
        let points = if quick {
            points(&experiment, &places)?
        } else {
            whole
        };
        let excluded = exclusions(&experiment, &places)?;
        let rule = rule(&experiment, &places)?;
        let retries = experiment.repeat.retries.unwrap_or(3);
        if retries > 1000 {
            return Err(ExperimentError::new(
                places.repeat("retries"),
                format!("{retries} retries are too many"),
                "take at most 1000",
            ));
        }
        let unfolder = Unfolder::new(&experiment, &places)?;
        let mut networks = Networks::default();
        let mut cases = Vec::new();
        let mut alone: Vec<Vec<Alone>> = Vec::new();
        for point in points {
            if excluded_point(&excluded, &point)? {
                continue;
            }
            if cases.len() == MOST_CASES {
                return Err(too_many(&experiment, "more than"));
            }
            let (case, wanted) = unfolder.case(&point, &mut networks)?;
            cases.push(case);
            alone.push(wanted);
        }
        if cases.is_empty() {
            return Err(ExperimentError::new(
                top("exclude"),
                "every combination is left out",
                "leave fewer out",
            ));
        }
        baselines(&mut cases, alone)?;
        if cases.len() > MOST_CASES {
            return Err(too_many(&experiment, "with its solo baselines more than"));
        }
        Ok(Self {
            seed: experiment.seed.unwrap_or(1),
            experiment,
            quick,
            cases,
            rule,
            retries,
        })
    }

    /// Holds the links that its metrics and rates name against those there are, where the network is a file or a real one.
    ///
    /// # Errors
    /// The first link that is not there.
    pub fn check_links(&self, links: &[String]) -> Result<()> {
        let links: Vec<&str> = links.iter().map(String::as_str).collect();
        let whole = points(&self.experiment, &Places(None))?;
        check_texts(&self.experiment, &whole, Some(&links))?;
        for (index, flow) in self.experiment.flow.iter().enumerate() {
            let named = self.cases.iter().flat_map(|case| &case.flows);
            for spec in named.filter(|spec| spec.name == flow.name) {
                if let RateSpec::Part {
                    link: Some(link), ..
                } = &spec.rate
                    && !links.contains(&link.as_str())
                {
                    return Err(no_link(Location::of("flow", index).key("of"), link, &links));
                }
            }
        }
        Ok(())
    }
}

fn no_link(at: Location, link: &str, links: &[&str]) -> ExperimentError {
    ExperimentError::new(
        at,
        format!("there is no link {link:?}"),
        suggestion(link, "link", links.iter().copied()),
    )
}

fn too_many(file: &ExperimentFile, how: &str) -> ExperimentError {
    ExperimentError::new(
        top(if file.parameter.is_empty() {
            "case"
        } else {
            "parameter"
        }),
        format!("the experiment has {how} {MOST_CASES} cases"),
        "leave values out, or exclude combinations",
    )
}

/// Where a key was written that `--quick` may have replaced.
struct Places<'a>(Option<&'a super::file::QuickFile>);

impl Places<'_> {
    fn time(&self, key: &str) -> Location {
        let time = self.0.and_then(|quick| quick.time.as_ref());
        let replaced = time.is_some_and(|time| match key {
            "measure" => time.measure.is_some(),
            "warm_up" => time.warm_up.is_some(),
            _ => time.interval.is_some(),
        });
        if replaced {
            return top("quick").key("time").key(key);
        }
        top("time").key(key)
    }

    fn repeat(&self, key: &str) -> Location {
        let repeat = self.0.and_then(|quick| quick.repeat.as_ref());
        let replaced = repeat.is_some_and(|repeat| match key {
            "min" => repeat.min.is_some(),
            "max" => repeat.max.is_some(),
            "relative_error" => repeat.relative_error.is_some(),
            "confidence" => repeat.confidence.is_some(),
            "of" => !repeat.of.is_empty(),
            _ => repeat.retries.is_some(),
        });
        if replaced {
            return top("quick").key("repeat").key(key);
        }
        top("repeat").key(key)
    }

    fn flow(&self, index: usize, name: &str, key: &str) -> Location {
        let flow = self.0.and_then(|quick| quick.flow.get(name));
        let replaced = flow.is_some_and(|flow| match key {
            "messages" => flow.messages.is_some(),
            "length" => flow.length.is_some(),
            "bytes" => flow.bytes.is_some(),
            _ => false,
        });
        if replaced {
            return top("quick").key("flow").key(name).key(key);
        }
        Location::of("flow", index).key(key)
    }

    fn values(&self, index: usize, name: &str) -> Location {
        if self.0.is_some_and(|quick| quick.values.contains_key(name)) {
            return top("quick").key("values").key(name);
        }
        Location::of("parameter", index).key("values")
    }
}

/// Holds names against the rules for names: of parameters, flows and cases.
fn names(file: &ExperimentFile) -> Result<()> {
    const RESERVED: [&str; 8] = [
        "and", "or", "not", "true", "false", "baseline", "total", "links",
    ];
    if file.title.trim().is_empty() || file.title.contains(char::is_control) {
        return Err(ExperimentError::new(
            top("title"),
            "the title is empty or not one line",
            "say in a line what it is about",
        ));
    }
    if file.flow.is_empty() {
        return Err(ExperimentError::new(
            Location::default(),
            "the experiment has no flow",
            "write at least one [[flow]]",
        ));
    }
    if file.flow.len() > MOST_FLOW_FILES {
        return Err(ExperimentError::new(
            top("flow"),
            format!("{} flows are too many", file.flow.len()),
            format!("take at most {MOST_FLOW_FILES}, and count for more connections"),
        ));
    }
    let word = |at: Location, what: &str, name: &str| {
        let fits = name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.len() <= 64
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if fits && !RESERVED.contains(&name) {
            return Ok(());
        }
        Err(ExperimentError::new(
            at,
            format!("a {what} cannot be called {name:?}"),
            format!(
                "take letters, digits and _, a letter first, and none of {}",
                RESERVED.join(", ")
            ),
        ))
    };
    let mut seen = BTreeSet::new();
    for (index, flow) in file.flow.iter().enumerate() {
        let at = Location::of("flow", index).key("name");
        word(at.clone(), "flow", &flow.name)?;
        unique(&mut seen, at, "flow", &flow.name)?;
    }
    let mut seen = BTreeSet::new();
    for (index, parameter) in file.parameter.iter().enumerate() {
        let at = Location::of("parameter", index).key("name");
        word(at.clone(), "parameter", &parameter.name)?;
        unique(&mut seen, at, "parameter", &parameter.name)?;
    }
    let mut seen = BTreeSet::new();
    for (index, case) in file.case.iter().enumerate() {
        let at = Location::of("case", index).key("name");
        if case.name.trim() != case.name
            || case.name.is_empty()
            || case.name.len() > 64
            || case.name.contains(|c: char| c.is_control() || c == '"')
        {
            return Err(ExperimentError::new(
                at,
                format!("a case cannot be called {:?}", case.name),
                "take one short line without quotes",
            ));
        }
        unique(&mut seen, at, "case", &case.name)?;
    }
    Ok(())
}

fn unique<'a>(seen: &mut BTreeSet<&'a str>, at: Location, what: &str, name: &'a str) -> Result<()> {
    if seen.insert(name) {
        return Ok(());
    }
    Err(ExperimentError::new(
        at,
        format!("two {what}s are called {name}"),
        "give each a name of its own",
    ))
}

fn value_fits(at: &Location, name: &str, value: &Scalar) -> Result<()> {
    let problem = match value {
        Scalar::Text(text) if text.trim() != text || text.is_empty() => {
            "is empty or has blanks around it"
        }
        Scalar::Text(text) if text.len() > 256 => "is longer than 256 bytes",
        Scalar::Text(text) if text.contains(['{', '}']) => "holds a brace",
        Scalar::Text(text) if text.contains(char::is_control) => "is not one line",
        Scalar::Number(number) if !number.is_finite() => "is no finite number",
        _ => return Ok(()),
    };
    Err(ExperimentError::new(
        at.clone(),
        format!("value {value:?} of {name} {problem}")
            .replace("Text(", "")
            .replace("\")", "\""),
        "write a number or a word, as 50M, 80% or bbr",
    ))
}

/// Every combination, the excluded ones among them: named cases in the order of the file, the last parameter fastest.
fn points(file: &ExperimentFile, places: &Places<'_>) -> Result<Vec<Point>> {
    for (index, parameter) in file.parameter.iter().enumerate() {
        let at = places.values(index, &parameter.name);
        let mut seen = HashSet::new();
        for value in &parameter.values {
            value_fits(&at, &parameter.name, value)?;
            if !seen.insert(value.to_string()) {
                return Err(ExperimentError::new(
                    at,
                    format!("{} has the value {value} twice", parameter.name),
                    "leave one out",
                ));
            }
        }
    }
    let nameless = [CaseFile::default()];
    let cases: &[CaseFile] = if file.case.is_empty() {
        &nameless
    } else {
        &file.case
    };
    // Counted before anything is built, in numbers that cannot overflow.
    let mut all = 0_u128;
    for (index, case) in cases.iter().enumerate() {
        let at = Location::of("case", index).key("set");
        for (name, value) in &case.set {
            if !file
                .parameter
                .iter()
                .any(|parameter| parameter.name == *name)
            {
                let known = file
                    .parameter
                    .iter()
                    .map(|parameter| parameter.name.as_str());
                return Err(ExperimentError::new(
                    at.key(name),
                    format!("there is no parameter {name}"),
                    suggestion(name, "parameter", known),
                ));
            }
            value_fits(&at.key(name), name, value)?;
        }
        let mut combinations = 1_u128;
        for (number, parameter) in file.parameter.iter().enumerate() {
            if case.set.contains_key(&parameter.name) {
                continue;
            }
            if parameter.values.is_empty() {
                let (at, problem) = if file.case.is_empty() {
                    let at = Location::of("parameter", number);
                    (at, format!("parameter {} has no values", parameter.name))
                } else {
                    let problem = format!(
                        "case {} does not set {}, which has no values",
                        case.name, parameter.name
                    );
                    (at, problem)
                };
                return Err(ExperimentError::new(
                    at,
                    problem,
                    "give it values, or set it in every case",
                ));
            }
            combinations = combinations.saturating_mul(parameter.values.len() as u128);
        }
        all = all.saturating_add(combinations);
    }
    if all > MOST_COMBINATIONS {
        return Err(ExperimentError::new(
            top("parameter"),
            format!("the matrix has {all} cases, and at most {MOST_CASES} can be carried out"),
            "leave values out, or name the cases that matter with [[case]]",
        ));
    }
    let mut points = Vec::new();
    for case in cases {
        let mut begun = vec![Vec::new()];
        for parameter in &file.parameter {
            let values = match case.set.get(&parameter.name) {
                Some(value) => std::slice::from_ref(value),
                None => parameter.values.as_slice(),
            };
            let longer = |begun: &Vec<(String, Scalar)>| {
                let begun = begun.clone();
                values.iter().map(move |value| {
                    let mut point = begun.clone();
                    point.push((parameter.name.clone(), value.clone()));
                    point
                })
            };
            begun = begun.iter().flat_map(longer).collect();
        }
        let named = !case.name.is_empty();
        points.extend(begun.into_iter().map(|parameters| Point {
            name: named.then(|| case.name.clone()),
            title: case.title.clone(),
            parameters,
            set: case.set.keys().cloned().collect(),
        }));
    }
    let mut keys = HashSet::new();
    for point in &points {
        let key = point.key();
        if !keys.insert(key.clone()) {
            return Err(ExperimentError::new(
                top("case"),
                format!("two cases would be called {key:?}"),
                "give one of them another name",
            ));
        }
    }
    Ok(points)
}

fn condition(at: &Location, text: &str, scope: &Scope<'_>) -> Result<Expression> {
    let wrong = |error| ExperimentError::of_expression(at.clone(), error, text);
    let expression = Expression::condition(text).map_err(wrong)?;
    expression
        .check(scope)
        .map_err(|error| ExperimentError::of_expression(at.clone(), error, text))?;
    Ok(expression)
}

fn parameter_names(file: &ExperimentFile) -> Vec<&str> {
    let names = file
        .parameter
        .iter()
        .map(|parameter| parameter.name.as_str());
    names.collect()
}

type Exclusion = (Location, Expression);

fn exclusions(file: &ExperimentFile, places: &Places<'_>) -> Result<Vec<Exclusion>> {
    let parameters = parameter_names(file);
    let scope = before(&parameters);
    let added = places.0.map_or(0, |quick| quick.exclude.len());
    let own = file.exclude.len() - added;
    let mut all = Vec::new();
    for (index, exclude) in file.exclude.iter().enumerate() {
        let mut at = Location::of("exclude", index);
        if index >= own {
            at = top("quick").key("exclude");
            at.0.push(Step::Index(index - own));
        }
        let at = at.key("when");
        let expression = condition(&at, &exclude.when, &scope)?;
        all.push((at, expression));
    }
    Ok(all)
}

/// The names there are before anything is measured.
fn before<'a>(parameters: &'a [&'a str]) -> Scope<'a> {
    Scope {
        parameters,
        flows: None,
        links: None,
        contention: false,
    }
}

fn excluded_point(excluded: &[Exclusion], point: &Point) -> Result<bool> {
    for (at, expression) in excluded {
        if holds(at, expression, point)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn holds(at: &Location, expression: &Expression, point: &Point) -> Result<bool> {
    expression.holds_for(&point.parameters).map_err(|cannot| {
        ExperimentError::new(
            at.clone(),
            format!("this cannot be told for {}: {cannot}", point.key()),
            "compare words with == and a quoted text",
        )
    })
}

/// The file with what `--quick` changes, and where that is written.
fn quickened<'a>(
    file: &'a ExperimentFile,
    whole: &[Point],
) -> Result<(ExperimentFile, Places<'a>)> {
    let mut changed = file.clone();
    let Some(quick) = &file.quick else {
        return Ok((changed, Places(None)));
    };
    changed.quick = None;
    if let Some(time) = &quick.time {
        changed.time.measure = time.measure.or(changed.time.measure);
        changed.time.warm_up = time.warm_up.or(changed.time.warm_up);
        changed.time.interval = time.interval.or(changed.time.interval);
    }
    if let Some(repeat) = &quick.repeat {
        let old = &mut changed.repeat;
        // Fewer at least may not be more than the most that was meant for the whole.
        if let Some(min) = repeat.min {
            old.min = Some(min);
            old.max = old.max.map(|max| max.max(min));
        }
        if let Some(max) = repeat.max {
            old.max = Some(max);
            if repeat.min.is_none() {
                old.min = old.min.map(|min| min.min(max));
            }
        }
        old.relative_error = repeat.relative_error.clone().or(old.relative_error.take());
        if !repeat.of.is_empty() {
            old.of.clone_from(&repeat.of);
        }
        old.confidence = repeat.confidence.or(old.confidence);
        old.retries = repeat.retries.or(old.retries);
    }
    for (name, values) in &quick.values {
        let at = top("quick").key("values").key(name);
        let known = file
            .parameter
            .iter()
            .map(|parameter| parameter.name.as_str());
        let parameter = changed
            .parameter
            .iter_mut()
            .find(|parameter| parameter.name == *name);
        let parameter = parameter.ok_or_else(|| {
            ExperimentError::new(
                at.clone(),
                format!("there is no parameter {name}"),
                suggestion(name, "parameter", known),
            )
        })?;
        if values.is_empty() {
            return Err(ExperimentError::new(
                at,
                format!("no value of {name} is left"),
                "leave one at least",
            ));
        }
        parameter.values.clone_from(values);
    }
    changed.exclude.extend(quick.exclude.iter().cloned());
    for (index, name) in quick.cases.iter().enumerate() {
        if !file.case.iter().any(|case| case.name == *name) {
            let mut at = top("quick").key("cases");
            at.0.push(Step::Index(index));
            let names = whole.iter().filter_map(|point| point.name.as_deref());
            let names: BTreeSet<&str> = names.collect();
            return Err(ExperimentError::new(
                at,
                format!("there is no case {name:?}"),
                suggestion(name, "case", names),
            ));
        }
    }
    if !quick.cases.is_empty() {
        changed.case.retain(|case| quick.cases.contains(&case.name));
    }
    for (name, flow) in &quick.flow {
        let old = changed.flow.iter_mut().find(|old| old.name == *name);
        let old = old.ok_or_else(|| {
            let known = file.flow.iter().map(|flow| flow.name.as_str());
            ExperimentError::new(
                top("quick").key("flow").key(name),
                format!("there is no flow {name:?}"),
                suggestion(name, "flow", known),
            )
        })?;
        old.messages = flow.messages.clone().or(old.messages.take());
        old.length = flow.length.clone().or(old.length.take());
        old.bytes = flow.bytes.clone().or(old.bytes.take());
    }
    Ok((changed, Places(Some(quick))))
}

fn rule(file: &ExperimentFile, places: &Places<'_>) -> Result<StopRule> {
    let repeat = &file.repeat;
    let relative_error = match &repeat.relative_error {
        None => f64::INFINITY,
        Some(text) => parse_fraction(text).map_err(|error| {
            ExperimentError::new(
                places.repeat("relative_error"),
                format!("{text:?} is no part of one"),
                error.to_string(),
            )
        })?,
    };
    let min = repeat.min.unwrap_or_else(|| {
        let usual = if relative_error.is_finite() {
            super::campaign::FEWEST_UNTIL_KNOWN
        } else {
            super::campaign::FEWEST
        };
        repeat.max.map_or(usual, |max| usual.min(max))
    });
    let max = repeat.max.unwrap_or(if relative_error.is_finite() {
        super::campaign::MOST.max(min)
    } else {
        min
    });
    if min == 0 || min > MOST_TRIALS {
        return Err(ExperimentError::new(
            places.repeat("min"),
            format!("{min} trials of a case cannot be"),
            format!("take 1 to {MOST_TRIALS}"),
        ));
    }
    if max < min || max > MOST_TRIALS {
        return Err(ExperimentError::new(
            places.repeat("max"),
            format!("at most {max} trials of a case cannot be"),
            format!("take {min}, the fewest, to {MOST_TRIALS}"),
        ));
    }
    let confidence = repeat.confidence.unwrap_or(0.95);
    if !(0.5..1.0).contains(&confidence) {
        return Err(ExperimentError::new(
            places.repeat("confidence"),
            format!("a confidence of {confidence} cannot be"),
            "take 0.5 to below 1, as 0.95",
        ));
    }
    Ok(StopRule {
        // Where the number of trials is given there is nothing to decide.
        relative_error: if min == max {
            f64::INFINITY
        } else {
            relative_error
        },
        confidence,
        min,
        max,
    })
}

/// Holds every formula of the file against the names there are.
fn texts(file: &ExperimentFile, whole: &[Point]) -> Result<()> {
    check_texts(file, whole, None)
}

struct Texts<'a> {
    file: &'a ExperimentFile,
    whole: &'a [Point],
    measured: Scope<'a>,
    before: Scope<'a>,
}

impl Texts<'_> {
    fn fits(&self, at: &Location, text: &str, expression: &Expression) -> Result<()> {
        expression
            .check(&self.measured)
            .map_err(|error| ExperimentError::of_expression(at.clone(), error, text))?;
        for name in expression.names() {
            if let Named::Case(case) = name {
                self.case(at, case)?;
            }
        }
        Ok(())
    }

    fn names_case(&self, text: &str) -> bool {
        self.whole
            .iter()
            .any(|point| describes(text, &point.key(), point.name.as_deref(), &point.parameters))
    }

    fn case(&self, at: &Location, case: &str) -> Result<()> {
        if self.names_case(case) {
            return Ok(());
        }
        let mut known: Vec<String> = self
            .whole
            .iter()
            .flat_map(|point| point.name.clone().into_iter().chain([point.key()]))
            .collect();
        known.dedup();
        Err(ExperimentError::new(
            at.clone(),
            format!("there is no case {case:?}"),
            suggestion(case, "case", known.iter().map(String::as_str)),
        ))
    }

    fn metric(&self, at: Location, text: &str) -> Result<()> {
        let wrong = |error| ExperimentError::of_expression(at.clone(), error, text);
        let expression = Expression::parse(text).map_err(wrong)?;
        if !matches!(
            expression.as_metric(),
            Some((None, super::expression::Which::Observed, _))
        ) {
            return Err(ExperimentError::new(
                at,
                format!("{text:?} is no metric"),
                "write FLOW.METRIC, total.METRIC or links.NAME.METRIC",
            ));
        }
        self.fits(&at, text, &expression)
    }

    fn when(&self, at: &Location, text: Option<&String>) -> Result<()> {
        text.map_or(Ok(()), |text| {
            condition(&at.key("when"), text, &self.before).map(drop)
        })
    }

    fn parameter(&self, at: Location, name: &str) -> Result<()> {
        if self.before.parameters.contains(&name) {
            return Ok(());
        }
        Err(ExperimentError::new(
            at,
            format!("there is no parameter {name}"),
            suggestion(name, "parameter", self.before.parameters.iter().copied()),
        ))
    }

    fn say(&self, at: &Location, text: &str) -> Result<()> {
        let wrong = |error| ExperimentError::of_expression(at.clone(), error, text);
        let template = Template::parse(text).map_err(wrong)?;
        for expression in template.expressions() {
            self.fits(at, "", expression)?;
        }
        Ok(())
    }

    fn part(&self, at: Location, text: &str) -> Result<()> {
        match number(text) {
            Some(part) if (0.0..=1e6).contains(&part) => Ok(()),
            _ => Err(ExperimentError::new(
                at,
                format!("{text:?} is no part"),
                "write for example 5%",
            )),
        }
    }
}

fn check_texts(file: &ExperimentFile, whole: &[Point], links: Option<&[&str]>) -> Result<()> {
    let parameters = parameter_names(file);
    let flows: Vec<(&str, KindFile)> = file
        .flow
        .iter()
        .map(|flow| (flow.name.as_str(), flow.kind))
        .collect();
    let texts = Texts {
        file,
        whole,
        measured: Scope {
            parameters: &parameters,
            flows: Some(&flows),
            links,
            contention: file.contention.is_some(),
        },
        before: before(&parameters),
    };
    texts.all()
}

impl Texts<'_> {
    fn all(&self) -> Result<()> {
        let file = self.file;
        for (index, metric) in file.repeat.of.iter().enumerate() {
            let mut at = top("repeat").key("of");
            at.0.push(Step::Index(index));
            self.metric(at, metric)?;
        }
        for (index, expect) in file.expect.iter().enumerate() {
            let at = Location::of("expect", index);
            let that = at.key("that");
            let wrong = |error| ExperimentError::of_expression(that.clone(), error, &expect.that);
            let expression = Expression::condition(&expect.that).map_err(wrong)?;
            self.fits(&that, &expect.that, &expression)?;
            self.when(&at, expect.when.as_ref())?;
        }
        for (index, published) in file.published.iter().enumerate() {
            let at = Location::of("published", index);
            if let Some(case) = &published.case
                && !self.names_case(case)
            {
                // By name, or else by an expression; a word that is neither was meant as a name.
                let expression = Expression::condition(case);
                let checked = expression.is_ok_and(|it| it.check(&self.before).is_ok());
                if !checked {
                    self.case(&at.key("case"), case)?;
                }
            }
            self.when(&at, published.when.as_ref())?;
            self.metric(at.key("metric"), &published.metric)?;
            for (key, value) in [
                ("value", &published.value),
                ("predicted", &published.predicted),
            ] {
                if let Some(value) = value
                    && value.number().is_none()
                {
                    return Err(ExperimentError::new(
                        at.key(key),
                        format!("{:?} is no number", value.to_string()),
                        "write it in the metric's base unit or with a unit, as 8.17M or 1.94%",
                    ));
                }
            }
            if published.value.is_none() && published.predicted.is_none() {
                return Err(ExperimentError::new(
                    at,
                    "this publishes nothing",
                    "give value or predicted",
                ));
            }
            if let Some(within) = &published.within {
                self.part(at.key("within"), within)?;
            }
        }
        if let Some(contention) = &file.contention {
            let at = top("contention");
            self.metric(at.key("victim"), &format!("{}.goodput", contention.victim))?;
            self.parameter(at.key("load"), &contention.load)?;
            if let Some(below) = &contention.below {
                self.part(at.key("below"), below)?;
            }
            if let (Some(link), Some(links)) = (&contention.link, self.measured.links)
                && !links.contains(&link.as_str())
            {
                return Err(no_link(at.key("link"), link, links));
            }
            for point in self.whole {
                let load = point
                    .parameters
                    .iter()
                    .find(|(name, _)| *name == contention.load);
                if let Some((_, value)) = load
                    && value.number().is_none()
                {
                    return Err(ExperimentError::new(
                        at.key("load"),
                        format!(
                            "{} has the value {value}, which is no number",
                            contention.load
                        ),
                        "take a parameter of rates or parts, as 50M or 80%",
                    ));
                }
            }
        }
        for (index, conclude) in file.conclude.iter().enumerate() {
            let at = Location::of("conclude", index);
            if let Some(text) = &conclude.condition {
                let key = at.key("if");
                let wrong = |error| ExperimentError::of_expression(key.clone(), error, text);
                let expression = Expression::condition(text).map_err(wrong)?;
                self.fits(&key, text, &expression)?;
            } else if conclude.otherwise.is_some() {
                return Err(ExperimentError::new(
                    at.key("else"),
                    "else stands without if",
                    "write if",
                ));
            }
            self.say(&at.key("say"), &conclude.say)?;
            if let Some(otherwise) = &conclude.otherwise {
                self.say(&at.key("else"), otherwise)?;
            }
        }
        for (index, table) in file.table.iter().enumerate() {
            let at = Location::of("table", index);
            self.when(&at, table.when.as_ref())?;
            for (place, metric) in table.metrics.iter().enumerate() {
                let mut at = at.key("metrics");
                at.0.push(Step::Index(place));
                self.metric(at, metric)?;
            }
        }
        for (index, figure) in file.figure.iter().enumerate() {
            let at = Location::of("figure", index);
            self.when(&at, figure.when.as_ref())?;
            for (place, metric) in figure.metrics.iter().enumerate() {
                let mut at = at.key("metrics");
                at.0.push(Step::Index(place));
                self.metric(at, metric)?;
            }
            for (key, name) in [("over", &figure.over), ("by", &figure.by)] {
                if let Some(name) = name {
                    self.parameter(at.key(key), name)?;
                }
            }
        }
        Ok(())
    }
}

/// A text with every `{parameter}` replaced; notes which were used.
///
/// # Errors
/// A problem and a remedy.
pub(super) fn filled(
    text: &str,
    parameters: &[(String, Scalar)],
    used: &mut BTreeSet<String>,
) -> std::result::Result<String, (String, String)> {
    let mut full = String::new();
    let mut rest = text;
    while let Some(brace) = rest.find(['{', '}']) {
        full.push_str(&rest[..brace]);
        let (sign, behind) = rest[brace..].split_at(1);
        if let Some(again) = behind.strip_prefix(sign) {
            full.push_str(sign);
            rest = again;
            continue;
        }
        let name = match (sign, behind.find('}')) {
            ("{", Some(end)) => behind[..end].trim(),
            _ => {
                return Err((
                    format!("{text:?} has a brace without its other half"),
                    "write {parameter}, and {{ or }} for a brace".to_owned(),
                ));
            }
        };
        let Some((known, value)) = parameters.iter().find(|(known, _)| known == name) else {
            let known = parameters.iter().map(|(known, _)| known.as_str());
            return Err((
                format!("there is no parameter {name:?}"),
                suggestion(name, "parameter", known),
            ));
        };
        used.insert(known.clone());
        full.push_str(&value.to_string());
        rest = &behind[behind.find('}').map_or(behind.len(), |end| end + 1)..];
    }
    full.push_str(rest);
    Ok(full)
}

/// A text with every `{parameter}` replaced by its value; as it stands where that cannot be done.
#[must_use]
pub fn fill(text: &str, parameters: &[(String, Scalar)]) -> String {
    filled(text, parameters, &mut BTreeSet::new()).unwrap_or_else(|_| text.to_owned())
}

/// Whether a parameter whose value is `default` leaves a key out of a case.
fn is_left_out(written: &str, filled: &str) -> bool {
    filled == "default" && written != filled
}

/// Fills in the texts of one case.
struct Filler<'a> {
    parameters: &'a [(String, Scalar)],
    used: BTreeSet<String>,
}

impl Filler<'_> {
    fn text(&mut self, at: &Location, text: &str) -> Result<String> {
        filled(text, self.parameters, &mut self.used)
            .map_err(|(problem, remedy)| ExperimentError::new(at.clone(), problem, remedy))
    }

    fn optional(&mut self, at: &Location, text: Option<&String>) -> Result<Option<String>> {
        let filled = text.map(|text| self.text(at, text)).transpose()?;
        Ok(filled.filter(|filled| text.is_some_and(|text| !is_left_out(text, filled))))
    }

    /// The value as text, with the parameters in place.
    fn scalar(&mut self, at: &Location, value: Option<&Scalar>) -> Result<Option<String>> {
        let written = value.map(ToString::to_string);
        self.optional(at, written.as_ref())
    }

    fn read<T>(
        &mut self,
        at: &Location,
        value: Option<&Scalar>,
        read: impl FnOnce(&str) -> std::result::Result<T, String>,
    ) -> Result<Option<T>> {
        let Some(text) = self.scalar(at, value)? else {
            return Ok(None);
        };
        let from = match value {
            Some(Scalar::Text(written)) if *written != text => format!(" (from {written:?})"),
            _ => String::new(),
        };
        read(&text).map(Some).map_err(|remedy| {
            let key = match at.0.last() {
                Some(Step::Key(key)) => key.as_str(),
                _ => "value",
            };
            ExperimentError::new(
                at.clone(),
                format!("{key} cannot be {text:?}{from}"),
                remedy,
            )
        })
    }

    fn time(&mut self, at: &Location, value: Option<&Scalar>) -> Result<Option<Duration>> {
        self.read(at, value, |text| {
            parse_duration(text).map_err(|_| "write for example 10s, 500ms or 2min".to_owned())
        })
    }

    fn bytes(&mut self, at: &Location, value: Option<&Scalar>) -> Result<Option<ByteCount>> {
        self.read(at, value, |text| match text.parse::<ByteCount>() {
            Ok(bytes) if bytes.get() > 0 => Ok(bytes),
            _ => Err("write for example 1M for 10^6 or 1Mi for 2^20 bytes".to_owned()),
        })
    }

    fn whole(
        &mut self,
        at: &Location,
        value: Option<&Scalar>,
        range: std::ops::RangeInclusive<u64>,
    ) -> Result<Option<u64>> {
        self.read(at, value, |text| {
            let (low, high) = (*range.start(), *range.end());
            text.trim()
                .parse::<u64>()
                .ok()
                .or_else(|| text.parse::<ByteCount>().ok().map(ByteCount::get))
                .filter(|whole| range.contains(whole))
                .ok_or_else(|| format!("write a whole number from {low} to {high}"))
        })
    }
}

/// What is known of a network without building it.
#[derive(Debug, Clone)]
struct Network {
    hosts: Vec<String>,
    links: Vec<String>,
}

/// The networks seen so far; most cases share one.
#[derive(Default)]
struct Networks(HashMap<String, Option<Network>>);

impl Networks {
    fn of(&mut self, place: &PlaceFile) -> Result<Option<&Network>> {
        let known = format!("{place:?}");
        if !self.0.contains_key(&known) {
            let network = network(place)?;
            self.0.insert(known.clone(), network);
        }
        Ok(self.0.get(&known).and_then(Option::as_ref))
    }
}

fn network(place: &PlaceFile) -> Result<Option<Network>> {
    let (file, at) = match (&place.preset, &place.lab) {
        (Some(name), _) => {
            let at = top("topology").key("preset");
            let preset = Preset::by_name(name).ok_or_else(|| {
                ExperimentError::new(
                    at.clone(),
                    format!("there is no preset {name:?}"),
                    suggestion(name, "preset", PRESETS.iter().map(|preset| preset.name)),
                )
            })?;
            let number = match &place.number {
                Some(Scalar::Whole(number)) => usize::try_from(*number).ok(),
                _ => None,
            };
            let file = preset.file(number).map_err(|problem| {
                let at = top("topology").key("number");
                ExperimentError::new(at, problem, "see `caudal lab preset`")
            })?;
            (file, at)
        }
        (None, Some(lab)) => (lab.clone(), top("topology").key("lab")),
        (None, None) => return Ok(None),
    };
    match Topology::resolve(&file) {
        Ok(topology) => Ok(Some(Network {
            hosts: topology
                .nodes
                .iter()
                .filter(|node| node.has_addresses())
                .map(|node| node.name.clone())
                .collect(),
            links: topology
                .links
                .iter()
                .map(|link| link.name.clone())
                .collect(),
        })),
        // Changes by `set` may be what makes it right; that is found out when they are made.
        Err(_) if !place.set.is_empty() => Ok(None),
        Err(error) => {
            let mut at = at;
            at.0.extend(error.at.0);
            Err(ExperimentError::new(at, error.problem, error.remedy))
        }
    }
}

/// A flow that is to be measured alone, and the parameters on which it and its place depend.
type Alone = (String, FlowSpec, BTreeSet<String>);

struct Unfolder<'a> {
    file: &'a ExperimentFile,
    places: &'a Places<'a>,
    measure: Duration,
    warm_up: Duration,
    interval: Duration,
    /// The condition of each flow.
    when: Vec<Option<Expression>>,
}

impl<'a> Unfolder<'a> {
    fn new(file: &'a ExperimentFile, places: &'a Places<'a>) -> Result<Self> {
        let time = &file.time;
        let measure = time.measure.map_or(Duration::from_secs(10), |time| time.0);
        let warm_up = time.warm_up.map_or(Duration::from_secs(1), |time| time.0);
        let interval = time
            .interval
            .map_or(Duration::from_millis(200), |time| time.0);
        let check = |key: &str, time: Duration, fits: bool, remedy: &str| {
            if fits {
                return Ok(());
            }
            let time = format_duration(time);
            Err(ExperimentError::new(
                places.time(key),
                format!("{key} cannot be {time}"),
                remedy,
            ))
        };
        check(
            "measure",
            measure,
            measure >= SHORTEST_INTERVAL && measure <= LONGEST,
            "take 10ms to 30 days",
        )?;
        check(
            "warm_up",
            warm_up,
            warm_up <= LONGEST,
            "take at most 30 days",
        )?;
        check(
            "interval",
            interval,
            interval >= SHORTEST_INTERVAL && interval <= measure,
            "take 10ms to what is measured",
        )?;
        let parameters = parameter_names(file);
        let scope = before(&parameters);
        let mut when = Vec::new();
        for (index, flow) in file.flow.iter().enumerate() {
            let at = Location::of("flow", index).key("when");
            let parsed = flow.when.as_ref().map(|text| condition(&at, text, &scope));
            when.push(parsed.transpose()?);
        }
        Ok(Self {
            file,
            places,
            measure,
            warm_up,
            interval,
            when,
        })
    }

    /// The case at a point, and the flows of it that are to be measured alone, with the parameters that each depends on.
    fn case(&self, point: &Point, networks: &mut Networks) -> Result<(Case, Vec<Alone>)> {
        let mut filler = Filler {
            parameters: &point.parameters,
            used: BTreeSet::new(),
        };
        let place = self.place(&mut filler)?;
        let of_place = std::mem::take(&mut filler.used);
        let network = networks.of(&place)?;
        let mut flows = Vec::new();
        let mut alone = Vec::new();
        for (index, flow) in self.file.flow.iter().enumerate() {
            if let Some(when) = &self.when[index] {
                let at = Location::of("flow", index).key("when");
                if !holds(&at, when, point)? {
                    continue;
                }
            }
            filler.used.clear();
            let spec = self.flow(index, flow, &mut filler, &place, network)?;
            if flow.baseline == Some(true) {
                let used = of_place.union(&filler.used).cloned().collect();
                alone.push((flow.name.clone(), spec.clone(), used));
            }
            flows.push(spec);
        }
        if flows.is_empty() {
            return Err(ExperimentError::new(
                top("flow"),
                format!("case {} has no flow", point.key()),
                "leave it out with [[exclude]], or widen the `when` of a flow",
            ));
        }
        let at = top("case").key("title");
        let title = filler.optional(&at, point.title.as_ref())?;
        let case = Case {
            key: point.key(),
            name: point.name.clone(),
            title,
            parameters: point.parameters.clone(),
            place,
            flows,
            measure: self.measure,
            warm_up: self.warm_up,
            interval: self.interval,
            alone: None,
            baselines: BTreeMap::new(),
            capture: self.file.capture.unwrap_or(false),
        };
        Ok((case, alone))
    }

    fn place(&self, filler: &mut Filler<'_>) -> Result<PlaceFile> {
        let written = &self.file.topology;
        let at = top("topology");
        let kinds = [
            written.preset.is_some(),
            written.file.is_some(),
            written.lab.is_some(),
            written.hosts.is_some(),
            written.loopback == Some(true),
        ];
        if kinds.iter().filter(|given| **given).count() != 1 {
            return Err(ExperimentError::new(
                at,
                "the network is not said, or said twice",
                "give exactly one of preset, file, lab, hosts, and loopback = true",
            ));
        }
        let mut place = written.clone();
        place.preset = filler.optional(&at.key("preset"), written.preset.as_ref())?;
        place.file = filler.optional(&at.key("file"), written.file.as_ref())?;
        place.number = filler
            .whole(&at.key("number"), written.number.as_ref(), 1..=100)?
            .map(|number| Scalar::Whole(number as i64));
        for (index, change) in place.set.iter_mut().enumerate() {
            let mut at = at.key("set");
            at.0.push(Step::Index(index));
            *change = filler.text(&at, change)?;
            if !change.contains('=') {
                return Err(ExperimentError::new(
                    at,
                    format!("{change:?} changes nothing"),
                    "write it as bottleneck.rate=5M",
                ));
            }
        }
        if let Some(hosts) = &mut place.hosts {
            for (name, host) in hosts {
                *host = filler.text(&at.key("hosts").key(name), host)?;
            }
        }
        if let Some(lab) = &mut place.lab {
            fill_lab(lab, &at.key("lab"), filler)?;
        }
        let at = at.key("link_rate");
        place.link_rate = filler.optional(&at, written.link_rate.as_ref())?;
        if let Some(rate) = &place.link_rate
            && !rate.parse::<BitRate>().is_ok_and(|rate| rate.bps() > 0)
        {
            return Err(ExperimentError::new(
                at,
                format!("link_rate cannot be {rate:?}"),
                "write for example 100M",
            ));
        }
        Ok(place)
    }

    fn flow(
        &self,
        index: usize,
        flow: &FlowFile,
        filler: &mut Filler<'_>,
        place: &PlaceFile,
        network: Option<&Network>,
    ) -> Result<FlowSpec> {
        let at = |key: &str| self.places.flow(index, &flow.name, key);
        let refuse = |key: &str, problem: String, remedy: &str| {
            Err(ExperimentError::new(at(key), problem, remedy))
        };
        let echo = matches!(flow.kind, KindFile::Rtt | KindFile::RttUdp);
        let over_udp = matches!(flow.kind, KindFile::Udp | KindFile::RttUdp);
        let unfit: [(&str, bool, &str); 8] = [
            (
                "rate",
                flow.rate.is_some() && echo,
                "echo has no rate; give every",
            ),
            ("of", flow.of.is_some() && echo, "leave it out"),
            (
                "bytes",
                flow.bytes.is_some() && echo,
                "echo sends messages; give messages",
            ),
            (
                "messages",
                flow.messages.is_some() && !echo,
                "give bytes, or a stop",
            ),
            ("every", flow.every.is_some() && !echo, "give a rate"),
            (
                "mss",
                flow.mss.is_some() && flow.kind != KindFile::Tcp,
                "leave it out",
            ),
            (
                "congestion",
                flow.congestion.is_some() && over_udp,
                "leave it out",
            ),
            (
                "of",
                flow.of.is_some() && flow.rate.is_none(),
                "give rate, as 80%",
            ),
        ];
        for (key, given, remedy) in unfit {
            if given {
                let kind = kind_name(flow.kind);
                return refuse(
                    key,
                    format!("{key} is nothing for the {kind} flow {}", flow.name),
                    remedy,
                );
            }
        }
        let from = filler.text(&at("from"), &flow.from)?;
        let to = filler.text(&at("to"), &flow.to)?;
        for (key, host) in [("from", &from), ("to", &to)] {
            if host.is_empty() {
                return refuse(key, format!("{key} is empty"), "name a host");
            }
            if let Some(network) = network
                && !network.hosts.contains(host)
            {
                let hosts = network.hosts.iter().map(String::as_str);
                let remedy = suggestion(host, "host", hosts);
                return refuse(key, format!("there is no host {host:?}"), &remedy);
            }
        }
        if from == to && place.loopback != Some(true) {
            return refuse("to", format!("{to} would send to itself"), "name two hosts");
        }
        let of = filler.optional(&at("of"), flow.of.as_ref())?;
        if let (Some(link), Some(network)) = (&of, network)
            && !network.links.contains(link)
        {
            let links: Vec<&str> = network.links.iter().map(String::as_str).collect();
            return Err(no_link(at("of"), link, &links));
        }
        let rate = filler.read(&at("rate"), flow.rate.as_ref(), |text| {
            rate(text, of.clone())
        })?;
        let rate = match rate {
            None if flow.kind == KindFile::Udp => {
                return Err(ExperimentError::new(
                    Location::of("flow", index),
                    format!("UDP flow {} has no rate", flow.name),
                    "give rate, as 50M or 80%",
                ));
            }
            rate => rate.unwrap_or(RateSpec::Max),
        };
        if let RateSpec::Part { link, .. } = &rate {
            if place.loopback == Some(true) {
                return refuse(
                    "rate",
                    "there is no link to send a part of".to_owned(),
                    "give a rate, as 50M",
                );
            }
            if place.hosts.is_some() && place.link_rate.is_none() {
                let of = link.as_deref().unwrap_or("the link");
                return refuse(
                    "rate",
                    format!("nobody knows the rate of {of} in a real network"),
                    "give topology.link_rate, or a rate as 50M",
                );
            }
        }
        let trial = self.warm_up + self.measure;
        let start = filler
            .time(&at("start"), flow.start.as_ref())?
            .unwrap_or_default();
        let stop = filler.time(&at("stop"), flow.stop.as_ref())?;
        let all = format_duration(trial);
        if start >= trial {
            let start = format_duration(start);
            return refuse(
                "start",
                format!(
                    "{} starts at {start}, when the trial of {all} is over",
                    flow.name
                ),
                "start earlier, or measure longer",
            );
        }
        if let Some(stop) = stop {
            let remedy = "stop after the start and within warm_up and measure";
            if stop <= start || stop > trial {
                let stop = format_duration(stop);
                let start = format_duration(start);
                return refuse(
                    "stop",
                    format!(
                        "{} cannot stop at {stop}, having started at {start} in a trial of {all}",
                        flow.name
                    ),
                    remedy,
                );
            }
        }
        let every = filler.time(&at("every"), flow.every.as_ref())?;
        if every.is_some_and(|every| every.is_zero()) {
            return refuse(
                "every",
                "every cannot be 0s".to_owned(),
                "write for example 20ms",
            );
        }
        let length_at = at("length");
        let (length, sizes) = if echo {
            (None, filler.scalar(&length_at, flow.length.as_ref())?)
        } else {
            let most = if flow.kind == KindFile::Udp {
                LARGEST_DATAGRAM
            } else {
                LARGEST_BLOCK
            };
            let length = filler.whole(&length_at, flow.length.as_ref(), 1..=u64::from(most))?;
            (length.map(|length| length as u32), None)
        };
        let told = filler.whole(
            &at("messages"),
            flow.messages.as_ref(),
            1..=crate::plan::MOST_MESSAGES,
        )?;
        let one_size = sizes
            .as_ref()
            .is_none_or(|sizes| sizes.parse::<ByteCount>().is_ok());
        let messages = match (told, every) {
            (None, None) if echo => Some(MESSAGES),
            // As many as fit; of several sizes it is known only when the sizes are read.
            (None, Some(every)) if one_size => {
                let time = stop.unwrap_or(trial).saturating_sub(start);
                Some(((time.as_nanos() / every.as_nanos()) as u64).max(1))
            }
            (told, _) => told,
        };
        Ok(FlowSpec {
            name: flow.name.clone(),
            kind: flow.kind,
            from,
            to,
            count: filler
                .whole(&at("count"), flow.count.as_ref(), 1..=u64::from(MOST_FLOWS))?
                .map_or(1, |count| count as u32),
            rate,
            length,
            sizes,
            congestion: filler.optional(&at("congestion"), flow.congestion.as_ref())?,
            window: filler.bytes(&at("window"), flow.window.as_ref())?,
            mss: filler
                .whole(&at("mss"), flow.mss.as_ref(), 88..=65_495)?
                .map(|mss| mss as u32),
            dscp: filler
                .whole(&at("dscp"), flow.dscp.as_ref(), 0..=63)?
                .map(|dscp| dscp as u8),
            start,
            stop,
            bytes: filler.bytes(&at("bytes"), flow.bytes.as_ref())?,
            messages,
            every,
            probe: flow.probe.unwrap_or(false),
        })
    }
}

fn fill_lab(lab: &mut TopologyFile, at: &Location, filler: &mut Filler<'_>) -> Result<()> {
    for (key, nodes) in [("host", &mut lab.host), ("router", &mut lab.router)] {
        for (index, node) in nodes.iter_mut().enumerate() {
            let mut at = at.key(key);
            at.0.push(Step::Index(index));
            node.congestion = filler.optional(&at.key("congestion"), node.congestion.as_ref())?;
            for (name, value) in &mut node.sysctl {
                *value = filler.text(&at.key("sysctl").key(name), value)?;
            }
        }
    }
    Ok(())
}

const fn kind_name(kind: KindFile) -> &'static str {
    match kind {
        KindFile::Tcp => "TCP",
        KindFile::Udp => "UDP",
        KindFile::Rtt => "echo",
        KindFile::RttUdp => "UDP echo",
    }
}

fn rate(text: &str, link: Option<String>) -> std::result::Result<RateSpec, String> {
    const REMEDY: &str = "write 50M, 80% or max";
    const NOTHING: &str = "a flow that sends nothing is left out with when = \"PARAMETER > 0\"";
    let text = text.trim();
    if text == "max" {
        return Ok(RateSpec::Max);
    }
    if text.ends_with('%') {
        return match number(text) {
            Some(0.0) => Err(NOTHING.to_owned()),
            Some(of_one) if of_one > 0.0 && of_one <= 1000.0 => Ok(RateSpec::Part { of_one, link }),
            _ => Err(REMEDY.to_owned()),
        };
    }
    match text.parse::<BitRate>() {
        Ok(BitRate::ZERO) => Err(NOTHING.to_owned()),
        Ok(rate) => Ok(RateSpec::Payload(rate)),
        Err(_) => Err(REMEDY.to_owned()),
    }
}

/// Adds the solo baselines that the cases want; identical ones are shared, and a case that is one already serves as one.
fn baselines(cases: &mut Vec<Case>, alone: Vec<Vec<Alone>>) -> Result<()> {
    let signature = |place: &PlaceFile, flow: &FlowSpec| format!("{place:?} {flow:?}");
    let mut known: HashMap<String, String> = HashMap::new();
    for case in cases.iter() {
        if let [flow] = case.flows.as_slice() {
            known
                .entry(signature(&case.place, flow))
                .or_insert_with(|| case.key.clone());
        }
    }
    let mut taken: HashSet<String> = cases.iter().map(|case| case.key.clone()).collect();
    for (index, wanted) in alone.into_iter().enumerate() {
        for (name, flow, used) in wanted {
            let signature = signature(&cases[index].place, &flow);
            let key = match known.get(&signature) {
                Some(key) => key.clone(),
                None => {
                    let baseline = baseline(&cases[index], &name, flow, &used);
                    let key = baseline.key.clone();
                    if !taken.insert(key.clone()) {
                        return Err(ExperimentError::new(
                            top("case"),
                            format!("two cases would be called {key:?}"),
                            "give one of them another name",
                        ));
                    }
                    cases.push(baseline);
                    known.insert(signature, key.clone());
                    key
                }
            };
            cases[index].baselines.insert(name, key);
        }
    }
    Ok(())
}

fn baseline(of: &Case, name: &str, flow: FlowSpec, used: &BTreeSet<String>) -> Case {
    let parameters: Vec<(String, Scalar)> = of
        .parameters
        .iter()
        .filter(|(parameter, _)| used.contains(parameter))
        .cloned()
        .collect();
    let words: Vec<String> = parameters
        .iter()
        .map(|(parameter, value)| format!("{parameter}={value}"))
        .collect();
    let key = if words.is_empty() {
        format!("alone: {name}")
    } else {
        format!("alone: {name} ({})", words.join(" "))
    };
    Case {
        key,
        name: None,
        title: None,
        parameters,
        flows: vec![flow],
        alone: Some(name.to_owned()),
        baselines: BTreeMap::new(),
        ..of.clone()
    }
}
