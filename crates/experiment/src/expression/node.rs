//! The tree a formula is read into.

use super::name::Which;

/// A part of an expression with all that is in it; a trailing number is the place in the text.
#[derive(Debug, Clone)]
pub(super) enum Node {
    /// As written.
    Number(String, f64),
    Text(String),
    Truth(bool),
    Parameter(String, usize),
    Metric(Which, String, usize),
    /// `baseline` alone, with the metric left of it.
    BareBaseline(String, usize),
    At(String, Box<Node>, usize),
    Begins(Option<String>, usize),
    Negated(Box<Node>),
    Not(Box<Node>),
    Two(Operator, Box<Node>, Box<Node>),
    Call(Function, Vec<Node>),
}

/// Where two nodes stand in their texts makes no difference between them.
impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        use Node::{
            At, BareBaseline, Begins, Call, Metric, Negated, Not, Number, Parameter, Text, Truth,
            Two,
        };
        match (self, other) {
            (Number(a, _), Number(b, _)) | (Text(a), Text(b)) => a == b,
            (Truth(a), Truth(b)) => a == b,
            (Parameter(a, _), Parameter(b, _)) | (BareBaseline(a, _), BareBaseline(b, _)) => a == b,
            (Metric(v, a, _), Metric(w, b, _)) => v == w && a == b,
            (At(a, x, _), At(b, y, _)) => a == b && x == y,
            (Begins(a, _), Begins(b, _)) => a == b,
            (Negated(x), Negated(y)) | (Not(x), Not(y)) => x == y,
            (Two(o, a, b), Two(p, c, d)) => o == p && a == c && b == d,
            (Call(f, a), Call(g, b)) => f == g && a == b,
            _ => false,
        }
    }
}

/// What a part of an expression is, before its values are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    Number,
    Text,
    Truth,
    /// A parameter may be any.
    Any,
}

/// What stands between two parts.
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
    Over,
}

impl Operator {
    pub(super) const fn sign(self) -> &'static str {
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
            Self::Over => "/",
        }
    }

    /// How tightly it binds.
    pub(super) const fn rank(self) -> u8 {
        match self {
            Self::Or => 1,
            Self::And => 2,
            Self::Below
            | Self::AtMost
            | Self::Above
            | Self::AtLeast
            | Self::Equal
            | Self::Different => RANK_COMPARED,
            Self::Plus | Self::Minus => 5,
            Self::Times | Self::Over => 6,
        }
    }

    pub(super) const fn compares(self) -> bool {
        self.rank() == RANK_COMPARED
    }
}

pub(super) const RANK_NOT: u8 = 3;
const RANK_COMPARED: u8 = 4;
pub(super) const RANK_NEGATED: u8 = 7;
const RANK_ATOM: u8 = 8;

/// What reckons with values in parentheses.
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

/// How tightly it binds.
pub(super) fn rank(node: &Node) -> u8 {
    match node {
        Node::Two(operator, ..) => operator.rank(),
        Node::Not(_) => RANK_NOT,
        Node::Negated(_) => RANK_NEGATED,
        _ => RANK_ATOM,
    }
}
