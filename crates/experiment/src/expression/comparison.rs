//! The comparisons in an expression that decide whether it holds.

use super::display::DisplayNode;
use super::expression::Expression;
use super::node::{Function, Operator, SyntaxNode};

/// A comparison in an expression.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpressionComparison {
    /// The left side.
    pub left: Expression,
    /// The operator as text: `<`, `==`, `within 5% of`.
    pub operator: String,
    /// The right side.
    pub right: Expression,
    /// The whole comparison.
    pub whole: Expression,
}

fn collect_comparisons(
    node: &SyntaxNode,
    at: Option<(&str, usize)>,
    found: &mut Vec<ExpressionComparison>,
) {
    let expression = |node: &SyntaxNode| Expression {
        root: match at {
            Some((case, position)) => {
                SyntaxNode::At(case.to_owned(), Box::new(node.clone()), position)
            }
            None => node.clone(),
        },
    };
    match node {
        SyntaxNode::Binary(Operator::And | Operator::Or, left, right) => {
            collect_comparisons(left, at, found);
            collect_comparisons(right, at, found);
        }
        SyntaxNode::Not(inner) => collect_comparisons(inner, at, found),
        SyntaxNode::At(case, inner, position) => {
            collect_comparisons(inner, Some((case, *position)), found);
        }
        SyntaxNode::Binary(operator, left, right) if operator.is_comparison() => {
            found.push(ExpressionComparison {
                left: expression(left),
                operator: operator.symbol().to_owned(),
                right: expression(right),
                whole: expression(node),
            });
        }
        SyntaxNode::Call(Function::Within, arguments) => {
            if let [one, other, tolerance] = arguments.as_slice() {
                found.push(ExpressionComparison {
                    left: expression(one),
                    operator: format!("within {} of", DisplayNode::new(tolerance)),
                    right: expression(other),
                    whole: expression(node),
                });
            }
        }
        _ => {}
    }
}

impl Expression {
    /// The comparisons that decide whether it holds, each with both sides as expressions.
    ///
    /// `within(x, y, z)` is a comparison of x and y. Comparisons inside operands, calls and `at` are not included.
    #[must_use]
    pub fn comparisons(&self) -> Vec<ExpressionComparison> {
        let mut found = Vec::new();
        collect_comparisons(&self.root, None, &mut found);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_comparison_has_both_sides() {
        let text =
            "tcp.goodput < 0.1 * baseline and at(\"A\", udp.loss > 5%) or within(1, tcp.rtt, 5%)";
        let found = Expression::parse(text).unwrap().comparisons();
        let sides: Vec<String> = found
            .iter()
            .map(|comparison| {
                format!(
                    "{} | {} | {}",
                    comparison.left, comparison.operator, comparison.right
                )
            })
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
