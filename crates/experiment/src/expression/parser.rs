//! From tokens to the tree, with its parts known to fit each other.

use super::error::{ExpressionError, wrong};
use super::name::Which;
use super::node::{Function, Node, Operator, Sort};
use super::token::{Kind, Token, tokens};
use super::{DEEPEST, LONGEST};
use crate::nearest::suggestion;

const NAME_A_VALUE: &str = "write a name, a number or a quoted text";

/// A part, and what it is.
type Parsed = Result<(Node, Sort), ExpressionError>;

/// The tree of a text, and what it is as a whole.
///
/// # Errors
/// Where it goes wrong.
pub(super) fn read(text: &str) -> Parsed {
    if text.len() > LONGEST {
        return Err(wrong(
            LONGEST,
            format!("the expression is longer than {LONGEST} bytes"),
            "say it in several",
        ));
    }
    let mut parser = Parser {
        tokens: tokens(text)?,
        next: 0,
        depth: 0,
        metric: None,
        end: text.len(),
    };
    let whole = parser.either()?;
    match parser.peek() {
        None => Ok(whole),
        Some(token) => Err(wrong(
            token.at,
            format!("{} is out of place", token.kind.words()),
            "join two parts with and, or, or a sign of arithmetic",
        )),
    }
}

struct Parser {
    tokens: Vec<Token>,
    next: usize,
    depth: usize,
    /// The metric last read, which `baseline` alone refers to.
    metric: Option<String>,
    end: usize,
}

impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next)
    }

    fn at(&self) -> usize {
        self.peek().map_or(self.end, |token| token.at)
    }

    /// Takes the sign if it is next.
    fn sign(&mut self, sign: &str) -> bool {
        let found =
            matches!(self.peek(), Some(Token { kind: Kind::Sign(next), .. }) if *next == sign);
        self.next += usize::from(found);
        found
    }

    /// Takes the word if it is next.
    fn word(&mut self, word: &str) -> bool {
        let found =
            matches!(self.peek(), Some(Token { kind: Kind::Word(next), .. }) if next == word);
        self.next += usize::from(found);
        found
    }

    fn expect(&mut self, sign: &'static str, after: &str) -> Result<(), ExpressionError> {
        if self.sign(sign) {
            return Ok(());
        }
        let problem = self.peek().map_or_else(
            || format!("the expression ends without {sign} after {after}"),
            |token| {
                format!(
                    "{} stands where {sign} is expected after {after}",
                    token.kind.words()
                )
            },
        );
        Err(wrong(self.at(), problem, format!("write {sign} there")))
    }

    fn deeper(&mut self, inner: impl FnOnce(&mut Self) -> Parsed) -> Parsed {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(wrong(
                self.at(),
                format!("the expression is nested more than {DEEPEST} deep"),
                "say it in several",
            ));
        }
        let part = inner(self);
        self.depth -= 1;
        part
    }

    fn either(&mut self) -> Parsed {
        self.chain(Operator::Or, Self::both)
    }

    fn both(&mut self) -> Parsed {
        self.chain(Operator::And, Self::denied)
    }

    fn chain(&mut self, operator: Operator, inner: fn(&mut Self) -> Parsed) -> Parsed {
        let mut at = self.at();
        let mut left = inner(self)?;
        while self.word(operator.sign()) {
            must(left.1, Sort::Truth, at)?;
            at = self.at();
            let right = inner(self)?;
            must(right.1, Sort::Truth, at)?;
            left = (
                Node::Two(operator, Box::new(left.0), Box::new(right.0)),
                Sort::Truth,
            );
        }
        Ok(left)
    }

    fn denied(&mut self) -> Parsed {
        if !self.word("not") {
            return self.comparison();
        }
        let at = self.at();
        let (inner, sort) = self.deeper(Self::denied)?;
        must(sort, Sort::Truth, at)?;
        Ok((Node::Not(Box::new(inner)), Sort::Truth))
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
        let (left, left_sort) = self.sum()?;
        let at = self.at();
        let Some(operator) = OPERATORS
            .into_iter()
            .find(|operator| self.sign(operator.sign()))
        else {
            return Ok((left, left_sort));
        };
        let (right, right_sort) = self.sum()?;
        let ordered = !matches!(operator, Operator::Equal | Operator::Different);
        for sort in [left_sort, right_sort] {
            if ordered && !matches!(sort, Sort::Number | Sort::Any) {
                return Err(wrong(
                    at,
                    format!("{} compares numbers only", operator.sign()),
                    "compare texts and truths with == or !=",
                ));
            }
        }
        if left_sort != right_sort && left_sort != Sort::Any && right_sort != Sort::Any {
            return Err(wrong(
                at,
                "the two sides can never be equal",
                "compare numbers with numbers, and texts with texts",
            ));
        }
        if OPERATORS
            .iter()
            .any(|operator| matches!(self.peek(), Some(Token { kind: Kind::Sign(next), .. }) if *next == operator.sign()))
        {
            return Err(wrong(
                self.at(),
                "comparisons do not chain",
                "join two of them with and",
            ));
        }
        let node = Node::Two(operator, Box::new(left), Box::new(right));
        Ok((node, Sort::Truth))
    }

    fn sum(&mut self) -> Parsed {
        self.arithmetic([Operator::Plus, Operator::Minus], Self::product)
    }

    fn product(&mut self) -> Parsed {
        self.arithmetic([Operator::Times, Operator::Over], Self::negated)
    }

    fn arithmetic(&mut self, operators: [Operator; 2], inner: fn(&mut Self) -> Parsed) -> Parsed {
        let mut at = self.at();
        let mut left = inner(self)?;
        while let Some(operator) = operators
            .into_iter()
            .find(|operator| self.sign(operator.sign()))
        {
            must(left.1, Sort::Number, at)?;
            at = self.at();
            let right = inner(self)?;
            must(right.1, Sort::Number, at)?;
            left = (
                Node::Two(operator, Box::new(left.0), Box::new(right.0)),
                Sort::Number,
            );
        }
        Ok(left)
    }

    fn negated(&mut self) -> Parsed {
        if !self.sign("-") {
            return self.atom();
        }
        let at = self.at();
        let (inner, sort) = self.deeper(Self::negated)?;
        must(sort, Sort::Number, at)?;
        Ok((Node::Negated(Box::new(inner)), Sort::Number))
    }

    fn atom(&mut self) -> Parsed {
        let Some(token) = self.peek().cloned() else {
            return Err(wrong(
                self.end,
                "the expression ends where a value is expected",
                NAME_A_VALUE,
            ));
        };
        self.next += 1;
        match token.kind {
            Kind::Number(text, value) => Ok((Node::Number(text, value), Sort::Number)),
            Kind::Text(text) => Ok((Node::Text(text), Sort::Text)),
            Kind::Sign("(") => {
                let inner = self.deeper(Self::either)?;
                self.expect(")", "what is in parentheses")?;
                Ok(inner)
            }
            Kind::Word(word) => self.named(word, token.at),
            Kind::Sign(sign) => Err(wrong(
                token.at,
                format!("{sign} stands where a value is expected"),
                NAME_A_VALUE,
            )),
        }
    }

    fn named(&mut self, word: String, at: usize) -> Parsed {
        match word.as_str() {
            "true" | "false" => return Ok((Node::Truth(word == "true"), Sort::Truth)),
            "and" | "or" | "not" => {
                return Err(wrong(
                    at,
                    format!("{word} stands where a value is expected"),
                    NAME_A_VALUE,
                ));
            }
            _ => {}
        }
        if self.sign("(") {
            return self.deeper(|parser| parser.call(&word, at));
        }
        if word == "baseline" {
            let metric = self.metric.clone().ok_or_else(|| {
                wrong(
                    at,
                    "baseline stands alone, and no metric is left of it",
                    "write baseline(tcp.goodput)",
                )
            })?;
            return Ok((Node::BareBaseline(metric, at), Sort::Number));
        }
        if word.split('.').any(str::is_empty) {
            return Err(wrong(at, format!("{word} is no name"), "write FLOW.METRIC"));
        }
        if word.contains('.') {
            let parts = word.split('.').count();
            let link = word.starts_with("links.");
            if parts != 2 && !(link && parts >= 3) || link && parts == 2 {
                return Err(wrong(
                    at,
                    format!("{word} is no metric"),
                    "write FLOW.METRIC, total.METRIC or links.NAME.METRIC",
                ));
            }
            self.metric = Some(word.clone());
            return Ok((Node::Metric(Which::Observed, word, at), Sort::Number));
        }
        Ok((Node::Parameter(word, at), Sort::Any))
    }

    fn call(&mut self, name: &str, at: usize) -> Parsed {
        if let Some((_, which)) = Which::CALLS.iter().find(|(call, _)| *call == name) {
            let inner_at = self.at();
            let (inner, _) = self.either()?;
            self.expect(")", name)?;
            let Node::Metric(Which::Observed, metric, _) = inner else {
                return Err(wrong(
                    inner_at,
                    format!("{name} is of a metric, and this is none"),
                    format!("write {name}(tcp.goodput)"),
                ));
            };
            return Ok((Node::Metric(*which, metric, inner_at), Sort::Number));
        }
        match name {
            "at" => {
                let case = self.quoted("at(\"A\", tcp.goodput)")?;
                self.expect(",", "the case")?;
                let (inner, sort) = self.either()?;
                self.expect(")", "at")?;
                return Ok((Node::At(case, Box::new(inner), at), sort));
            }
            "begins" => {
                let group = if self.sign(")") {
                    None
                } else {
                    let group = self.quoted("begins(\"congestion=cubic\")")?;
                    self.expect(")", "begins")?;
                    Some(group)
                };
                return Ok((Node::Begins(group, at), Sort::Number));
            }
            _ => {}
        }
        let Some(function) = Function::ALL.into_iter().find(|known| known.name() == name) else {
            let known = Function::ALL.iter().map(|function| function.name());
            let calls = Which::CALLS.iter().map(|(name, _)| *name);
            return Err(wrong(
                at,
                format!("there is no function {name}"),
                suggestion(name, "function", known.chain(calls).chain(["at", "begins"])),
            ));
        };
        let mut arguments = Vec::new();
        loop {
            let at = self.at();
            let (argument, sort) = self.either()?;
            must(sort, Sort::Number, at)?;
            arguments.push(argument);
            if !self.sign(",") {
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
                Function::Min | Function::Max => "two values or more",
                Function::Abs => "one value",
                Function::Within => "a value, what it is near to, and how near: within(x, y, 5%)",
            };
            return Err(wrong(
                at,
                format!("{name} has {} values", arguments.len()),
                format!("{name} takes {takes}"),
            ));
        }
        let sort = match function {
            Function::Within => Sort::Truth,
            _ => Sort::Number,
        };
        Ok((Node::Call(function, arguments), sort))
    }

    fn quoted(&mut self, example: &str) -> Result<String, ExpressionError> {
        match self.peek().cloned() {
            Some(Token {
                kind: Kind::Text(text),
                ..
            }) => {
                self.next += 1;
                Ok(text)
            }
            _ => Err(wrong(
                self.at(),
                "a quoted text is expected",
                format!("write {example}"),
            )),
        }
    }
}

