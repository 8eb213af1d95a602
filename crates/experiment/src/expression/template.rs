//! Sentences with expressions in braces.

use super::error::{ExpressionError, error};
use super::expression::Expression;

/// A sentence with expressions in braces.
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    parts: Vec<TemplatePart>,
}

#[derive(Debug, Clone, PartialEq)]
enum TemplatePart {
    Text(String),
    Value(Expression),
}

impl Template {
    /// Parses a sentence in which `{expression}` stands for a value, `{{` and `}}` for braces.
    ///
    /// # Errors
    /// An unmatched brace, or an error in an expression.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(brace) = rest.find(['{', '}']) {
            literal.push_str(&rest[..brace]);
            let at = text.len() - rest.len() + brace;
            let after = &rest[brace + 1..];
            let brace_text = &rest[brace..=brace];
            if after.starts_with(brace_text) {
                literal.push_str(brace_text);
                rest = &after[1..];
            } else if brace_text == "}" {
                return Err(error(
                    at,
                    "a closing brace has no opening brace",
                    "write }} for a brace",
                ));
            } else {
                let end = closing(after)
                    .ok_or_else(|| error(at, "the brace is not closed", "write {{ for a brace"))?;
                let expression =
                    Expression::parse(&after[..end]).map_err(|inner| ExpressionError {
                        at: inner.at + at + 1,
                        ..inner
                    })?;
                if !literal.is_empty() {
                    parts.push(TemplatePart::Text(std::mem::take(&mut literal)));
                }
                parts.push(TemplatePart::Value(expression));
                rest = &after[end + 1..];
            }
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            parts.push(TemplatePart::Text(literal));
        }
        Ok(Self { parts })
    }

    /// The expressions in the sentence, in order.
    pub fn expressions(&self) -> impl Iterator<Item = &Expression> {
        self.parts.iter().filter_map(|part| match part {
            TemplatePart::Text(_) => None,
            TemplatePart::Value(expression) => Some(expression),
        })
    }

    /// The sentence with every expression replaced by what `show` returns.
    pub fn fill(&self, mut show: impl FnMut(&Expression) -> String) -> String {
        self.parts
            .iter()
            .map(|part| match part {
                TemplatePart::Text(text) => text.clone(),
                TemplatePart::Value(expression) => show(expression),
            })
            .collect()
    }
}

/// The position of the brace that closes the one open at the start, ignoring quoted texts.
fn closing(text: &str) -> Option<usize> {
    let mut quote = None;
    let mut escaped = false;
    for (position, letter) in text.char_indices() {
        match (quote, letter) {
            _ if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), letter) if letter == open => quote = None,
            (None, '"' | '\'') => quote = Some(letter),
            (None, '}') => return Some(position),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_is_filled_with_values() {
        let template =
            Template::parse("{{TCP}} gets {tcp.goodput} of {at(\"A}\", load)}.").unwrap();
        let filled = template.fill(|expression| format!("<{expression}>"));
        assert_eq!(filled, "{TCP} gets <tcp.goodput> of <at(\"A}\", load)>.");
        assert_eq!(Template::parse("a } b").unwrap_err().at, 2);
        assert_eq!(Template::parse("a { b").unwrap_err().at, 2);
        assert_eq!(Template::parse("say {tcp.goodput +}").unwrap_err().at, 18);
    }
}
