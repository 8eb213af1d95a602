//! The lexer: from text to numbers, quoted texts, words and symbols.

use std::fmt;

use super::error::{ExpressionError, error};
use crate::scalar::parse_number;

/// The kind of a lexeme.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum LexemeKind {
    Number(String, f64),
    Text(String),
    Word(String),
    Symbol(&'static str),
}

impl fmt::Display for LexemeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(text, _) | Self::Word(text) => f.write_str(text),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Symbol(symbol) => f.write_str(symbol),
        }
    }
}

/// A lexeme with its position.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Lexeme {
    pub(super) kind: LexemeKind,
    pub(super) at: usize,
}

/// The symbols; of two with a common start the longer one first.
const SYMBOLS: [&str; 13] = [
    "<=", ">=", "==", "!=", "<", ">", "+", "-", "*", "/", "(", ")", ",",
];

/// Splits a text into lexemes.
pub(super) fn lexemes(text: &str) -> Result<Vec<Lexeme>, ExpressionError> {
    let mut lexemes = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let at = text.len() - rest.len();
        let Some(first) = rest.chars().next() else {
            return Ok(lexemes);
        };
        let (kind, length) = if first.is_ascii_digit() || first == '.' {
            number_lexeme(rest, at)?
        } else if first == '"' || first == '\'' {
            text_lexeme(rest, first, at)?
        } else if first.is_ascii_alphabetic() || first == '_' {
            let length = word_length(rest);
            (LexemeKind::Word(rest[..length].to_owned()), length)
        } else if let Some(sign) = SYMBOLS.iter().find(|sign| rest.starts_with(**sign)) {
            (LexemeKind::Symbol(sign), sign.len())
        } else {
            let remedy = match first {
                '=' => "write == to compare",
                '&' => "write and",
                '|' => "write or",
                '!' => "write not",
                _ => {
                    "an expression consists of names, numbers, quoted texts, + - * / ( ) , and comparisons"
                }
            };
            return Err(error(at, format!("{first:?} is not an operator"), remedy));
        };
        lexemes.push(Lexeme { kind, at });
        rest = &rest[length..];
    }
}

/// A number with the unit that directly follows it.
fn number_lexeme(rest: &str, at: usize) -> Result<(LexemeKind, usize), ExpressionError> {
    let digits = |text: &str| {
        text.len()
            - text
                .trim_start_matches(|c: char| c.is_ascii_digit() || c == '.')
                .len()
    };
    let mut length = digits(rest);
    let exponent = rest[length..].strip_prefix(['e', 'E']).map(|rest| {
        let sign = usize::from(rest.starts_with(['+', '-']));
        (sign, digits(&rest[sign..]))
    });
    if let Some((sign, digits @ 1..)) = exponent {
        length += 1 + sign + digits;
    }
    let unit = |text: &str| {
        text.find(|c: char| !(c.is_ascii_alphabetic() || matches!(c, '%' | 'µ' | 'μ')))
            .unwrap_or(text.len())
    };
    length += unit(&rest[length..]);
    // The only unit with a slash.
    if rest[..length].ends_with("bit") && rest[length..].starts_with("/s") {
        length += 2;
    }
    let text = &rest[..length];
    match parse_number(text) {
        Some(value) => Ok((LexemeKind::Number(text.to_owned(), value), length)),
        None => Err(error(
            at,
            format!("{text} is not a number"),
            "write for example 250M, 5%, 20ms or 64Ki",
        )),
    }
}

fn text_lexeme(rest: &str, quote: char, at: usize) -> Result<(LexemeKind, usize), ExpressionError> {
    let mut text = String::new();
    let mut escaped = false;
    for (position, letter) in rest.char_indices().skip(1) {
        match letter {
            '\\' if !escaped => escaped = true,
            _ if letter == quote && !escaped => {
                return Ok((LexemeKind::Text(text), position + letter.len_utf8()));
            }
            _ => {
                // Only a quote and a backslash need to be escaped; before others the backslash is literal.
                if escaped && letter != quote && letter != '\\' {
                    text.push('\\');
                }
                text.push(letter);
                escaped = false;
            }
        }
    }
    Err(error(at, "the quoted text has no end", "close the quotes"))
}

/// The length of a name with its dots; after `links.` a link's name may contain dashes.
fn word_length(rest: &str) -> usize {
    let letter = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let dashes = rest.starts_with("links.");
    let inner = |(place, c): (usize, char)| {
        let next = rest[place + c.len_utf8()..].chars().next();
        let dash = dashes && c == '-' && next.is_some_and(|c| c.is_ascii_alphanumeric());
        (!(letter(c) || dash)).then_some(place)
    };
    rest.char_indices().find_map(inner).unwrap_or(rest.len())
}
