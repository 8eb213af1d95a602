//! From a tree and the values of its names to its own.

use super::lookup::Lookup;
use super::name::{Which, unit_of};
use super::node::{Function, Node, Operator};
use super::value::{CannotTell, Value, amount, finite, truth};
use crate::scalar::Scalar;
use caudal_core::quantity::Unit;

/// The value of a part where `lookup` is.
pub(super) fn eval(node: &Node, lookup: &dyn Lookup) -> Result<Value, CannotTell> {
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

#[cfg(test)]
mod tests {
    use super::super::Expression;
    use super::super::lookup::Here;
    use super::*;

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
}
