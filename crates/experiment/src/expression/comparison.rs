//! The comparisons that decide whether a formula holds.

use super::Expression;
use super::node::{Function, Node, Operator};
use super::shown::Shown;

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

pub(super) fn comparisons(node: &Node, at: Option<(&str, usize)>, found: &mut Vec<Comparison>) {
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
