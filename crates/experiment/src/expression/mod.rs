//! What an experiment's file says in formulas: conditions, expectations, conclusions.
//!
//! Text becomes an [`Expression`] once, with its parts known to fit each other; [`Expression::check`] holds its names against
//! those of an experiment; [`Expression::eval`] asks a [`Lookup`] for their values.

mod comparison;
mod error;
mod evaluation;
mod lookup;
mod name;
mod node;
mod parser;
mod scope;
mod shown;
mod template;
mod token;
mod value;

pub use comparison::Comparison;
pub use error::ExpressionError;
pub use lookup::Lookup;
pub use name::{Named, Which, metric_of, unit_of};
pub use scope::Scope;
pub use template::Template;
pub use value::{CannotTell, Value};

use super::scalar::Scalar;
use comparison::comparisons;
use error::wrong;
use evaluation::eval;
use lookup::OnlyParameters;
use name::collect;
use node::{Node, Sort};
use parser::read;
use scope::unknown;
use shown::Shown;
use value::truth;

/// The longest expression, in bytes.
pub const LONGEST: usize = 2000;
/// How deep parentheses, calls and signs may be nested.
pub const DEEPEST: usize = 48;

/// A formula over the parameters and metrics of a case.
#[derive(Debug, Clone, PartialEq)]
pub struct Expression {
    root: Node,
}

impl Expression {
    /// Reads an expression.
    ///
    /// # Errors
    /// Where it goes wrong: a sign out of place, parts that do not fit each other, too long or too deep.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        let (root, _) = read(text)?;
        Ok(Self { root })
    }

    /// Reads an expression that is true or false.
    ///
    /// # Errors
    /// As [`parse`](Self::parse), and for one that is a number or a text.
    pub fn condition(text: &str) -> Result<Self, ExpressionError> {
        let (root, sort) = read(text)?;
        match sort {
            Sort::Truth | Sort::Any => Ok(Self { root }),
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::lookup::Here;
    use super::*;

    #[test]
    fn an_expectation_about_named_cases_is_told_from_one_about_each() {
        let about = |text| Expression::parse(text).unwrap().is_about_named_cases_only();
        assert!(about("at(\"A\", tcp.goodput) > at(\"B\", tcp.goodput)"));
        assert!(!about("at(\"A\", tcp.goodput) > tcp.goodput"));
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

    proptest! {
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
