//! Expressions as text: as they parse back, or with names replaced by their values.

use std::fmt;

use super::expression::Expression;
use super::name::{ExpressionName, MetricValue};
use super::node::{Operator, PRECEDENCE_NEGATE, PRECEDENCE_NOT, SyntaxNode, precedence};

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        DisplayNode::new(&self.root).fmt(f)
    }
}

impl Expression {
    /// The expression as text, with its metrics and parameters replaced by what `show` returns, and × for `*`.
    pub fn display_with(&self, show: &dyn Fn(ExpressionName<'_>) -> Option<String>) -> String {
        DisplayNode {
            node: &self.root,
            case: None,
            show: Some(show),
        }
        .to_string()
    }
}

/// The text shown in place of a name.
type Show<'a> = dyn Fn(ExpressionName<'_>) -> Option<String> + 'a;

/// A node to be displayed.
#[derive(Clone, Copy)]
pub(super) struct DisplayNode<'a> {
    pub(super) node: &'a SyntaxNode,
    /// The case inside `at`.
    pub(super) case: Option<&'a str>,
    pub(super) show: Option<&'a Show<'a>>,
}

impl<'a> DisplayNode<'a> {
    pub(super) const fn new(node: &'a SyntaxNode) -> Self {
        Self {
            node,
            case: None,
            show: None,
        }
    }

    const fn with_node(self, node: &'a SyntaxNode) -> Self {
        Self { node, ..self }
    }

    /// Writes a node, in parentheses where its precedence is below `min`.
    fn write_operand(
        self,
        f: &mut fmt::Formatter<'_>,
        node: &'a SyntaxNode,
        min: u8,
    ) -> fmt::Result {
        let inner = self.with_node(node);
        if precedence(node) < min {
            write!(f, "({inner})")
        } else {
            write!(f, "{inner}")
        }
    }

    /// The replacement of a name; `None` where there is none.
    fn replacement(self) -> Option<String> {
        let show = self.show?;
        match self.node {
            SyntaxNode::Parameter(name, _) => show(ExpressionName::Parameter(name)),
            SyntaxNode::Metric(value, name, _) => {
                show(ExpressionName::metric(self.case, *value, name))
            }
            SyntaxNode::ImplicitBaseline(name, _) => show(ExpressionName::metric(
                self.case,
                MetricValue::Baseline,
                name,
            )),
            SyntaxNode::StarvationLoad(group, _) => {
                show(ExpressionName::StarvationLoad(group.as_deref()))
            }
            _ => None,
        }
    }
}

