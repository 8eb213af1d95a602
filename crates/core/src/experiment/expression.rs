//! What an experiment's file says in formulas: conditions, expectations, conclusions.
//!
//! Text becomes an [`Expression`] once, with its parts known to fit each other; [`Expression::check`] holds its names against
//! those of an experiment; [`Expression::eval`] asks a [`Lookup`] for their values.

use std::fmt;

use super::file::KindFile;
use super::metric::{METRICS, On};
use super::nearest::suggestion;
use super::scalar::{Scalar, number};
use crate::predict::Unit;

/// The longest expression, in bytes.
pub const LONGEST: usize = 2000;
/// How deep parentheses, calls and signs may be nested.
pub const DEEPEST: usize = 48;

/// A formula over the parameters and metrics of a case.
#[derive(Debug, Clone)]
pub struct Expression {
    root: Node,
}

impl PartialEq for Expression {
    fn eq(&self, other: &Self) -> bool {
        same(&self.root, &other.root)
    }
}

/// A text that is no expression, or one that names what is not there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}; {remedy}")]
pub struct ExpressionError {
    /// The byte at which it goes wrong.
    pub at: usize,
    /// What is wrong.
    pub problem: String,
    /// What to do about it.
    pub remedy: String,
}

/// Why an expression has no value in a case.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CannotTell(pub String);

/// The value of an expression.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A number in base units, with its unit where that is known.
    Number(f64, Option<Unit>),
    /// A text.
    Text(String),
    /// A truth.
    Truth(bool),
    /// A parameter as written; it compares as a number where it is one.
    Written(Scalar),
}

/// Which value of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Which {
    /// The mean over the case's trials.
    Observed,
    /// The lower end of its interval.
    Low,
    /// The upper end of its interval.
    High,
    /// That of the flow alone.
    Baseline,
    /// What the formulas give.
    Predicted,
    /// What the simulation gives.
    Simulated,
    /// What was published.
    Published,
}

impl Which {
    const CALLS: [(&'static str, Self); 6] = [
        ("low", Self::Low),
        ("high", Self::High),
        ("baseline", Self::Baseline),
        ("predicted", Self::Predicted),
        ("simulated", Self::Simulated),
        ("published", Self::Published),
    ];

    /// The function that asks for it; `None` for what is observed, which needs none.
    #[must_use]
    pub fn call(self) -> Option<&'static str> {
        Self::CALLS
            .iter()
            .find_map(|(name, which)| (*which == self).then_some(*name))
    }
}

/// Where the values of an expression's names come from.
pub trait Lookup {
    /// A parameter of the case; `None` where the case does not have it.
    fn parameter(&self, name: &str) -> Option<Scalar>;

    /// A metric of the case by its full name, as `tcp.goodput`.
    ///
    /// # Errors
    /// Why it cannot be told.
    fn metric(&self, which: Which, name: &str) -> Result<f64, CannotTell>;

    /// Another case, by its key or name.
    ///
    /// # Errors
    /// Why it cannot be told which.
    fn elsewhere(&self, case: &str) -> Result<Box<dyn Lookup + '_>, CannotTell>;

    /// The load at which starvation begins, of a group, or of the one the case belongs to; infinite where it never does.
    ///
    /// # Errors
    /// Why it cannot be told.
    fn begins(&self, group: Option<&str>) -> Result<f64, CannotTell>;
}

/// A name in an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named<'a> {
    /// A parameter.
    Parameter(&'a str),
    /// A metric of the case at hand, by its full name.
    Metric(Which, &'a str),
    /// A metric of another case.
    MetricAt(&'a str, Which, &'a str),
    /// Another case.
    Case(&'a str),
    /// The load at which starvation begins, of a group.
    Begins(Option<&'a str>),
}

/// The names there are.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'a> {
    /// Parameters.
    pub parameters: &'a [&'a str],
    /// Flows; `None` where metrics have no place, as in `when`.
    pub flows: Option<&'a [(&'a str, KindFile)]>,
    /// Links; `None` where they are not known yet.
    pub links: Option<&'a [&'a str]>,
    /// Whether there is a load at which starvation can begin.
    pub contention: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Or,
    And,
    Below,
    AtMost,
    Above,
    AtLeast,
    Equal,
    Different,
    Plus,
    Minus,
    Times,
    Over,
}

impl Operator {
    const fn sign(self) -> &'static str {
        match self {
            Self::Or => "or",
            Self::And => "and",
            Self::Below => "<",
            Self::AtMost => "<=",
            Self::Above => ">",
            Self::AtLeast => ">=",
            Self::Equal => "==",
            Self::Different => "!=",
            Self::Plus => "+",
            Self::Minus => "-",
            Self::Times => "*",
            Self::Over => "/",
        }
    }

    /// How tightly it binds.
    const fn rank(self) -> u8 {
        match self {
            Self::Or => 1,
            Self::And => 2,
            Self::Below
            | Self::AtMost
            | Self::Above
            | Self::AtLeast
            | Self::Equal
            | Self::Different => 4,
            Self::Plus | Self::Minus => 5,
            Self::Times | Self::Over => 6,
        }
    }

    const fn compares(self) -> bool {
        self.rank() == 4
    }
}

const RANK_NOT: u8 = 3;
const RANK_NEGATED: u8 = 7;
const RANK_ATOM: u8 = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Function {
    Min,
    Max,
    Abs,
    Within,
}

impl Function {
    const ALL: [(&'static str, Self); 4] = [
        ("min", Self::Min),
        ("max", Self::Max),
        ("abs", Self::Abs),
        ("within", Self::Within),
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Min => "min",
            Self::Max => "max",
            Self::Abs => "abs",
            Self::Within => "within",
        }
    }
}

#[derive(Debug, Clone)]
enum Node {
    /// As written.
    Number(String, f64),
    Text(String),
    Truth(bool),
    Parameter(String, usize),
    Metric(Which, String, usize),
    /// `baseline` alone, with the metric left of it.
    BareBaseline(String, usize),
    At(String, Box<Node>, usize),
    Begins(Option<String>, usize),
    Negated(Box<Node>),
    Not(Box<Node>),
    Two(Operator, Box<Node>, Box<Node>),
    Call(Function, Vec<Node>),
}

/// Where two nodes stand in their texts makes no difference between them.
fn same(one: &Node, other: &Node) -> bool {
    use Node::{
        At, BareBaseline, Begins, Call, Metric, Negated, Not, Number, Parameter, Text, Truth, Two,
    };
    match (one, other) {
        (Number(a, _), Number(b, _)) | (Text(a), Text(b)) => a == b,
        (Truth(a), Truth(b)) => a == b,
        (Parameter(a, _), Parameter(b, _)) | (BareBaseline(a, _), BareBaseline(b, _)) => a == b,
        (Metric(v, a, _), Metric(w, b, _)) => v == w && a == b,
        (At(a, x, _), At(b, y, _)) => a == b && same(x, y),
        (Begins(a, _), Begins(b, _)) => a == b,
        (Negated(x), Negated(y)) | (Not(x), Not(y)) => same(x, y),
        (Two(o, a, b), Two(p, c, d)) => o == p && same(a, c) && same(b, d),
        (Call(f, a), Call(g, b)) => {
            f == g && a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        _ => false,
    }
}

/// What a part of an expression is, before its values are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    Number,
    Text,
    Truth,
    /// A parameter may be any.
    Any,
}

