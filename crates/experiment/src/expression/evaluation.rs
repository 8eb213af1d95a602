//! Evaluation of an expression with the values of its names.

use super::lookup::Lookup;
use super::name::{MetricValue, metric_unit};
use super::node::{Function, Operator, SyntaxNode};
use super::value::{EvaluationError, Value, boolean, finite, numeric};
use crate::scalar::Scalar;
use caudal_core::quantity::Unit;

/// Evaluates a node with the values of `lookup`.
pub(super) fn evaluate(node: &SyntaxNode, lookup: &dyn Lookup) -> Result<Value, EvaluationError> {
    match node {
        SyntaxNode::Number(_, value) => Ok(Value::Number(*value, None)),
        SyntaxNode::Text(text) => Ok(Value::Text(text.clone())),
        SyntaxNode::Bool(boolean) => Ok(Value::Bool(*boolean)),
        SyntaxNode::Parameter(name, _) => lookup
            .parameter(name)
            .map(Value::Parameter)
            .ok_or_else(|| EvaluationError(format!("this case has no {name}"))),
        SyntaxNode::Metric(which, name, _) => {
            finite(lookup.metric(*which, name)?, metric_unit(name))
        }
        SyntaxNode::ImplicitBaseline(name, _) => finite(
            lookup.metric(MetricValue::Baseline, name)?,
            metric_unit(name),
        ),
        SyntaxNode::At(case, inner, _) => evaluate(inner, lookup.case(case)?.as_ref()),
        // Infinity is a valid load: starvation never begins.
        SyntaxNode::StarvationLoad(group, _) => Ok(Value::Number(
            lookup.starvation_load(group.as_deref())?,
            None,
        )),
        SyntaxNode::Negate(inner) => {
            let (number, unit) = numeric(&evaluate(inner, lookup)?)?;
            finite(-number, unit)
        }
        SyntaxNode::Not(inner) => Ok(Value::Bool(!boolean(&evaluate(inner, lookup)?)?)),
        SyntaxNode::Binary(operator @ (Operator::And | Operator::Or), left, right) => {
            // One operand may decide where the other cannot be evaluated (Kleene's strong logic).
            let decides = *operator == Operator::Or;
            let side = |node: &SyntaxNode| evaluate(node, lookup).and_then(|value| boolean(&value));
            match side(left) {
                Ok(left) if left == decides => Ok(Value::Bool(decides)),
                Ok(_) => side(right).map(Value::Bool),
                Err(error) => match side(right) {
                    Ok(right) if right == decides => Ok(Value::Bool(decides)),
                    _ => Err(error),
                },
            }
        }
        SyntaxNode::Binary(operator, left, right) => {
            let (left, right) = (evaluate(left, lookup)?, evaluate(right, lookup)?);
            if operator.is_comparison() {
                compare(*operator, &left, &right).map(Value::Bool)
            } else {
                calculate(*operator, &left, &right)
            }
        }
        SyntaxNode::Call(function, arguments) => call(*function, arguments, lookup),
    }
}

fn compare(operator: Operator, left: &Value, right: &Value) -> Result<bool, EvaluationError> {
    let equal = match (left, right) {
        (Value::Bool(_) | Value::Parameter(Scalar::Bool(_)), _)
        | (_, Value::Bool(_) | Value::Parameter(Scalar::Bool(_))) => {
            boolean(left)? == boolean(right)?
        }
        (Value::Text(text), other) | (other, Value::Text(text)) => {
            let other = match other {
                Value::Parameter(scalar) => scalar.to_string(),
                Value::Text(other) => other.clone(),
                other => return Err(EvaluationError(format!("{other} is not a text"))),
            };
            *text == other
        }
        (Value::Parameter(one), Value::Parameter(other))
            if one.number().is_none() || other.number().is_none() =>
        {
            one.to_string() == other.to_string()
        }
        // A parameter that is a word is not equal to any number.
        (Value::Parameter(word), _) | (_, Value::Parameter(word))
            if word.number().is_none()
                && matches!(operator, Operator::Equal | Operator::Different) =>
        {
            false
        }
        _ => {
            let ((left, _), (right, _)) = (numeric(left)?, numeric(right)?);
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
        _ => Err(EvaluationError(format!("{left} and {right} have no order"))),
    }
}

fn calculate(operator: Operator, left: &Value, right: &Value) -> Result<Value, EvaluationError> {
    let ((a, unit_a), (b, unit_b)) = (numeric(left)?, numeric(right)?);
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
        _ if b == 0.0 => Err(EvaluationError("division by zero".to_owned())),
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

fn call(
    function: Function,
    arguments: &[SyntaxNode],
    lookup: &dyn Lookup,
) -> Result<Value, EvaluationError> {
    let mut values = Vec::with_capacity(arguments.len());
    for argument in arguments {
        values.push(numeric(&evaluate(argument, lookup)?)?);
    }
    let unit = values.iter().find_map(|(_, unit)| *unit);
    let numbers = values.iter().map(|(number, _)| *number);
    match function {
        Function::Min => finite(numbers.fold(f64::INFINITY, f64::min), unit),
        Function::Max => finite(numbers.fold(f64::NEG_INFINITY, f64::max), unit),
        Function::Abs => finite(numbers.map(f64::abs).sum(), unit),
        Function::Within => match values.as_slice() {
            [(x, _), (y, _), (part, _)] => Ok(Value::Bool((x - y).abs() <= part * y.abs())),
            _ => Err(EvaluationError("within takes three arguments".to_owned())),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::super::lookup::TestLookup;
    use super::*;
    use crate::expression::Expression;

    fn value(text: &str) -> Result<Value, EvaluationError> {
        Expression::parse(text).unwrap().evaluate(&TestLookup {
            is_other_case: false,
        })
    }

    fn holds(text: &str) -> bool {
        value(text).unwrap() == Value::Bool(true)
    }

    #[test]
    fn expressions_of_experiments_are_evaluated() {
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
    fn a_missing_value_gives_an_error_with_the_reason() {
        for (text, why) in [
            ("udp.loss > 0", "udp.loss was not measured"),
            ("at(\"B\", tcp.goodput) > 0", "B has no trial yet"),
            ("tcp.goodput / (clients - 8) > 1", "division by zero"),
            ("congestion > 5", "bbr is not a number"),
            ("congestion > load", "bbr and 80% have no order"),
            ("false or udp.loss > 0", "udp.loss was not measured"),
            ("clients and true", "8 is neither true nor false"),
        ] {
            assert_eq!(value(text).unwrap_err().to_string(), why, "{text}");
        }
    }

    #[test]
    fn values_keep_the_unit_of_their_operands() {
        let shown = |text: &str| value(text).unwrap().to_string();
        assert_eq!(shown("tcp.goodput"), "400 kbit/s");
        assert_eq!(shown("tcp.goodput * 2 + 100k"), "900 kbit/s");
        assert_eq!(shown("at(\"A\", tcp.goodput) / tcp.goodput"), "22.5000");
        assert_eq!(shown("links.north-1.utilisation"), "99 %");
        assert_eq!(shown("load"), "80%");
        assert_eq!(shown("1 / 8"), "0.1250");
    }
}