fn must(sort: Sort, expected: Sort, at: usize) -> Result<(), ExpressionError> {
    if sort == expected || sort == Sort::Any {
        return Ok(());
    }
    let (problem, remedy) = match expected {
        Sort::Truth => (
            "this is neither true nor false",
            "compare it with something, as in tcp.goodput > 50M",
        ),
        _ => ("this is no number", "reckon with numbers only"),
    };
    Err(wrong(at, problem, remedy))
}

#[cfg(test)]
mod tests {
    use super::super::Expression;

    #[test]
    fn what_makes_no_sense_is_refused_where_it_goes_wrong() {
        for (text, at, problem) in [
            ("", 0, "the expression ends where a value is expected"),
            (
                "tcp.goodput <",
                13,
                "the expression ends where a value is expected",
            ),
            ("tcp.goodput = 5", 12, "'=' is no sign"),
            ("1 < 2 < 3", 6, "comparisons do not chain"),
            ("5 and true", 0, "this is neither true nor false"),
            ("1 + \"a\"", 4, "this is no number"),
            ("\"a\" < 5", 4, "< compares numbers only"),
            ("\"a\" == 5", 4, "the two sides can never be equal"),
            (
                "baseline > 5",
                0,
                "baseline stands alone, and no metric is left of it",
            ),
            ("low(5) > 1", 4, "low is of a metric, and this is none"),
            ("mean(tcp.goodput)", 0, "there is no function mean"),
            ("within(1, 2)", 0, "within has 2 values"),
            ("at(A, 5)", 3, "a quoted text is expected"),
            ("5 apples", 2, "apples is out of place"),
            ("5apples", 0, "5apples is no number"),
            (
                "(1 + 2",
                6,
                "the expression ends without ) after what is in parentheses",
            ),
            ("\"open", 0, "the quoted text has no end"),
            ("tcp.tcp.goodput > 1", 0, "tcp.tcp.goodput is no metric"),
            ("links.x > 1", 0, "links.x is no metric"),
            ("tcp..x > 1", 0, "tcp..x is no name"),
        ] {
            let error = Expression::parse(text).unwrap_err();
            assert_eq!((error.at, error.problem.as_str()), (at, problem), "{text}");
        }
        assert!(Expression::condition("1 + 2").is_err());
        assert!(Expression::condition("load").is_ok());
    }
}