impl Expression {
    /// Reads an expression.
    ///
    /// # Errors
    /// Where it goes wrong: a sign out of place, parts that do not fit each other, too long or too deep.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        if text.len() > LONGEST {
            return Err(ExpressionError {
                at: LONGEST,
                problem: format!("the expression is longer than {LONGEST} bytes"),
                remedy: "say it in several".to_owned(),
            });
        }
        let mut parser = Parser {
            tokens: tokens(text)?,
            next: 0,
            depth: 0,
            metric: None,
            end: text.len(),
        };
        let (root, _) = parser.either()?;
        match parser.peek() {
            None => Ok(Self { root }),
            Some(token) => Err(wrong(
                token.at,
                format!("{} is out of place", token.kind.words()),
                "join two parts with and, or, or a sign of arithmetic",
            )),
        }
    }

    /// Reads an expression that is true or false.
    ///
    /// # Errors
    /// As [`parse`](Self::parse), and for one that is a number or a text.
    pub fn condition(text: &str) -> Result<Self, ExpressionError> {
        let expression = Self::parse(text)?;
        match sort_of(&expression.root) {
            Sort::Truth | Sort::Any => Ok(expression),
            Sort::Number | Sort::Text => Err(wrong(
                0,
                format!("{text:?} is neither true nor false"),
                "compare it with something, as in tcp.goodput > 50M",
            )),
        }
    }

    /// Every name in it, in the order written.
    #[must_use]
    pub fn names(&self) -> Vec<Named<'_>> {
        let mut names = Vec::new();
        collect(&self.root, None, &mut |named, _| names.push(named));
        names
    }

    /// Whether every metric in it stands within `at(…)`, or there is none.
    #[must_use]
    pub fn is_about_named_cases_only(&self) -> bool {
        !self
            .names()
            .iter()
            .any(|name| matches!(name, Named::Metric(..)))
    }

    /// Holds its names against those there are.
    ///
    /// # Errors
    /// The first that is not there, with the nearest that is.
    pub fn check(&self, scope: &Scope<'_>) -> Result<(), ExpressionError> {
        let mut first = None;
        collect(&self.root, None, &mut |named, at| {
            if first.is_none() {
                first = unknown(named, scope).map(|(problem, remedy)| ExpressionError {
                    at,
                    problem,
                    remedy,
                });
            }
        });
        first.map_or(Ok(()), Err)
    }

    /// Its value where `lookup` is.
    ///
    /// # Errors
    /// Why it has none: a value that is missing, a division by zero, a text compared with a number.
    pub fn eval(&self, lookup: &dyn Lookup) -> Result<Value, CannotTell> {
        eval(&self.root, lookup)
    }

    /// Whether it holds where `lookup` is.
    ///
    /// # Errors
    /// Why that cannot be told.
    pub fn holds(&self, lookup: &dyn Lookup) -> Result<bool, CannotTell> {
        truth(&eval(&self.root, lookup)?)
    }

    /// Whether it holds for these parameters; one that is not there cannot be told.
    ///
    /// # Errors
    /// Why that cannot be told.
    pub fn holds_for(&self, parameters: &[(String, Scalar)]) -> Result<bool, CannotTell> {
        self.holds(&OnlyParameters(parameters))
    }

    /// The metric it is, when it is nothing but one, and the case when it is one of another.
    #[must_use]
    pub fn as_metric(&self) -> Option<(Option<&str>, Which, &str)> {
        match &self.root {
            Node::Metric(which, name, _) => Some((None, *which, name)),
            Node::BareBaseline(name, _) => Some((None, Which::Baseline, name)),
            Node::At(case, inner, _) => match inner.as_ref() {
                Node::Metric(which, name, _) => Some((Some(case), *which, name)),
                _ => None,
            },
            _ => None,
        }
    }

    /// It as written, with what `show` makes of its metrics and parameters in their places, and × for `*`.
    pub fn shown_with(&self, show: &dyn Fn(Named<'_>) -> Option<String>) -> String {
        Shown {
            node: &self.root,
            case: None,
            show: Some(show),
        }
        .to_string()
    }

    /// Whether it is nothing but a number.
    #[must_use]
    pub fn as_number(&self) -> Option<f64> {
        match &self.root {
            Node::Number(_, value) => Some(*value),
            Node::At(_, inner, _) => match inner.as_ref() {
                Node::Number(_, value) => Some(*value),
                _ => None,
            },
            _ => None,
        }
    }

    /// Its comparisons, each with both sides as expressions: those that decide whether it holds.
    ///
    /// `within(x, y, z)` is a comparison of x and y. Comparisons within sides, calls and `at` are not looked for.
    #[must_use]
    pub fn comparisons(&self) -> Vec<Comparison> {
        let mut found = Vec::new();
        comparisons(&self.root, None, &mut found);
        found
    }
}

/// One comparison in an expression.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The left side.
    pub left: Expression,
    /// The sign between them: `<`, `==`, `within 5% of`.
    pub sign: String,
    /// The right side.
    pub right: Expression,
    /// The comparison itself.
    pub whole: Expression,
}

fn comparisons(node: &Node, at: Option<(&str, usize)>, found: &mut Vec<Comparison>) {
    let placed = |node: &Node| Expression {
        root: match at {
            Some((case, place)) => Node::At(case.to_owned(), Box::new(node.clone()), place),
            None => node.clone(),
        },
    };
    match node {
        Node::Two(Operator::And | Operator::Or, left, right) => {
            comparisons(left, at, found);
            comparisons(right, at, found);
        }
        Node::Not(inner) => comparisons(inner, at, found),
        Node::At(case, inner, place) => comparisons(inner, Some((case, *place)), found),
        Node::Two(operator, left, right) if operator.compares() => found.push(Comparison {
            left: placed(left),
            sign: operator.sign().to_owned(),
            right: placed(right),
            whole: placed(node),
        }),
        Node::Call(Function::Within, arguments) => {
            if let [one, other, tolerance] = arguments.as_slice() {
                found.push(Comparison {
                    left: placed(one),
                    sign: format!("within {} of", Shown::plain(tolerance)),
                    right: placed(other),
                    whole: placed(node),
                });
            }
        }
        _ => {}
    }
}

struct OnlyParameters<'a>(&'a [(String, Scalar)]);

impl Lookup for OnlyParameters<'_> {
    fn parameter(&self, name: &str) -> Option<Scalar> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.clone())
    }

    fn metric(&self, _: Which, name: &str) -> Result<f64, CannotTell> {
        Err(CannotTell(format!("{name} is not measured yet")))
    }

    fn elsewhere(&self, _: &str) -> Result<Box<dyn Lookup + '_>, CannotTell> {
        Err(CannotTell("nothing is measured yet".to_owned()))
    }

    fn begins(&self, _: Option<&str>) -> Result<f64, CannotTell> {
        Err(CannotTell("nothing is measured yet".to_owned()))
    }
}

/// The unit of a metric by its full name.
#[must_use]
pub fn unit_of(metric: &str) -> Option<Unit> {
    let (_, last) = metric.rsplit_once('.')?;
    METRICS
        .iter()
        .find(|metric| metric.name == last)
        .map(|metric| metric.unit)
}

fn collect<'a>(node: &'a Node, case: Option<&'a str>, found: &mut impl FnMut(Named<'a>, usize)) {
    let metric = |which, name| match case {
        None => Named::Metric(which, name),
        Some(case) => Named::MetricAt(case, which, name),
    };
    match node {
        Node::Number(..) | Node::Text(_) | Node::Truth(_) => {}
        Node::Parameter(name, at) => found(Named::Parameter(name), *at),
        Node::Metric(which, name, at) => found(metric(*which, name), *at),
        Node::BareBaseline(name, at) => found(metric(Which::Baseline, name), *at),
        Node::At(case, inner, at) => {
            found(Named::Case(case), *at);
            collect(inner, Some(case), found);
        }
        Node::Begins(group, at) => found(Named::Begins(group.as_deref()), *at),
        Node::Negated(inner) | Node::Not(inner) => collect(inner, case, found),
        Node::Two(_, left, right) => {
            collect(left, case, found);
            collect(right, case, found);
        }
        Node::Call(_, arguments) => {
            for argument in arguments {
                collect(argument, case, found);
            }
        }
    }
}

