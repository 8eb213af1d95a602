//! The names in an expression, collected in order.

use super::name::{ExpressionName, MetricValue};
use super::node::SyntaxNode;

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