impl fmt::Display for DisplayNode<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |f: &mut fmt::Formatter<'_>, text: &str| {
            write!(f, "\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
        };
        if let Some(shown) = self.replacement() {
            return f.write_str(&shown);
        }
        match self.node {
            SyntaxNode::Number(text, _) => f.write_str(text),
            SyntaxNode::Text(text) => quoted(f, text),
            SyntaxNode::Bool(boolean) => write!(f, "{boolean}"),
            SyntaxNode::Parameter(name, _) => f.write_str(name),
            SyntaxNode::Metric(value, name, _) => match value.function() {
                Some(call) => write!(f, "{call}({name})"),
                None => f.write_str(name),
            },
            SyntaxNode::ImplicitBaseline(..) => f.write_str("baseline"),
            SyntaxNode::At(case, inner, _) => {
                let inside = Self {
                    node: inner,
                    case: Some(case),
                    ..*self
                };
                if self.show.is_some() {
                    return inside.fmt(f);
                }
                f.write_str("at(")?;
                quoted(f, case)?;
                write!(f, ", {inside})")
            }
            SyntaxNode::StarvationLoad(None, _) => f.write_str("begins()"),
            SyntaxNode::StarvationLoad(Some(group), _) => {
                f.write_str("begins(")?;
                quoted(f, group)?;
                f.write_str(")")
            }
            SyntaxNode::Negate(inner) => {
                f.write_str("-")?;
                self.write_operand(f, inner, PRECEDENCE_NEGATE)
            }
            SyntaxNode::Not(inner) => {
                f.write_str("not ")?;
                self.write_operand(f, inner, PRECEDENCE_NOT)
            }
            SyntaxNode::Binary(operator, left, right) => {
                let precedence = operator.precedence();
                // Comparisons do not chain, and everything else groups from the left.
                self.write_operand(f, left, precedence + u8::from(operator.is_comparison()))?;
                let sign = match operator {
                    Operator::Times if self.show.is_some() => "×",
                    operator => operator.symbol(),
                };
                write!(f, " {sign} ")?;
                self.write_operand(f, right, precedence + 1)
            }
            SyntaxNode::Call(function, arguments) => {
                write!(f, "{}(", function.name())?;
                for (place, argument) in arguments.iter().enumerate() {
                    if place > 0 {
                        f.write_str(", ")?;
                    }
                    write!(f, "{}", self.with_node(argument))?;
                }
                f.write_str(")")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::MAX_LENGTH;
    use super::super::node::Function;
    use super::*;
    use crate::scalar::parse_number;

    /// Numbers, and what is made of them.
    fn numeric() -> impl Strategy<Value = SyntaxNode> {
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
            let value = parse_number(&text).unwrap();
            SyntaxNode::Number(text, value)
        });
        let metric = prop_oneof![
            Just("tcp.goodput"),
            Just("total.jain"),
            Just("links.north-1.drops")
        ];
        let value = prop_oneof![
            Just(MetricValue::Observed),
            Just(MetricValue::Low),
            Just(MetricValue::Baseline),
            Just(MetricValue::Published)
        ];
        let leaf = prop_oneof![
            amount,
            (value, metric).prop_map(|(value, metric)| SyntaxNode::Metric(
                value,
                metric.to_owned(),
                0
            )),
            "[a-z_]{5,8}".prop_map(|name| SyntaxNode::Parameter(name, 0)),
            Just(SyntaxNode::StarvationLoad(None, 0)),
            Just(SyntaxNode::StarvationLoad(
                Some("a \"b\" \\ 'c'".to_owned()),
                0
            )),
        ];
        leaf.prop_recursive(4, 24, 3, |inner| {
            let operator = prop_oneof![
                Just(Operator::Plus),
                Just(Operator::Minus),
                Just(Operator::Times),
                Just(Operator::Divide)
            ];
            prop_oneof![
                (operator, inner.clone(), inner.clone()).prop_map(|(operator, left, right)| {
                    SyntaxNode::Binary(operator, Box::new(left), Box::new(right))
                }),
                inner
                    .clone()
                    .prop_map(|inner| SyntaxNode::Negate(Box::new(inner))),
                ("[A-Z\"\\\\ =]{1,4}", inner.clone()).prop_map(|(case, inner)| SyntaxNode::At(
                    case,
                    Box::new(inner),
                    0
                )),
                proptest::collection::vec(inner, 2..4)
                    .prop_map(|arguments| SyntaxNode::Call(Function::Max, arguments)),
            ]
        })
    }

    fn logical() -> impl Strategy<Value = SyntaxNode> {
        let compares = prop_oneof![
            Just(Operator::Below),
            Just(Operator::AtLeast),
            Just(Operator::Equal),
            Just(Operator::Different)
        ];
        let leaf = prop_oneof![
            any::<bool>().prop_map(SyntaxNode::Bool),
            (compares, numeric(), numeric()).prop_map(|(operator, left, right)| {
                SyntaxNode::Binary(operator, Box::new(left), Box::new(right))
            }),
            [numeric(), numeric(), numeric()]
                .prop_map(|arguments| SyntaxNode::Call(Function::Within, arguments.to_vec())),
        ];
        leaf.prop_recursive(4, 12, 2, |inner| {
            let joins = prop_oneof![Just(Operator::And), Just(Operator::Or)];
            prop_oneof![
                (joins, inner.clone(), inner.clone()).prop_map(|(operator, left, right)| {
                    SyntaxNode::Binary(operator, Box::new(left), Box::new(right))
                }),
                inner.prop_map(|inner| SyntaxNode::Not(Box::new(inner))),
            ]
        })
    }

    proptest! {
        #[test]
        fn displayed_expressions_parse_back_to_the_same(root in prop_oneof![numeric(), logical()]) {
            let expression = Expression { root };
            let text = expression.to_string();
            prop_assume!(text.len() <= MAX_LENGTH);
            let again = Expression::parse(&text);
            prop_assert_eq!(again.as_ref(), Ok(&expression), "{}", text);
        }
    }
}