fn unknown(named: Named<'_>, scope: &Scope<'_>) -> Option<(String, String)> {
    match named {
        Named::Parameter(name) => {
            if scope.parameters.contains(&name) {
                return None;
            }
            let flow = scope
                .flows
                .is_some_and(|flows| flows.iter().any(|(flow, _)| *flow == name));
            let remedy = if flow {
                format!("name one of its metrics, as {name}.goodput")
            } else {
                suggestion(name, "parameter", scope.parameters.iter().copied())
            };
            Some((
                format!("there is no parameter {name}"),
                format!("{remedy}; a text stands in quotes"),
            ))
        }
        Named::Metric(_, name) | Named::MetricAt(_, _, name) => unknown_metric(name, scope),
        Named::Begins(_) if !scope.contention => Some((
            "nothing says whose starvation might begin".to_owned(),
            "write [contention] with victim and load".to_owned(),
        )),
        Named::Begins(_) | Named::Case(_) => None,
    }
}

fn unknown_metric(name: &str, scope: &Scope<'_>) -> Option<(String, String)> {
    let Some(flows) = scope.flows else {
        return Some((
            format!("{name} is measured, and this has to be known before"),
            "use parameters only".to_owned(),
        ));
    };
    let (of, metric) = name.rsplit_once('.')?;
    let on: Vec<On> = if let Some(link) = of.strip_prefix("links.") {
        if let Some(links) = scope.links
            && !links.contains(&link)
        {
            return Some((
                format!("there is no link {link:?}"),
                suggestion(link, "link", links.iter().copied()),
            ));
        }
        vec![On::Link]
    } else if of == "total" {
        vec![On::Total]
    } else if let Some((_, kind)) = flows.iter().find(|(flow, _)| *flow == of) {
        On::of(*kind).to_vec()
    } else {
        let names = flows.iter().map(|(flow, _)| *flow);
        return Some((
            format!("there is no flow {of:?}"),
            suggestion(of, "flow", names.chain(["total", "links"])),
        ));
    };
    let metrics: Vec<&str> = METRICS
        .iter()
        .filter(|metric| on.contains(&metric.on))
        .map(|metric| metric.name)
        .collect();
    (!metrics.contains(&metric)).then(|| {
        (
            format!("{of} has no metric {metric:?}"),
            suggestion(metric, "metric", metrics.iter().copied()),
        )
    })
}

fn truth(value: &Value) -> Result<bool, CannotTell> {
    match value {
        Value::Truth(truth) | Value::Written(Scalar::Truth(truth)) => Ok(*truth),
        other => Err(CannotTell(format!("{other} is neither true nor false"))),
    }
}

fn amount(value: &Value) -> Result<(f64, Option<Unit>), CannotTell> {
    match value {
        Value::Number(number, unit) => Ok((*number, *unit)),
        Value::Written(scalar) => scalar
            .number()
            .map(|number| (number, None))
            .ok_or_else(|| CannotTell(format!("{scalar} is no number"))),
        other => Err(CannotTell(format!("{other} is no number"))),
    }
}

fn finite(number: f64, unit: Option<Unit>) -> Result<Value, CannotTell> {
    if number.is_finite() {
        Ok(Value::Number(number, unit))
    } else {
        Err(CannotTell("the result is not a finite number".to_owned()))
    }
}

fn eval(node: &Node, lookup: &dyn Lookup) -> Result<Value, CannotTell> {
    match node {
        Node::Number(_, value) => Ok(Value::Number(*value, None)),
        Node::Text(text) => Ok(Value::Text(text.clone())),
        Node::Truth(truth) => Ok(Value::Truth(*truth)),
        Node::Parameter(name, _) => lookup
            .parameter(name)
            .map(Value::Written)
            .ok_or_else(|| CannotTell(format!("this case has no {name}"))),
        Node::Metric(which, name, _) => finite(lookup.metric(*which, name)?, unit_of(name)),
        Node::BareBaseline(name, _) => finite(lookup.metric(Which::Baseline, name)?, unit_of(name)),
        Node::At(case, inner, _) => eval(inner, lookup.elsewhere(case)?.as_ref()),
        // Infinity is a load too: it never begins.
        Node::Begins(group, _) => Ok(Value::Number(lookup.begins(group.as_deref())?, None)),
        Node::Negated(inner) => {
            let (number, unit) = amount(&eval(inner, lookup)?)?;
            finite(-number, unit)
        }
        Node::Not(inner) => Ok(Value::Truth(!truth(&eval(inner, lookup)?)?)),
        Node::Two(operator @ (Operator::And | Operator::Or), left, right) => {
            // One side may decide where the other cannot be told (Kleene's strong logic).
            let decides = *operator == Operator::Or;
            let side = |node: &Node| eval(node, lookup).and_then(|value| truth(&value));
            match side(left) {
                Ok(left) if left == decides => Ok(Value::Truth(decides)),
                Ok(_) => side(right).map(Value::Truth),
                Err(cannot) => match side(right) {
                    Ok(right) if right == decides => Ok(Value::Truth(decides)),
                    _ => Err(cannot),
                },
            }
        }
        Node::Two(operator, left, right) => {
            let (left, right) = (eval(left, lookup)?, eval(right, lookup)?);
            if operator.compares() {
                compare(*operator, &left, &right).map(Value::Truth)
            } else {
                reckon(*operator, &left, &right)
            }
        }
        Node::Call(function, arguments) => call(*function, arguments, lookup),
    }
}

fn compare(operator: Operator, left: &Value, right: &Value) -> Result<bool, CannotTell> {
    let equal = match (left, right) {
        (Value::Truth(_) | Value::Written(Scalar::Truth(_)), _)
        | (_, Value::Truth(_) | Value::Written(Scalar::Truth(_))) => truth(left)? == truth(right)?,
        (Value::Text(text), other) | (other, Value::Text(text)) => {
            let other = match other {
                Value::Written(scalar) => scalar.to_string(),
                Value::Text(other) => other.clone(),
                other => return Err(CannotTell(format!("{other} is no text"))),
            };
            *text == other
        }
        (Value::Written(one), Value::Written(other))
            if one.number().is_none() || other.number().is_none() =>
        {
            one.to_string() == other.to_string()
        }
        // A parameter that is a word is no number, so it is not equal to one.
        (Value::Written(word), _) | (_, Value::Written(word))
            if word.number().is_none()
                && matches!(operator, Operator::Equal | Operator::Different) =>
        {
            false
        }
        _ => {
            let ((left, _), (right, _)) = (amount(left)?, amount(right)?);
            return Ok(match operator {
                Operator::Below => left < right,
                Operator::AtMost => left <= right,
                Operator::Above => left > right,
                Operator::AtLeast => left >= right,
                Operator::Different => left != right,
                _ => left == right,
            });
        }
    };
    match operator {
        Operator::Equal => Ok(equal),
        Operator::Different => Ok(!equal),
        _ => Err(CannotTell(format!("{left} and {right} have no order"))),
    }
}

fn reckon(operator: Operator, left: &Value, right: &Value) -> Result<Value, CannotTell> {
    let ((a, unit_a), (b, unit_b)) = (amount(left)?, amount(right)?);
    let either = match (unit_a, unit_b) {
        (Some(one), Some(other)) if one != other => None,
        (one, other) => one.or(other),
    };
    match operator {
        Operator::Plus => finite(a + b, either),
        Operator::Minus => finite(a - b, either),
        Operator::Times => {
            let both = unit_a.is_some() && unit_b.is_some();
            finite(a * b, if both { None } else { either })
        }
        _ if b == 0.0 => Err(CannotTell("it would be divided by zero".to_owned())),
        _ => {
            let unit = match (unit_a, unit_b) {
                (Some(one), Some(other)) if one == other => Some(Unit::Ratio),
                (unit, None) => unit,
                _ => None,
            };
            finite(a / b, unit)
        }
    }
}

