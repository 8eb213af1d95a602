//! The parser: from lexemes to the syntax tree, with the types of its parts checked.

use super::error::{ExpressionError, error};
use super::lexer::{Lexeme, LexemeKind, lexemes};
use super::name::MetricValue;
use super::node::{Function, Operator, SyntaxNode, ValueType};
use crate::metric::is_path_link;
use crate::suggestion::suggestion;

/// Maximum length of an expression, in bytes.
pub const MAX_LENGTH: usize = 2000;
/// Maximum nesting depth of parentheses, calls and signs.
pub const MAX_DEPTH: usize = 48;

const NAME_A_VALUE: &str = "write a name, a number or a quoted text";

/// A node with its type.
type Parsed = Result<(SyntaxNode, ValueType), ExpressionError>;

/// Parses a text into its syntax tree, with the type of the whole.
///
/// # Errors
/// The first error of syntax or types, with its position.
pub(super) fn parse(text: &str) -> Parsed {
    if text.len() > MAX_LENGTH {
        return Err(error(
            MAX_LENGTH,
            format!("the expression is longer than {MAX_LENGTH} bytes"),
            "split it into several expressions",
        ));
    }
    let mut parser = Parser {
        lexemes: lexemes(text)?,
        next: 0,
        depth: 0,
        metric: None,
        end: text.len(),
    };
    let whole = parser.disjunction()?;
    match parser.peek() {
        None => Ok(whole),
        Some(lexeme) => Err(error(
            lexeme.at,
            format!("{} is out of place", lexeme.kind),
            "join two parts with and, or, or an arithmetic operator",
        )),
    }
}

struct Parser {
    lexemes: Vec<Lexeme>,
    next: usize,
    depth: usize,
    /// The metric parsed last, which `baseline` without an argument refers to.
    metric: Option<String>,
    end: usize,
}

impl Parser {
    fn peek(&self) -> Option<&Lexeme> {
        self.lexemes.get(self.next)
    }

    fn at(&self) -> usize {
        self.peek().map_or(self.end, |lexeme| lexeme.at)
    }

    /// Consumes the symbol if it is next.
    fn symbol(&mut self, symbol: &str) -> bool {
        let found = matches!(self.peek(), Some(Lexeme { kind: LexemeKind::Symbol(next), .. }) if *next == symbol);
        self.next += usize::from(found);
        found
    }

