//! Sentences with formulas in them.

use super::Expression;
use super::error::{ExpressionError, wrong};

/// A sentence with expressions in braces.
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq)]
enum Part {
    Text(String),
    Value(Expression),
}

impl Template {
    /// Reads a sentence in which `{expression}` stands for a value, `{{` and `}}` for braces.
    ///
    /// # Errors
    /// A brace without its other half, or what is wrong with an expression.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(brace) = rest.find(['{', '}']) {
            plain.push_str(&rest[..brace]);
            let at = text.len() - rest.len() + brace;
            let behind = &rest[brace + 1..];
            let sign = &rest[brace..=brace];
            if behind.starts_with(sign) {
                plain.push_str(sign);
                rest = &behind[1..];
            } else if sign == "}" {
                return Err(wrong(
                    at,
                    "a brace is closed that none opens",
                    "write }} for a brace",
                ));
            } else {
                let end = closing(behind).ok_or_else(|| {
                    wrong(
                        at,
                        "the brace is not closed",
                        "write {{ for a brace that is said",
                    )
                })?;
                let expression =
                    Expression::parse(&behind[..end]).map_err(|error| ExpressionError {
                        at: error.at + at + 1,
                        ..error
                    })?;
                if !plain.is_empty() {
                    parts.push(Part::Text(std::mem::take(&mut plain)));
                }
                parts.push(Part::Value(expression));
                rest = &behind[end + 1..];
            }
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            parts.push(Part::Text(plain));
        }
        Ok(Self { parts })
    }

    /// The expressions in it, in the order written.
    pub fn expressions(&self) -> impl Iterator<Item = &Expression> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text(_) => None,
            Part::Value(expression) => Some(expression),
        })
    }

    /// The sentence with every expression as `show` writes it.
    pub fn fill(&self, mut show: impl FnMut(&Expression) -> String) -> String {
        self.parts
            .iter()
            .map(|part| match part {
                Part::Text(text) => text.clone(),
                Part::Value(expression) => show(expression),
            })
            .collect()
    }
}

/// Where the brace closes that is open at the start, quoted texts passed over.
fn closing(text: &str) -> Option<usize> {
    let mut quote = None;
    let mut escaped = false;
    for (place, letter) in text.char_indices() {
        match (quote, letter) {
            _ if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), letter) if letter == open => quote = None,
            (None, '"' | '\'') => quote = Some(letter),
            (None, '}') => return Some(place),
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