fn call(function: Function, arguments: &[Node], lookup: &dyn Lookup) -> Result<Value, CannotTell> {
    let mut values = Vec::with_capacity(arguments.len());
    for argument in arguments {
        values.push(amount(&eval(argument, lookup)?)?);
    }
    let unit = values.iter().find_map(|(_, unit)| *unit);
    let numbers = values.iter().map(|(number, _)| *number);
    match function {
        Function::Min => finite(numbers.fold(f64::INFINITY, f64::min), unit),
        Function::Max => finite(numbers.fold(f64::NEG_INFINITY, f64::max), unit),
        Function::Abs => finite(numbers.map(f64::abs).sum(), unit),
        Function::Within => match values.as_slice() {
            [(x, _), (y, _), (part, _)] => Ok(Value::Truth((x - y).abs() <= part * y.abs())),
            _ => Err(CannotTell("within takes three values".to_owned())),
        },
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number, Some(unit)) => f.write_str(&unit.show(*number)),
            Self::Number(number, None) => f.write_str(&crate::predict::prediction::short(*number)),
            Self::Text(text) => f.write_str(text),
            Self::Truth(truth) => write!(f, "{}", if *truth { "yes" } else { "no" }),
            Self::Written(scalar) => write!(f, "{scalar}"),
        }
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Shown::plain(&self.root).fmt(f)
    }
}

/// What is shown in place of a name.
type Show<'a> = dyn Fn(Named<'_>) -> Option<String> + 'a;

#[derive(Clone, Copy)]
struct Shown<'a> {
    node: &'a Node,
    /// The case within `at`.
    case: Option<&'a str>,
    show: Option<&'a Show<'a>>,
}

impl<'a> Shown<'a> {
    const fn plain(node: &'a Node) -> Self {
        Self {
            node,
            case: None,
            show: None,
        }
    }

    const fn of(self, node: &'a Node) -> Self {
        Self { node, ..self }
    }

    /// In parentheses where it binds less tightly than `least`.
    fn within(self, f: &mut fmt::Formatter<'_>, node: &'a Node, least: u8) -> fmt::Result {
        let inner = self.of(node);
        if rank(node) < least {
            write!(f, "({inner})")
        } else {
            write!(f, "{inner}")
        }
    }

    /// What is shown in place of a name.
    fn in_place(self) -> Option<String> {
        let show = self.show?;
        let metric = |which, name| match self.case {
            None => Named::Metric(which, name),
            Some(case) => Named::MetricAt(case, which, name),
        };
        match self.node {
            Node::Parameter(name, _) => show(Named::Parameter(name)),
            Node::Metric(which, name, _) => show(metric(*which, name)),
            Node::BareBaseline(name, _) => show(metric(Which::Baseline, name)),
            Node::Begins(group, _) => show(Named::Begins(group.as_deref())),
            _ => None,
        }
    }
}

fn rank(node: &Node) -> u8 {
    match node {
        Node::Two(operator, ..) => operator.rank(),
        Node::Not(_) => RANK_NOT,
        Node::Negated(_) => RANK_NEGATED,
        _ => RANK_ATOM,
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |f: &mut fmt::Formatter<'_>, text: &str| {
            write!(f, "\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
        };
        if let Some(shown) = self.in_place() {
            return f.write_str(&shown);
        }
        match self.node {
            Node::Number(text, _) => f.write_str(text),
            Node::Text(text) => quoted(f, text),
            Node::Truth(truth) => write!(f, "{truth}"),
            Node::Parameter(name, _) => f.write_str(name),
            Node::Metric(which, name, _) => match which.call() {
                Some(call) => write!(f, "{call}({name})"),
                None => f.write_str(name),
            },
            Node::BareBaseline(..) => f.write_str("baseline"),
            Node::At(case, inner, _) => {
                let there = Self {
                    node: inner,
                    case: Some(case),
                    ..*self
                };
                if self.show.is_some() {
                    return there.fmt(f);
                }
                f.write_str("at(")?;
                quoted(f, case)?;
                write!(f, ", {there})")
            }
            Node::Begins(None, _) => f.write_str("begins()"),
            Node::Begins(Some(group), _) => {
                f.write_str("begins(")?;
                quoted(f, group)?;
                f.write_str(")")
            }
            Node::Negated(inner) => {
                f.write_str("-")?;
                self.within(f, inner, RANK_NEGATED)
            }
            Node::Not(inner) => {
                f.write_str("not ")?;
                self.within(f, inner, RANK_NOT)
            }
            Node::Two(operator, left, right) => {
                let rank = operator.rank();
                // Comparisons do not chain, and everything else groups from the left.
                self.within(f, left, rank + u8::from(operator.compares()))?;
                let sign = match operator {
                    Operator::Times if self.show.is_some() => "×",
                    operator => operator.sign(),
                };
                write!(f, " {sign} ")?;
                self.within(f, right, rank + 1)
            }
            Node::Call(function, arguments) => {
                write!(f, "{}(", function.name())?;
                for (place, argument) in arguments.iter().enumerate() {
                    if place > 0 {
                        f.write_str(", ")?;
                    }
                    write!(f, "{}", self.of(argument))?;
                }
                f.write_str(")")
            }
        }
    }
}

/// A sentence with expressions in braces.
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq)]
enum Part {
    Text(String),
    Value(Expression),
}

impl Template {
    /// Reads a sentence in which `{expression}` stands for a value, `{{` and `}}` for braces.
    ///
    /// # Errors
    /// A brace without its other half, or what is wrong with an expression.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(brace) = rest.find(['{', '}']) {
            plain.push_str(&rest[..brace]);
            let at = text.len() - rest.len() + brace;
            let behind = &rest[brace + 1..];
            let sign = &rest[brace..=brace];
            if behind.starts_with(sign) {
                plain.push_str(sign);
                rest = &behind[1..];
            } else if sign == "}" {
                return Err(wrong(
                    at,
                    "a brace is closed that none opens",
                    "write }} for a brace",
                ));
            } else {
                let end = closing(behind).ok_or_else(|| {
                    wrong(
                        at,
                        "the brace is not closed",
                        "write {{ for a brace that is said",
                    )
                })?;
                let expression =
                    Expression::parse(&behind[..end]).map_err(|error| ExpressionError {
                        at: error.at + at + 1,
                        ..error
                    })?;
                if !plain.is_empty() {
                    parts.push(Part::Text(std::mem::take(&mut plain)));
                }
                parts.push(Part::Value(expression));
                rest = &behind[end + 1..];
            }
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            parts.push(Part::Text(plain));
        }
        Ok(Self { parts })
    }

    /// The expressions in it, in the order written.
    pub fn expressions(&self) -> impl Iterator<Item = &Expression> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text(_) => None,
            Part::Value(expression) => Some(expression),
        })
    }

    /// The sentence with every expression as `show` writes it.
    pub fn fill(&self, mut show: impl FnMut(&Expression) -> String) -> String {
        self.parts
            .iter()
            .map(|part| match part {
                Part::Text(text) => text.clone(),
                Part::Value(expression) => show(expression),
            })
            .collect()
    }
}

/// Where the brace closes that is open at the start, quoted texts passed over.
fn closing(text: &str) -> Option<usize> {
    let mut quote = None;
    let mut escaped = false;
    for (place, letter) in text.char_indices() {
        match (quote, letter) {
            _ if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), letter) if letter == open => quote = None,
            (None, '"' | '\'') => quote = Some(letter),
            (None, '}') => return Some(place),
            _ => {}
        }
    }
    None
}

