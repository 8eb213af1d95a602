//! The syntax tree of an expression.

use super::name::MetricValue;

/// A node of the syntax tree; a trailing number is the position in the text.
#[derive(Debug, Clone)]
pub(super) enum SyntaxNode {
    /// The text as written, with its value.
    Number(String, f64),
    Text(String),
    Bool(bool),
    Parameter(String, usize),
    Metric(MetricValue, String, usize),
    /// `baseline` without an argument, with the metric to its left.
    ImplicitBaseline(String, usize),
    At(String, Box<SyntaxNode>, usize),
    StarvationLoad(Option<String>, usize),
    Negate(Box<SyntaxNode>),
    Not(Box<SyntaxNode>),
    Binary(Operator, Box<SyntaxNode>, Box<SyntaxNode>),
    Call(Function, Vec<SyntaxNode>),
}

/// Nodes are equal whatever their positions.
impl PartialEq for SyntaxNode {
    fn eq(&self, other: &Self) -> bool {
        use SyntaxNode::{
            At, Binary, Bool, Call, ImplicitBaseline, Metric, Negate, Not, Number, Parameter,
            StarvationLoad, Text,
        };
        match (self, other) {
            (Number(a, _), Number(b, _)) | (Text(a), Text(b)) => a == b,
            (Bool(a), Bool(b)) => a == b,
            (Parameter(a, _), Parameter(b, _))
            | (ImplicitBaseline(a, _), ImplicitBaseline(b, _)) => a == b,
            (Metric(v, a, _), Metric(w, b, _)) => v == w && a == b,
            (At(a, x, _), At(b, y, _)) => a == b && x == y,
            (StarvationLoad(a, _), StarvationLoad(b, _)) => a == b,
            (Negate(x), Negate(y)) | (Not(x), Not(y)) => x == y,
            (Binary(o, a, b), Binary(p, c, d)) => o == p && a == c && b == d,
            (Call(f, a), Call(g, b)) => f == g && a == b,
            _ => false,
        }
    }
}

/// The type of a node, as far as it is known without values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueType {
    Number,
    Text,
    Bool,
    /// A parameter, whose type is unknown.
    Any,
}

/// A binary operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
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
    Divide,
}

impl Operator {
    pub(super) const fn symbol(self) -> &'static str {
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
            Self::Divide => "/",
        }
    }

    /// The precedence: operators of a higher one bind more tightly.
    pub(super) const fn precedence(self) -> u8 {
        match self {
            Self::Or => 1,
            Self::And => 2,
            Self::Below
            | Self::AtMost
            | Self::Above
            | Self::AtLeast
            | Self::Equal
            | Self::Different => PRECEDENCE_COMPARISON,
            Self::Plus | Self::Minus => 5,
            Self::Times | Self::Divide => 6,
        }
    }

    pub(super) const fn is_comparison(self) -> bool {
        self.precedence() == PRECEDENCE_COMPARISON
    }
}

pub(super) const PRECEDENCE_NOT: u8 = 3;
const PRECEDENCE_COMPARISON: u8 = 4;
pub(super) const PRECEDENCE_NEGATE: u8 = 7;
const PRECEDENCE_ATOM: u8 = 8;

/// A function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    Min,
    Max,
    Abs,
    Within,
}

impl Function {
    pub(super) const ALL: [Self; 4] = [Self::Min, Self::Max, Self::Abs, Self::Within];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Min => "min",
            Self::Max => "max",
            Self::Abs => "abs",
            Self::Within => "within",
        }
    }
}

/// The precedence of a node.
pub(super) fn precedence(node: &SyntaxNode) -> u8 {
    match node {
        SyntaxNode::Binary(operator, ..) => operator.precedence(),
        SyntaxNode::Not(_) => PRECEDENCE_NOT,
        SyntaxNode::Negate(_) => PRECEDENCE_NEGATE,
        _ => PRECEDENCE_ATOM,
    }
}