    /// Consumes the word if it is next.
    fn word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Some(Lexeme { kind: LexemeKind::Word(next), .. }) if next == word);
        self.next += usize::from(found);
        found
    }

    fn expect(&mut self, symbol: &'static str, after: &str) -> Result<(), ExpressionError> {
        if self.symbol(symbol) {
            return Ok(());
        }
        let problem = self.peek().map_or_else(
            || format!("the expression ends without {symbol} after {after}"),
            |lexeme| {
                format!(
                    "{} is where {symbol} is expected after {after}",
                    lexeme.kind
                )
            },
        );
        Err(error(self.at(), problem, format!("write {symbol} there")))
    }

    fn deeper(&mut self, inner: impl FnOnce(&mut Self) -> Parsed) -> Parsed {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(error(
                self.at(),
                format!("the expression is nested more than {MAX_DEPTH} deep"),
                "split it into several expressions",
            ));
        }
        let part = inner(self);
        self.depth -= 1;
        part
    }

    fn disjunction(&mut self) -> Parsed {
        self.chain(Operator::Or, Self::conjunction)
    }

    fn conjunction(&mut self) -> Parsed {
        self.chain(Operator::And, Self::negation)
    }

    fn chain(&mut self, operator: Operator, inner: fn(&mut Self) -> Parsed) -> Parsed {
        let mut at = self.at();
        let mut left = inner(self)?;
        while self.word(operator.symbol()) {
            check_type(left.1, ValueType::Bool, at)?;
            at = self.at();
            let right = inner(self)?;
            check_type(right.1, ValueType::Bool, at)?;
            left = (
                SyntaxNode::Binary(operator, Box::new(left.0), Box::new(right.0)),
                ValueType::Bool,
            );
        }
        Ok(left)
    }

    fn negation(&mut self) -> Parsed {
        if !self.word("not") {
            return self.comparison();
        }
        let at = self.at();
        let (inner, value_type) = self.deeper(Self::negation)?;
        check_type(value_type, ValueType::Bool, at)?;
        Ok((SyntaxNode::Not(Box::new(inner)), ValueType::Bool))
    }

    fn comparison(&mut self) -> Parsed {
        const OPERATORS: [Operator; 6] = [
            Operator::Below,
            Operator::AtMost,
            Operator::Above,
            Operator::AtLeast,
            Operator::Equal,
            Operator::Different,
        ];
        let (left, left_type) = self.sum()?;
        let at = self.at();
        let Some(operator) = OPERATORS
            .into_iter()
            .find(|operator| self.symbol(operator.symbol()))
        else {
            return Ok((left, left_type));
        };
        let (right, right_type) = self.sum()?;
        let ordered = !matches!(operator, Operator::Equal | Operator::Different);
        for value_type in [left_type, right_type] {
            if ordered && !matches!(value_type, ValueType::Number | ValueType::Any) {
                return Err(error(
                    at,
                    format!("{} compares numbers only", operator.symbol()),
                    "compare texts and booleans with == or !=",
                ));
            }
        }
        if left_type != right_type && left_type != ValueType::Any && right_type != ValueType::Any {
            return Err(error(
                at,
                "the two sides can never be equal",
                "compare numbers with numbers, and texts with texts",
            ));
        }
        if OPERATORS
            .iter()
            .any(|operator| matches!(self.peek(), Some(Lexeme { kind: LexemeKind::Symbol(next), .. }) if *next == operator.symbol()))
        {
            return Err(error(
                self.at(),
                "comparisons do not chain",
                "join two of them with and",
            ));
        }
        let node = SyntaxNode::Binary(operator, Box::new(left), Box::new(right));
        Ok((node, ValueType::Bool))
    }

    fn sum(&mut self) -> Parsed {
        self.arithmetic([Operator::Plus, Operator::Minus], Self::product)
    }

    fn product(&mut self) -> Parsed {
        self.arithmetic([Operator::Times, Operator::Divide], Self::negated)
    }

    fn arithmetic(&mut self, operators: [Operator; 2], inner: fn(&mut Self) -> Parsed) -> Parsed {
        let mut at = self.at();
        let mut left = inner(self)?;
        while let Some(operator) = operators
            .into_iter()
            .find(|operator| self.symbol(operator.symbol()))
        {
            check_type(left.1, ValueType::Number, at)?;
            at = self.at();
            let right = inner(self)?;
            check_type(right.1, ValueType::Number, at)?;
            left = (
                SyntaxNode::Binary(operator, Box::new(left.0), Box::new(right.0)),
                ValueType::Number,
            );
        }
        Ok(left)
    }

    fn negated(&mut self) -> Parsed {
        if !self.symbol("-") {
            return self.atom();
        }
        let at = self.at();
        let (inner, value_type) = self.deeper(Self::negated)?;
        check_type(value_type, ValueType::Number, at)?;
        Ok((SyntaxNode::Negate(Box::new(inner)), ValueType::Number))
    }

    fn atom(&mut self) -> Parsed {
        let Some(lexeme) = self.peek().cloned() else {
            return Err(error(
                self.end,
                "the expression ends where a value is expected",
                NAME_A_VALUE,
            ));
        };
        self.next += 1;
        match lexeme.kind {
            LexemeKind::Number(text, value) => {
                Ok((SyntaxNode::Number(text, value), ValueType::Number))
            }
            LexemeKind::Text(text) => Ok((SyntaxNode::Text(text), ValueType::Text)),
            LexemeKind::Symbol("(") => {
                let inner = self.deeper(Self::disjunction)?;
                self.expect(")", "what is in parentheses")?;
                Ok(inner)
            }
            LexemeKind::Word(word) => self.named(word, lexeme.at),
            LexemeKind::Symbol(sign) => Err(error(
                lexeme.at,
                format!("{sign} is where a value is expected"),
                NAME_A_VALUE,
            )),
        }
    }

    fn named(&mut self, word: String, at: usize) -> Parsed {
        match word.as_str() {
            "true" | "false" => return Ok((SyntaxNode::Bool(word == "true"), ValueType::Bool)),
            "and" | "or" | "not" => {
                return Err(error(
                    at,
                    format!("{word} is where a value is expected"),
                    NAME_A_VALUE,
                ));
            }
            _ => {}
        }
        if self.symbol("(") {
            return self.deeper(|parser| parser.call(&word, at));
        }
        if word == "baseline" {
            let metric = self.metric.clone().ok_or_else(|| {
                error(
                    at,
                    "baseline has no argument, and there is not a metric to its left",
                    "write baseline(tcp.goodput)",
                )
            })?;
            return Ok((SyntaxNode::ImplicitBaseline(metric, at), ValueType::Number));
        }
        if word.split('.').any(str::is_empty) {
            return Err(error(
                at,
                format!("{word} is not a name"),
                "write FLOW.METRIC",
            ));
        }
        if word.contains('.') {
            let parts = word.split('.').count();
            let link = word.starts_with("links.");
            let path_link = parts == 3 && word.split('.').nth(1).is_some_and(is_path_link);
            if parts != 2 && !(link && parts >= 3) && !path_link || link && parts == 2 {
                return Err(error(
                    at,
                    format!("{word} is not a metric"),
                    "write FLOW.METRIC, FLOW.linkN.METRIC, total.METRIC or links.NAME.METRIC",
                ));
            }
            self.metric = Some(word.clone());
            return Ok((
                SyntaxNode::Metric(MetricValue::Observed, word, at),
                ValueType::Number,
            ));
        }
        Ok((SyntaxNode::Parameter(word, at), ValueType::Any))
    }

    fn call(&mut self, name: &str, at: usize) -> Parsed {
        if let Some((_, value)) = MetricValue::FUNCTIONS
            .iter()
            .find(|(known, _)| *known == name)
        {
            return self.metric_value(name, *value);
        }
        match name {
            "at" => {
                let case = self.quoted("at(\"A\", tcp.goodput)")?;
                self.expect(",", "the case")?;
                let (inner, value_type) = self.disjunction()?;
                self.expect(")", "at")?;
                Ok((SyntaxNode::At(case, Box::new(inner), at), value_type))
            }
            "begins" => {
                let group = if self.symbol(")") {
                    None
                } else {
                    let group = self.quoted("begins(\"congestion=cubic\")")?;
                    self.expect(")", "begins")?;
                    Some(group)
                };
                Ok((SyntaxNode::StarvationLoad(group, at), ValueType::Number))
            }
            _ => match Function::ALL.into_iter().find(|known| known.name() == name) {
                Some(function) => self.function(function, at),
                None => {
                    let functions = Function::ALL.iter().map(|function| function.name());
                    let values = MetricValue::FUNCTIONS.iter().map(|(name, _)| *name);
                    let known = functions.chain(values).chain(["at", "begins"]);
                    Err(error(
                        at,
                        format!("there is no function {name}"),
                        suggestion(name, "function", known),
                    ))
                }
            },
        }
    }

    /// The metric in parentheses, with the value that the function selects.
    fn metric_value(&mut self, name: &str, value: MetricValue) -> Parsed {
        let at = self.at();
        let (inner, _) = self.disjunction()?;
        self.expect(")", name)?;
        let SyntaxNode::Metric(MetricValue::Observed, metric, _) = inner else {
            return Err(error(
                at,
                format!("{name} takes a metric, and this is not one"),
                format!("write {name}(tcp.goodput)"),
            ));
        };
        Ok((SyntaxNode::Metric(value, metric, at), ValueType::Number))
    }

    /// The arguments of a function, whose name is at `at`.
    fn function(&mut self, function: Function, at: usize) -> Parsed {
        let name = function.name();
        let mut arguments = Vec::new();
        loop {
            let at = self.at();
            let (argument, value_type) = self.disjunction()?;
            check_type(value_type, ValueType::Number, at)?;
            arguments.push(argument);
            if !self.symbol(",") {
                break;
            }
        }
        self.expect(")", name)?;
        let fits = match function {
            Function::Min | Function::Max => arguments.len() >= 2,
            Function::Abs => arguments.len() == 1,
            Function::Within => arguments.len() == 3,
        };
        if !fits {
            let takes = match function {
                Function::Min | Function::Max => "two or more arguments",
                Function::Abs => "one argument",
                Function::Within => "a value, a reference and a tolerance: within(x, y, 5%)",
            };
            return Err(error(
                at,
                format!("{name} has {} arguments", arguments.len()),
                format!("{name} takes {takes}"),
            ));
        }
        let value_type = match function {
            Function::Within => ValueType::Bool,
            _ => ValueType::Number,
        };
        Ok((SyntaxNode::Call(function, arguments), value_type))
    }

    fn quoted(&mut self, example: &str) -> Result<String, ExpressionError> {
        match self.peek().cloned() {
            Some(Lexeme {
                kind: LexemeKind::Text(text),
                ..
            }) => {
                self.next += 1;
                Ok(text)
            }
            _ => Err(error(
                self.at(),
                "a quoted text is expected",
                format!("write {example}"),
            )),
        }
    }
}