fn wrong(at: usize, problem: impl Into<String>, remedy: impl Into<String>) -> ExpressionError {
    ExpressionError {
        at,
        problem: problem.into(),
        remedy: remedy.into(),
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Number(String, f64),
    Text(String),
    Word(String),
    Sign(&'static str),
}

impl Kind {
    fn words(&self) -> String {
        match self {
            Self::Number(text, _) | Self::Word(text) => text.clone(),
            Self::Text(text) => format!("{text:?}"),
            Self::Sign(sign) => (*sign).to_owned(),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
struct Token {
    kind: Kind,
    at: usize,
}

/// Signs, the longer of two that begin alike first.
const SIGNS: [&str; 13] = [
    "<=", ">=", "==", "!=", "<", ">", "+", "-", "*", "/", "(", ")", ",",
];

fn tokens(text: &str) -> Result<Vec<Token>, ExpressionError> {
    let mut tokens = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let at = text.len() - rest.len();
        let Some(first) = rest.chars().next() else {
            return Ok(tokens);
        };
        let (kind, length) = if first.is_ascii_digit() || first == '.' {
            number_token(rest, at)?
        } else if first == '"' || first == '\'' {
            text_token(rest, first, at)?
        } else if first.is_ascii_alphabetic() || first == '_' {
            let length = word_length(rest);
            (Kind::Word(rest[..length].to_owned()), length)
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            (Kind::Sign(sign), sign.len())
        } else {
            let remedy = match first {
                '=' => "write == to compare",
                '&' => "write and",
                '|' => "write or",
                '!' => "write not",
                _ => {
                    "an expression has names, numbers, quoted texts, + - * / ( ) , and comparisons"
                }
            };
            return Err(wrong(at, format!("{first:?} is no sign"), remedy));
        };
        tokens.push(Token { kind, at });
        rest = &rest[length..];
    }
}

/// A number with the unit that stands directly behind it.
fn number_token(rest: &str, at: usize) -> Result<(Kind, usize), ExpressionError> {
    let digits = |text: &str| {
        text.len()
            - text
                .trim_start_matches(|c: char| c.is_ascii_digit() || c == '.')
                .len()
    };
    let mut length = digits(rest);
    let exponent = rest[length..].strip_prefix(['e', 'E']).map(|rest| {
        let sign = usize::from(rest.starts_with(['+', '-']));
        (sign, digits(&rest[sign..]))
    });
    if let Some((sign, digits @ 1..)) = exponent {
        length += 1 + sign + digits;
    }
    let unit = |text: &str| {
        text.find(|c: char| !(c.is_ascii_alphabetic() || matches!(c, '%' | 'µ' | 'μ')))
            .unwrap_or(text.len())
    };
    length += unit(&rest[length..]);
    // The one unit with a stroke in it.
    if rest[..length].ends_with("bit") && rest[length..].starts_with("/s") {
        length += 2;
    }
    let text = &rest[..length];
    match number(text) {
        Some(value) => Ok((Kind::Number(text.to_owned(), value), length)),
        None => Err(wrong(
            at,
            format!("{text} is no number"),
            "write for example 250M, 5%, 20ms or 64Ki",
        )),
    }
}

fn text_token(rest: &str, quote: char, at: usize) -> Result<(Kind, usize), ExpressionError> {
    let mut text = String::new();
    let mut escaped = false;
    for (place, letter) in rest.char_indices().skip(1) {
        match letter {
            '\\' if !escaped => escaped = true,
            _ if letter == quote && !escaped => {
                return Ok((Kind::Text(text), place + letter.len_utf8()));
            }
            _ => {
                // Only a quote and a stroke need to be escaped; before others the stroke is itself.
                if escaped && letter != quote && letter != '\\' {
                    text.push('\\');
                }
                text.push(letter);
                escaped = false;
            }
        }
    }
    Err(wrong(at, "the quoted text has no end", "close the quotes"))
}

/// A name with its dots; behind `links.` a link's name may hold dashes.
fn word_length(rest: &str) -> usize {
    let letter = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let dashes = rest.starts_with("links.");
    let inner = |(place, c): (usize, char)| {
        let next = rest[place + c.len_utf8()..].chars().next();
        let dash = dashes && c == '-' && next.is_some_and(|c| c.is_ascii_alphanumeric());
        (!(letter(c) || dash)).then_some(place)
    };
    rest.char_indices().find_map(inner).unwrap_or(rest.len())
}

struct Parser {
    tokens: Vec<Token>,
    next: usize,
    depth: usize,
    /// The metric last read, which `baseline` alone refers to.
    metric: Option<String>,
    end: usize,
}

type Parsed = Result<(Node, Sort), ExpressionError>;

impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next)
    }

    fn at(&self) -> usize {
        self.peek().map_or(self.end, |token| token.at)
    }

    /// Takes the sign if it is next.
    fn sign(&mut self, sign: &str) -> bool {
        let found =
            matches!(self.peek(), Some(Token { kind: Kind::Sign(next), .. }) if *next == sign);
        self.next += usize::from(found);
        found
    }

    /// Takes the word if it is next.
    fn word(&mut self, word: &str) -> bool {
        let found =
            matches!(self.peek(), Some(Token { kind: Kind::Word(next), .. }) if next == word);
        self.next += usize::from(found);
        found
    }

    fn expect(&mut self, sign: &'static str, after: &str) -> Result<(), ExpressionError> {
        if self.sign(sign) {
            return Ok(());
        }
        let problem = self.peek().map_or_else(
            || format!("the expression ends without {sign} after {after}"),
            |token| {
                format!(
                    "{} stands where {sign} is expected after {after}",
                    token.kind.words()
                )
            },
        );
        Err(wrong(self.at(), problem, format!("write {sign} there")))
    }

    fn deeper(&mut self, inner: impl FnOnce(&mut Self) -> Parsed) -> Parsed {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(wrong(
                self.at(),
                format!("the expression is nested more than {DEEPEST} deep"),
                "say it in several",
            ));
        }
        let part = inner(self);
        self.depth -= 1;
        part
    }

    fn either(&mut self) -> Parsed {
        self.chain(Operator::Or, Self::both)
    }

    fn both(&mut self) -> Parsed {
        self.chain(Operator::And, Self::denied)
    }

    fn chain(&mut self, operator: Operator, inner: fn(&mut Self) -> Parsed) -> Parsed {
        let mut at = self.at();
        let mut left = inner(self)?;
        while self.word(operator.sign()) {
            must(left.1, Sort::Truth, at)?;
            at = self.at();
            let right = inner(self)?;
            must(right.1, Sort::Truth, at)?;
            left = (
                Node::Two(operator, Box::new(left.0), Box::new(right.0)),
                Sort::Truth,
            );
        }
        Ok(left)
    }

    fn denied(&mut self) -> Parsed {
        if !self.word("not") {
            return self.comparison();
        }
        let at = self.at();
        let (inner, sort) = self.deeper(Self::denied)?;
        must(sort, Sort::Truth, at)?;
        Ok((Node::Not(Box::new(inner)), Sort::Truth))
    }

    fn comparison(&mut self) -> Parsed {
        const OPERATORS: [Operator; 6] = [
            Operator::Below,
            Operator::AtMost,
            Operator::Above,
            Operator::AtLeast,
            Operator::Equal,
            Operator::Different,
        ];
        let (left, left_sort) = self.sum()?;
        let at = self.at();
        let Some(operator) = OPERATORS
            .into_iter()
            .find(|operator| self.sign(operator.sign()))
        else {
            return Ok((left, left_sort));
        };
        let (right, right_sort) = self.sum()?;
        let ordered = !matches!(operator, Operator::Equal | Operator::Different);
        for sort in [left_sort, right_sort] {
            if ordered && !matches!(sort, Sort::Number | Sort::Any) {
                return Err(wrong(
                    at,
                    format!("{} compares numbers only", operator.sign()),
                    "compare texts and truths with == or !=",
                ));
            }
        }
        if left_sort != right_sort && left_sort != Sort::Any && right_sort != Sort::Any {
            return Err(wrong(
                at,
                "the two sides can never be equal",
                "compare numbers with numbers, and texts with texts",
            ));
        }
        if OPERATORS
            .iter()
            .any(|operator| matches!(self.peek(), Some(Token { kind: Kind::Sign(next), .. }) if *next == operator.sign()))
        {
            return Err(wrong(
                self.at(),
                "comparisons do not chain",
                "join two of them with and",
            ));
        }
        let node = Node::Two(operator, Box::new(left), Box::new(right));
        Ok((node, Sort::Truth))
    }

    fn sum(&mut self) -> Parsed {
        self.arithmetic([Operator::Plus, Operator::Minus], Self::product)
    }

    fn product(&mut self) -> Parsed {
        self.arithmetic([Operator::Times, Operator::Over], Self::negated)
    }

    fn arithmetic(&mut self, operators: [Operator; 2], inner: fn(&mut Self) -> Parsed) -> Parsed {
        let mut at = self.at();
        let mut left = inner(self)?;
        while let Some(operator) = operators
            .into_iter()
            .find(|operator| self.sign(operator.sign()))
        {
            must(left.1, Sort::Number, at)?;
            at = self.at();
            let right = inner(self)?;
            must(right.1, Sort::Number, at)?;
            left = (
                Node::Two(operator, Box::new(left.0), Box::new(right.0)),
                Sort::Number,
            );
        }
        Ok(left)
    }

    fn negated(&mut self) -> Parsed {
        if !self.sign("-") {
            return self.atom();
        }
        let at = self.at();
        let (inner, sort) = self.deeper(Self::negated)?;
        must(sort, Sort::Number, at)?;
        Ok((Node::Negated(Box::new(inner)), Sort::Number))
    }

    fn atom(&mut self) -> Parsed {
        let Some(token) = self.peek().cloned() else {
            return Err(wrong(
                self.end,
                "the expression ends where a value is expected",
                "write a name, a number or a quoted text",
            ));
        };
        self.next += 1;
        match token.kind {
            Kind::Number(text, value) => Ok((Node::Number(text, value), Sort::Number)),
            Kind::Text(text) => Ok((Node::Text(text), Sort::Text)),
            Kind::Sign("(") => {
                let inner = self.deeper(Self::either)?;
                self.expect(")", "what is in parentheses")?;
                Ok(inner)
            }
            Kind::Word(word) => self.named(word, token.at),
            Kind::Sign(sign) => Err(wrong(
                token.at,
                format!("{sign} stands where a value is expected"),
                "write a name, a number or a quoted text",
            )),
        }
    }

    fn named(&mut self, word: String, at: usize) -> Parsed {
        match word.as_str() {
            "true" | "false" => return Ok((Node::Truth(word == "true"), Sort::Truth)),
            "and" | "or" | "not" => {
                return Err(wrong(
                    at,
                    format!("{word} stands where a value is expected"),
                    "write a name, a number or a quoted text",
                ));
            }
            _ => {}
        }
        if self.sign("(") {
            return self.deeper(|parser| parser.call(&word, at));
        }
        if word == "baseline" {
            let metric = self.metric.clone().ok_or_else(|| {
                wrong(
                    at,
                    "baseline stands alone, and no metric is left of it",
                    "write baseline(tcp.goodput)",
                )
            })?;
            return Ok((Node::BareBaseline(metric, at), Sort::Number));
        }
        if word.split('.').any(str::is_empty) {
            return Err(wrong(at, format!("{word} is no name"), "write FLOW.METRIC"));
        }
        if word.contains('.') {
            let parts = word.split('.').count();
            let link = word.starts_with("links.");
            if parts != 2 && !(link && parts >= 3) || link && parts == 2 {
                return Err(wrong(
                    at,
                    format!("{word} is no metric"),
                    "write FLOW.METRIC, total.METRIC or links.NAME.METRIC",
                ));
            }
            self.metric = Some(word.clone());
            return Ok((Node::Metric(Which::Observed, word, at), Sort::Number));
        }
        Ok((Node::Parameter(word, at), Sort::Any))
    }

    fn call(&mut self, name: &str, at: usize) -> Parsed {
        if let Some((_, which)) = Which::CALLS.iter().find(|(call, _)| *call == name) {
            let inner_at = self.at();
            let (inner, _) = self.either()?;
            self.expect(")", name)?;
            let Node::Metric(Which::Observed, metric, _) = inner else {
                return Err(wrong(
                    inner_at,
                    format!("{name} is of a metric, and this is none"),
                    format!("write {name}(tcp.goodput)"),
                ));
            };
            return Ok((Node::Metric(*which, metric, inner_at), Sort::Number));
        }
        match name {
            "at" => {
                let case = self.quoted("at(\"A\", tcp.goodput)")?;
                self.expect(",", "the case")?;
                let (inner, sort) = self.either()?;
                self.expect(")", "at")?;
                return Ok((Node::At(case, Box::new(inner), at), sort));
            }
            "begins" => {
                let group = if self.sign(")") {
                    None
                } else {
                    let group = self.quoted("begins(\"congestion=cubic\")")?;
                    self.expect(")", "begins")?;
                    Some(group)
                };
                return Ok((Node::Begins(group, at), Sort::Number));
            }
            _ => {}
        }
        let Some((_, function)) = Function::ALL.iter().find(|(known, _)| *known == name) else {
            let known = Function::ALL.iter().map(|(name, _)| *name);
            let calls = Which::CALLS.iter().map(|(name, _)| *name);
            return Err(wrong(
                at,
                format!("there is no function {name}"),
                suggestion(name, "function", known.chain(calls).chain(["at", "begins"])),
            ));
        };
        let mut arguments = Vec::new();
        loop {
            let at = self.at();
            let (argument, sort) = self.either()?;
            must(sort, Sort::Number, at)?;
            arguments.push(argument);
            if !self.sign(",") {
                break;
            }
        }
        self.expect(")", name)?;
        let fits = match function {
            Function::Min | Function::Max => arguments.len() >= 2,
            Function::Abs => arguments.len() == 1,
            Function::Within => arguments.len() == 3,
        };
        if !fits {
            let takes = match function {
                Function::Min | Function::Max => "two values or more",
                Function::Abs => "one value",
                Function::Within => "a value, what it is near to, and how near: within(x, y, 5%)",
            };
            return Err(wrong(
                at,
                format!("{name} has {} values", arguments.len()),
                format!("{name} takes {takes}"),
            ));
        }
        let sort = match function {
            Function::Within => Sort::Truth,
            _ => Sort::Number,
        };
        Ok((Node::Call(*function, arguments), sort))
    }

    fn quoted(&mut self, example: &str) -> Result<String, ExpressionError> {
        match self.peek().cloned() {
            Some(Token {
                kind: Kind::Text(text),
                ..
            }) => {
                self.next += 1;
                Ok(text)
            }
            _ => Err(wrong(
                self.at(),
                "a quoted text is expected",
                format!("write {example}"),
            )),
        }
    }
}

