//! A formula as text, as it reads back or as people see it.

use std::fmt;

use super::Expression;
use super::name::{Named, Which};
use super::node::{Node, Operator, RANK_NEGATED, RANK_NOT, rank};

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Shown::plain(&self.root).fmt(f)
    }
}

/// What is shown in place of a name.
type Show<'a> = dyn Fn(Named<'_>) -> Option<String> + 'a;

/// A part of an expression on its way to text.
#[derive(Clone, Copy)]
pub(super) struct Shown<'a> {
    pub(super) node: &'a Node,
    /// The case within `at`.
    pub(super) case: Option<&'a str>,
    pub(super) show: Option<&'a Show<'a>>,
}

impl<'a> Shown<'a> {
    pub(super) const fn plain(node: &'a Node) -> Self {
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
        match self.node {
            Node::Parameter(name, _) => show(Named::Parameter(name)),
            Node::Metric(which, name, _) => show(Named::metric(self.case, *which, name)),
            Node::BareBaseline(name, _) => show(Named::metric(self.case, Which::Baseline, name)),
            Node::Begins(group, _) => show(Named::Begins(group.as_deref())),
            _ => None,
        }
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::LONGEST;
    use super::super::node::Function;
    use super::*;
    use crate::scalar::number;

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
    }
}