/// Checks the type of the node at a position.
fn check_type(
    value_type: ValueType,
    expected: ValueType,
    at: usize,
) -> Result<(), ExpressionError> {
    if value_type == expected || value_type == ValueType::Any {
        return Ok(());
    }
    let (problem, remedy) = match expected {
        ValueType::Bool => (
            "this is neither true nor false",
            "compare it with something, as in tcp.goodput > 50M",
        ),
        _ => ("this is not a number", "use numbers only"),
    };
    Err(error(at, problem, remedy))
}

#[cfg(test)]
mod tests {
    use crate::expression::Expression;

    #[test]
    fn errors_are_reported_at_their_positions() {
        for (text, at, problem) in [
            ("", 0, "the expression ends where a value is expected"),
            (
                "tcp.goodput <",
                13,
                "the expression ends where a value is expected",
            ),
            ("tcp.goodput = 5", 12, "'=' is not an operator"),
            ("1 < 2 < 3", 6, "comparisons do not chain"),
            ("5 and true", 0, "this is neither true nor false"),
            ("1 + \"a\"", 4, "this is not a number"),
            ("\"a\" < 5", 4, "< compares numbers only"),
            ("\"a\" == 5", 4, "the two sides can never be equal"),
            (
                "baseline > 5",
                0,
                "baseline has no argument, and there is not a metric to its left",
            ),
            ("low(5) > 1", 4, "low takes a metric, and this is not one"),
            ("mean(tcp.goodput)", 0, "there is no function mean"),
            ("within(1, 2)", 0, "within has 2 arguments"),
            ("at(A, 5)", 3, "a quoted text is expected"),
            ("5 apples", 2, "apples is out of place"),
            ("5apples", 0, "5apples is not a number"),
            (
                "(1 + 2",
                6,
                "the expression ends without ) after what is in parentheses",
            ),
            ("\"open", 0, "the quoted text has no end"),
            ("tcp.tcp.goodput > 1", 0, "tcp.tcp.goodput is not a metric"),
            ("links.x > 1", 0, "links.x is not a metric"),
            ("tcp..x > 1", 0, "tcp..x is not a name"),
        ] {
            let error = Expression::parse(text).unwrap_err();
            assert_eq!((error.at, error.problem.as_str()), (at, problem), "{text}");
        }
        assert!(Expression::condition("1 + 2").is_err());
        assert!(Expression::condition("load").is_ok());
    }
}