fn must(sort: Sort, expected: Sort, at: usize) -> Result<(), ExpressionError> {
    if sort == expected || sort == Sort::Any {
        return Ok(());
    }
    let (problem, remedy) = match expected {
        Sort::Truth => (
            "this is neither true nor false",
            "compare it with something, as in tcp.goodput > 50M",
        ),
        _ => ("this is no number", "reckon with numbers only"),
    };
    Err(wrong(at, problem, remedy))
}

fn sort_of(node: &Node) -> Sort {
    match node {
        Node::Text(_) => Sort::Text,
        Node::Truth(_) | Node::Not(_) | Node::Call(Function::Within, _) => Sort::Truth,
        Node::Parameter(..) => Sort::Any,
        Node::At(_, inner, _) => sort_of(inner),
        Node::Two(operator, ..) if operator.rank() <= 4 => Sort::Truth,
        _ => Sort::Number,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A case with a parameter of each sort and a few metrics; another called `A`.
    struct Here {
        elsewhere: bool,
    }

    impl Lookup for Here {
        fn parameter(&self, name: &str) -> Option<Scalar> {
            match name {
                "load" => Some(Scalar::Text("80%".to_owned())),
                "congestion" => Some(Scalar::Text("bbr".to_owned())),
                "clients" => Some(Scalar::Whole(8)),
                "offload" => Some(Scalar::Truth(true)),
                _ => None,
            }
        }

        fn metric(&self, which: Which, name: &str) -> Result<f64, CannotTell> {
            match (which, name, self.elsewhere) {
                (Which::Observed, "tcp.goodput", false) => Ok(4e5),
                (Which::Low, "tcp.goodput", false) => Ok(3e5),
                (Which::Baseline, "tcp.goodput", false) => Ok(235e6),
                (Which::Observed, "tcp.goodput", true) => Ok(9e6),
                (Which::Observed, "links.north-1.utilisation", _) => Ok(0.99),
                _ => Err(CannotTell(format!("{name} was not measured"))),
            }
        }

        fn elsewhere(&self, case: &str) -> Result<Box<dyn Lookup + '_>, CannotTell> {
            if case == "A" {
                return Ok(Box::new(Self { elsewhere: true }));
            }
            Err(CannotTell(format!("{case} has no trial yet")))
        }

        fn begins(&self, _: Option<&str>) -> Result<f64, CannotTell> {
            Ok(0.8)
        }
    }

    fn value(text: &str) -> Result<Value, CannotTell> {
        Expression::parse(text)
            .unwrap()
            .eval(&Here { elsewhere: false })
    }

    fn holds(text: &str) -> bool {
        value(text).unwrap() == Value::Truth(true)
    }

    #[test]
    fn what_an_experiment_wants_to_say_can_be_said() {
        for text in [
            "tcp.goodput < 0.1 * baseline",
            "tcp.goodput < 0.1 * baseline(tcp.goodput)",
            "low(tcp.goodput) == 300k and not (load < 50%)",
            "congestion == \"bbr\" and congestion != 'cubic'",
            "clients >= 8 and clients * 2 == 16 and load == 0.8 and load == \"80%\"",
            "at(\"A\", tcp.goodput) > 20 * tcp.goodput",
            "within(tcp.goodput, 400kbit/s, 5%)",
            "links.north-1.utilisation - 1% >= 98%",
            "begins() <= 80% and begins(\"congestion=bbr\") == load",
            "min(3, 1, 2) == 1 and max(1, 2) == 2 and abs(-20ms) == 0.02",
            "offload and not false",
            "1 - 2 - 3 == -4 and 2 * -3 == -6 and 8 / 4 / 2 == 1",
            "64Ki == 65536 and 5min == 300 and 1e3 == 1k and 1.5e-1 == 15%",
            "true or udp.loss > 0",
            "not (false and udp.loss > 0)",
        ] {
            assert!(holds(text), "{text}");
        }
    }

    #[test]
    fn what_was_not_measured_cannot_be_told_and_says_so() {
        for (text, why) in [
            ("udp.loss > 0", "udp.loss was not measured"),
            ("at(\"B\", tcp.goodput) > 0", "B has no trial yet"),
            (
                "tcp.goodput / (clients - 8) > 1",
                "it would be divided by zero",
            ),
            ("congestion > 5", "bbr is no number"),
            ("congestion > load", "bbr and 80% have no order"),
            ("false or udp.loss > 0", "udp.loss was not measured"),
            ("clients and true", "8 is neither true nor false"),
        ] {
            assert_eq!(value(text).unwrap_err().to_string(), why, "{text}");
        }
    }

    #[test]
    fn values_keep_the_unit_of_what_they_come_from() {
        let shown = |text: &str| value(text).unwrap().to_string();
        assert_eq!(shown("tcp.goodput"), "400 kbit/s");
        assert_eq!(shown("tcp.goodput * 2 + 100k"), "900 kbit/s");
        assert_eq!(shown("at(\"A\", tcp.goodput) / tcp.goodput"), "22.5000");
        assert_eq!(shown("links.north-1.utilisation"), "99 %");
        assert_eq!(shown("load"), "80%");
        assert_eq!(shown("1 / 8"), "0.1250");
    }

    #[test]
    fn what_makes_no_sense_is_refused_where_it_goes_wrong() {
        for (text, at, problem) in [
            ("", 0, "the expression ends where a value is expected"),
            (
                "tcp.goodput <",
                13,
                "the expression ends where a value is expected",
            ),
            ("tcp.goodput = 5", 12, "'=' is no sign"),
            ("1 < 2 < 3", 6, "comparisons do not chain"),
            ("5 and true", 0, "this is neither true nor false"),
            ("1 + \"a\"", 4, "this is no number"),
            ("\"a\" < 5", 4, "< compares numbers only"),
            ("\"a\" == 5", 4, "the two sides can never be equal"),
            (
                "baseline > 5",
                0,
                "baseline stands alone, and no metric is left of it",
            ),
            ("low(5) > 1", 4, "low is of a metric, and this is none"),
            ("mean(tcp.goodput)", 0, "there is no function mean"),
            ("within(1, 2)", 0, "within has 2 values"),
            ("at(A, 5)", 3, "a quoted text is expected"),
            ("5 apples", 2, "apples is out of place"),
            ("5apples", 0, "5apples is no number"),
            (
                "(1 + 2",
                6,
                "the expression ends without ) after what is in parentheses",
            ),
            ("\"open", 0, "the quoted text has no end"),
            ("tcp.tcp.goodput > 1", 0, "tcp.tcp.goodput is no metric"),
            ("links.x > 1", 0, "links.x is no metric"),
            ("tcp..x > 1", 0, "tcp..x is no name"),
        ] {
            let error = Expression::parse(text).unwrap_err();
            assert_eq!((error.at, error.problem.as_str()), (at, problem), "{text}");
        }
        assert!(Expression::condition("1 + 2").is_err());
        assert!(Expression::condition("load").is_ok());
    }

    #[test]
    fn names_that_are_not_there_are_found_before_anything_runs() {
        let flows = [
            ("tcp", KindFile::Tcp),
            ("udp", KindFile::Udp),
            ("ping", KindFile::Rtt),
        ];
        let scope = Scope {
            parameters: &["load", "congestion"],
            flows: Some(&flows),
            links: Some(&["north-1"]),
            contention: false,
        };
        let error = |text: &str| Expression::parse(text).unwrap().check(&scope).unwrap_err();
        for (text, at, problem, remedy) in [
            (
                "1 < laod",
                4,
                "there is no parameter laod",
                "did you mean load?; a text stands in quotes",
            ),
            (
                "tcp > 5",
                0,
                "there is no parameter tcp",
                "name one of its metrics, as tcp.goodput; a text stands in quotes",
            ),
            (
                "tpc.goodput > 5",
                0,
                "there is no flow \"tpc\"",
                "did you mean tcp?",
            ),
            (
                "tcp.godput > 5",
                0,
                "tcp has no metric \"godput\"",
                "did you mean goodput?",
            ),
            (
                "udp.los > 5",
                0,
                "udp has no metric \"los\"",
                "did you mean loss?",
            ),
            (
                "links.north-2.drops > 5",
                0,
                "there is no link \"north-2\"",
                "did you mean north-1?",
            ),
            (
                "at(\"A\", low(ping.goodput)) > 5",
                12,
                "ping has no metric \"goodput\"",
                "",
            ),
            (
                "begins() > 5",
                0,
                "nothing says whose starvation might begin",
                "write [contention] with victim and load",
            ),
        ] {
            let error = error(text);
            assert_eq!((error.at, error.problem.as_str()), (at, problem), "{text}");
            assert!(
                remedy.is_empty() || error.remedy == remedy,
                "{text}: {}",
                error.remedy
            );
        }
        let before = Scope {
            flows: None,
            ..scope
        };
        let early = Expression::parse("tcp.goodput > 5").unwrap().check(&before);
        assert!(
            early
                .unwrap_err()
                .problem
                .contains("has to be known before")
        );
        let fine = "tcp.rtt < 1 and ping.rtt < 1 and udp.loss < 1 and total.jain > 0 and links.north-1.drops == 0";
        assert_eq!(Expression::parse(fine).unwrap().check(&scope), Ok(()));
    }

    #[test]
    fn an_expectation_about_named_cases_is_told_from_one_about_each() {
        let about = |text| Expression::parse(text).unwrap().is_about_named_cases_only();
        assert!(about("at(\"A\", tcp.goodput) > at(\"B\", tcp.goodput)"));
        assert!(!about("at(\"A\", tcp.goodput) > tcp.goodput"));
    }

    #[test]
    fn both_sides_of_each_comparison_can_be_told_apart() {
        let text =
            "tcp.goodput < 0.1 * baseline and at(\"A\", udp.loss > 5%) or within(1, tcp.rtt, 5%)";
        let found = Expression::parse(text).unwrap().comparisons();
        let sides: Vec<String> = found
            .iter()
            .map(|it| format!("{} | {} | {}", it.left, it.sign, it.right))
            .collect();
        assert_eq!(
            sides,
            [
                "tcp.goodput | < | 0.1 * baseline",
                "at(\"A\", udp.loss) | > | at(\"A\", 5%)",
                "1 | within 5% of | tcp.rtt",
            ]
        );
    }

    #[test]
    fn a_sentence_is_filled_with_values() {
        let template =
            Template::parse("{{TCP}} gets {tcp.goodput} of {at(\"A}\", load)}.").unwrap();
        let filled = template.fill(|expression| format!("<{expression}>"));
        assert_eq!(filled, "{TCP} gets <tcp.goodput> of <at(\"A}\", load)>.");
        assert_eq!(Template::parse("a } b").unwrap_err().at, 2);
        assert_eq!(Template::parse("a { b").unwrap_err().at, 2);
        assert_eq!(Template::parse("say {tcp.goodput +}").unwrap_err().at, 18);
    }

    #[test]
    fn what_is_too_long_or_too_deep_is_refused() {
        let deep = format!("{}1{}", "(".repeat(100), ")".repeat(100));
        assert!(
            Expression::parse(&deep)
                .unwrap_err()
                .problem
                .contains("nested")
        );
        assert!(Expression::parse(&"-".repeat(1000)).is_err());
        assert!(Expression::parse(&"not ".repeat(400)).is_err());
        let long = "1+".repeat(990) + "1";
        let sum = Expression::parse(&long).unwrap();
        assert_eq!(
            sum.eval(&Here { elsewhere: false }),
            Ok(Value::Number(991.0, None))
        );
        assert_eq!(
            Expression::parse(&sum.to_string().replace(' ', "")),
            Ok(sum)
        );
        assert!(Expression::parse(&"1+".repeat(1001)).is_err());
    }

    /// Numbers, and what is made of them.
    fn numeric() -> impl Strategy<Value = Node> {
        let unit = prop_oneof![
            Just(""),
            Just("%"),
            Just("M"),
            Just("ms"),
            Just("Ki"),
            Just("bit/s")
        ];
        let amount = (0_u32..10_000, unit).prop_map(|(amount, unit)| {
            let text = format!("{amount}{unit}");
            let value = number(&text).unwrap();
            Node::Number(text, value)
        });
        let metric = prop_oneof![
            Just("tcp.goodput"),
            Just("total.jain"),
            Just("links.north-1.drops")
        ];
        let which = prop_oneof![
            Just(Which::Observed),
            Just(Which::Low),
            Just(Which::Baseline),
            Just(Which::Published)
        ];
        let leaf = prop_oneof![
            amount,
            (which, metric).prop_map(|(which, metric)| Node::Metric(which, metric.to_owned(), 0)),
            "[a-z_]{5,8}".prop_map(|name| Node::Parameter(name, 0)),
            Just(Node::Begins(None, 0)),
            Just(Node::Begins(Some("a \"b\" \\ 'c'".to_owned()), 0)),
        ];
        leaf.prop_recursive(4, 24, 3, |inner| {
            let operator = prop_oneof![
                Just(Operator::Plus),
                Just(Operator::Minus),
                Just(Operator::Times),
                Just(Operator::Over)
            ];
            prop_oneof![
                (operator, inner.clone(), inner.clone()).prop_map(|(operator, left, right)| {
                    Node::Two(operator, Box::new(left), Box::new(right))
                }),
                inner
                    .clone()
                    .prop_map(|inner| Node::Negated(Box::new(inner))),
                ("[A-Z\"\\\\ =]{1,4}", inner.clone()).prop_map(|(case, inner)| Node::At(
                    case,
                    Box::new(inner),
                    0
                )),
                proptest::collection::vec(inner, 2..4)
                    .prop_map(|arguments| Node::Call(Function::Max, arguments)),
            ]
        })
    }

    fn logical() -> impl Strategy<Value = Node> {
        let compares = prop_oneof![
            Just(Operator::Below),
            Just(Operator::AtLeast),
            Just(Operator::Equal),
            Just(Operator::Different)
        ];
        let leaf = prop_oneof![
            any::<bool>().prop_map(Node::Truth),
            (compares, numeric(), numeric()).prop_map(|(operator, left, right)| {
                Node::Two(operator, Box::new(left), Box::new(right))
            }),
            [numeric(), numeric(), numeric()]
                .prop_map(|arguments| Node::Call(Function::Within, arguments.to_vec())),
        ];
        leaf.prop_recursive(4, 12, 2, |inner| {
            let joins = prop_oneof![Just(Operator::And), Just(Operator::Or)];
            prop_oneof![
                (joins, inner.clone(), inner.clone()).prop_map(|(operator, left, right)| {
                    Node::Two(operator, Box::new(left), Box::new(right))
                }),
                inner.prop_map(|inner| Node::Not(Box::new(inner))),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back_as_the_same(root in prop_oneof![numeric(), logical()]) {
            let expression = Expression { root };
            let text = expression.to_string();
            prop_assume!(text.len() <= LONGEST);
            let again = Expression::parse(&text);
            prop_assert_eq!(again.as_ref(), Ok(&expression), "{}", text);
        }

        #[test]
        fn any_text_is_an_expression_or_an_error(text in any::<String>()) {
            let _ = (Expression::parse(&text), Template::parse(&text));
        }

        #[test]
        fn any_row_of_words_is_an_expression_or_an_error(
            words in proptest::collection::vec(
                prop_oneof![
                    Just("and"), Just("or"), Just("not"), Just("("), Just(")"), Just("at"), Just("\"A\""),
                    Just(","), Just("tcp.goodput"), Just("baseline"), Just("<"), Just("=="), Just("-"),
                    Just("5%"), Just("load"), Just("within"), Just("*"), Just("µ"), Just("{"), Just("1e"),
                ],
                0..30,
            )
        ) {
            let text = words.join(" ");
            if let Ok(expression) = Expression::parse(&text) {
                let _ = expression.eval(&Here { elsewhere: false });
                prop_assert_eq!(Expression::parse(&expression.to_string()), Ok(expression));
            }
        }
    }
}
