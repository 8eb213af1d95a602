//! An expression: parsed once, checked against the names of an experiment, evaluated for a case.

use super::error::{ExpressionError, error};
use super::evaluation::evaluate;
use super::lookup::{Lookup, ParameterLookup};
use super::name::{ExpressionName, MetricValue};
use super::node::{SyntaxNode, ValueType};
use super::parser::parse;
use super::scope::{Scope, unknown};
use super::value::{EvaluationError, Value, boolean};
use crate::scalar::Scalar;

/// An expression over the parameters and metrics of a case.
#[derive(Debug, Clone, PartialEq)]
pub struct Expression {
    pub(super) root: SyntaxNode,
}

impl Expression {
    /// Parses an expression.
    ///
    /// # Errors
    /// The first error with its position: of syntax, of types, too long or too deeply nested.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        let (root, _) = parse(text)?;
        Ok(Self { root })
    }

    /// Parses an expression that is true or false.
    ///
    /// # Errors
    /// As [`parse`](Self::parse), and for one that is a number or a text.
    pub fn condition(text: &str) -> Result<Self, ExpressionError> {
        let (root, value_type) = parse(text)?;
        match value_type {
            ValueType::Bool | ValueType::Any => Ok(Self { root }),
            ValueType::Number | ValueType::Text => Err(error(
                0,
                format!("{text:?} is neither true nor false"),
                "compare it with something, as in tcp.goodput > 50M",
            )),
        }
    }

    /// The names in the expression, in order.
    #[must_use]
    pub fn names(&self) -> Vec<ExpressionName<'_>> {
        let mut names = Vec::new();
        collect(&self.root, None, &mut |named, _| names.push(named));
        names
    }

    /// `true` when every metric is inside `at(…)`, or there is none.
    #[must_use]
    pub fn is_about_named_cases_only(&self) -> bool {
        !self
            .names()
            .iter()
            .any(|name| matches!(name, ExpressionName::Metric(..)))
    }

    /// Checks the names.
    ///
    /// # Errors
    /// The first unknown name, with the nearest known one.
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

    /// The value of the expression, with the values of `lookup`.
    ///
    /// # Errors
    /// The reason why there is no value: a missing value, a division by zero, a text compared with a number.
    pub fn evaluate(&self, lookup: &dyn Lookup) -> Result<Value, EvaluationError> {
        evaluate(&self.root, lookup)
    }

    /// `true` when the expression holds with the values of `lookup`.
    ///
    /// # Errors
    /// The reason why it cannot be evaluated.
    pub fn holds(&self, lookup: &dyn Lookup) -> Result<bool, EvaluationError> {
        boolean(&evaluate(&self.root, lookup)?)
    }

    /// `true` when the expression holds for these parameters alone.
    ///
    /// # Errors
    /// The reason why it cannot be evaluated.
    pub fn holds_for(&self, parameters: &[(String, Scalar)]) -> Result<bool, EvaluationError> {
        self.holds(&ParameterLookup(parameters))
    }

    /// The metric, if the expression is a single metric, with its case if it is one of another case.
    #[must_use]
    pub fn as_metric(&self) -> Option<(Option<&str>, MetricValue, &str)> {
        match &self.root {
            SyntaxNode::Metric(which, name, _) => Some((None, *which, name)),
            SyntaxNode::ImplicitBaseline(name, _) => Some((None, MetricValue::Baseline, name)),
            SyntaxNode::At(case, inner, _) => match inner.as_ref() {
                SyntaxNode::Metric(which, name, _) => Some((Some(case), *which, name)),
                _ => None,
            },
            _ => None,
        }
    }

    /// The number, if the expression is a single number.
    #[must_use]
    pub fn as_number(&self) -> Option<f64> {
        match &self.root {
            SyntaxNode::Number(_, value) => Some(*value),
            SyntaxNode::At(_, inner, _) => match inner.as_ref() {
                SyntaxNode::Number(_, value) => Some(*value),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Calls `found` with every name and its position in the text, in order.
pub(super) fn collect<'a>(
    node: &'a SyntaxNode,
    case: Option<&'a str>,
    found: &mut impl FnMut(ExpressionName<'a>, usize),
) {
    match node {
        SyntaxNode::Number(..) | SyntaxNode::Text(_) | SyntaxNode::Bool(_) => {}
        SyntaxNode::Parameter(name, at) => found(ExpressionName::Parameter(name), *at),
        SyntaxNode::Metric(which, name, at) => {
            found(ExpressionName::metric(case, *which, name), *at);
        }
        SyntaxNode::ImplicitBaseline(name, at) => found(
            ExpressionName::metric(case, MetricValue::Baseline, name),
            *at,
        ),
        SyntaxNode::At(case, inner, at) => {
            found(ExpressionName::Case(case), *at);
            collect(inner, Some(case), found);
        }
        SyntaxNode::StarvationLoad(group, at) => {
            found(ExpressionName::StarvationLoad(group.as_deref()), *at);
        }
        SyntaxNode::Negate(inner) | SyntaxNode::Not(inner) => collect(inner, case, found),
        SyntaxNode::Binary(_, left, right) => {
            collect(left, case, found);
            collect(right, case, found);
        }
        SyntaxNode::Call(_, arguments) => {
            for argument in arguments {
                collect(argument, case, found);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expression::Template;
    use crate::expression::lookup::TestLookup;
    use proptest::prelude::*;

    #[test]
    fn an_expectation_about_named_cases_differs_from_one_about_each() {
        let about = |text| Expression::parse(text).unwrap().is_about_named_cases_only();
        assert!(about("at(\"A\", tcp.goodput) > at(\"B\", tcp.goodput)"));
        assert!(!about("at(\"A\", tcp.goodput) > tcp.goodput"));
    }

    #[test]
    fn expressions_too_long_or_too_deep_are_refused() {
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
            sum.evaluate(&TestLookup {
                is_other_case: false
            }),
            Ok(Value::Number(991.0, None))
        );
        assert_eq!(
            Expression::parse(&sum.to_string().replace(' ', "")),
            Ok(sum)
        );
        assert!(Expression::parse(&"1+".repeat(1001)).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_an_expression_or_an_error(text in any::<String>()) {
            let _ = (Expression::parse(&text), Template::parse(&text));
        }

        #[test]
        fn any_sequence_of_words_is_an_expression_or_an_error(
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
                let _ = expression.evaluate(&TestLookup { is_other_case: false });
                prop_assert_eq!(Expression::parse(&expression.to_string()), Ok(expression));
            }
        }
    }
}
