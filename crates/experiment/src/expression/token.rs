//! The words, numbers and signs a formula is written in.

use super::error::{ExpressionError, wrong};
use crate::scalar::number;

/// What a token is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    Number(String, f64),
    Text(String),
    Word(String),
    Sign(&'static str),
}

impl Kind {
    /// As it is said in a sentence.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Number(text, _) | Self::Word(text) => text.clone(),
            Self::Text(text) => format!("{text:?}"),
            Self::Sign(sign) => (*sign).to_owned(),
        }
    }
}

/// The least part of a text that means something, and its place.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) at: usize,
}

/// Signs, the longer of two that begin alike first.
const SIGNS: [&str; 13] = [
    "<=", ">=", "==", "!=", "<", ">", "+", "-", "*", "/", "(", ")", ",",
];

/// The tokens of a text.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, ExpressionError> {
    let mut tokens = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let at = text.len() - rest.len();
        let Some(first) = rest.chars().next() else {
            return Ok(tokens);
        };
        let (kind, length) = if first.is_ascii_digit() || first == '.' {
            number_token(rest, at)?
        } else if first == '"' || first == '\'' {
            text_token(rest, first, at)?
        } else if first.is_ascii_alphabetic() || first == '_' {
            let length = word_length(rest);
            (Kind::Word(rest[..length].to_owned()), length)
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            (Kind::Sign(sign), sign.len())
        } else {
            let remedy = match first {
                '=' => "write == to compare",
                '&' => "write and",
                '|' => "write or",
                '!' => "write not",
                _ => {
                    "an expression has names, numbers, quoted texts, + - * / ( ) , and comparisons"
                }
            };
            return Err(wrong(at, format!("{first:?} is no sign"), remedy));
        };
        tokens.push(Token { kind, at });
        rest = &rest[length..];
    }
}

/// A number with the unit that stands directly behind it.
fn number_token(rest: &str, at: usize) -> Result<(Kind, usize), ExpressionError> {
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
    // The one unit with a stroke in it.
    if rest[..length].ends_with("bit") && rest[length..].starts_with("/s") {
        length += 2;
    }
    let text = &rest[..length];
    match number(text) {
        Some(value) => Ok((Kind::Number(text.to_owned(), value), length)),
        None => Err(wrong(
            at,
            format!("{text} is no number"),
            "write for example 250M, 5%, 20ms or 64Ki",
        )),
    }
}

fn text_token(rest: &str, quote: char, at: usize) -> Result<(Kind, usize), ExpressionError> {
    let mut text = String::new();
    let mut escaped = false;
    for (place, letter) in rest.char_indices().skip(1) {
        match letter {
            '\\' if !escaped => escaped = true,
            _ if letter == quote && !escaped => {
                return Ok((Kind::Text(text), place + letter.len_utf8()));
            }
            _ => {
                // Only a quote and a stroke need to be escaped; before others the stroke is itself.
                if escaped && letter != quote && letter != '\\' {
                    text.push('\\');
                }
                text.push(letter);
                escaped = false;
            }
        }
    }
    Err(wrong(at, "the quoted text has no end", "close the quotes"))
}

/// A name with its dots; behind `links.` a link's name may hold dashes.
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
