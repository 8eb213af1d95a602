//! The tokens that clients and servers share to authenticate each other, and the text that lists them.

use std::fmt;

/// Minimum length of a token, bytes: a recorded dialogue must not allow a search for it.
pub const MIN_TOKEN_BYTES: usize = 16;
/// Maximum length of a token, in bytes.
pub const MAX_TOKEN_BYTES: usize = 1024;
/// Maximum number of tokens in a list: a server tries each of them.
pub const MAX_TOKENS: usize = 1024;

/// A secret that a client and a server share. It is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct AccessToken(Vec<u8>);

impl AccessToken {
    /// The token with this text; `None` when it is too short or too long.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        (MIN_TOKEN_BYTES..=MAX_TOKEN_BYTES)
            .contains(&text.len())
            .then(|| Self(text.as_bytes().to_vec()))
    }

    /// The secret itself.
    pub(crate) fn secret(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for AccessToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AccessToken")
    }
}

/// A token with the name under which a server reports its users.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedToken {
    /// The name; `None` where the list has none.
    pub name: Option<String>,
    /// The token.
    pub token: AccessToken,
}

/// The reason why a text is no list of tokens. It contains nothing of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenListError {
    /// A line that is not a token, with or without a name.
    #[error("line {0} is neither a token nor a name and a token")]
    Line(usize),
    /// A token that is too short or too long.
    #[error(
        "the token in line {0} does not have {MIN_TOKEN_BYTES} to {MAX_TOKEN_BYTES} characters"
    )]
    Length(usize),
    /// A text without a token.
    #[error("it contains no token")]
    Empty,
    /// A text with more tokens than a server tries.
    #[error("it contains more than {MAX_TOKENS} tokens")]
    TooMany,
}

/// Reads a list of tokens: one in each line, with or without a name before it; empty lines and those that begin with `#` are
/// ignored.
///
/// # Errors
/// Names the first line that is wrong, and never quotes it.
pub fn parse_tokens(text: &str) -> Result<Vec<NamedToken>, TokenListError> {
    let mut tokens = Vec::new();
    for (nth, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line_number = nth.saturating_add(1);
        let words: Vec<&str> = line.split_whitespace().collect();
        let (name, token) = match words[..] {
            [token] => (None, token),
            [name, token] => (Some(name.to_owned()), token),
            _ => return Err(TokenListError::Line(line_number)),
        };
        let token = AccessToken::new(token).ok_or(TokenListError::Length(line_number))?;
        if tokens.len() >= MAX_TOKENS {
            return Err(TokenListError::TooMany);
        }
        tokens.push(NamedToken { name, token });
    }
    if tokens.is_empty() {
        return Err(TokenListError::Empty);
    }
    Ok(tokens)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_list_has_a_token_a_line_with_or_without_a_name() {
        let text = "# the laboratory\n\nann 0123456789abcdef\n  fedcba9876543210  \n";
        let tokens = parse_tokens(text).unwrap();
        let names: Vec<_> = tokens.iter().map(|one| one.name.as_deref()).collect();
        assert_eq!(names, [Some("ann"), None]);
        assert_eq!(
            tokens[1].token,
            AccessToken::new("fedcba9876543210").unwrap()
        );
    }

    #[test]
    fn a_wrong_list_is_named_by_its_line_and_never_quoted() {
        for (text, expected) in [
            ("", TokenListError::Empty),
            ("# nothing\n", TokenListError::Empty),
            ("0123456789abcdef\nsecret", TokenListError::Length(2)),
            ("a b 0123456789abcdef", TokenListError::Line(1)),
        ] {
            let error = parse_tokens(text).unwrap_err();
            assert_eq!(error, expected);
            assert!(!error.to_string().contains("secret"));
        }
        let many = "0123456789abcdef\n".repeat(MAX_TOKENS + 1);
        assert_eq!(parse_tokens(&many), Err(TokenListError::TooMany));
    }

    #[test]
    fn a_token_is_not_in_its_debug_text() {
        let tokens = parse_tokens("ann 0123456789abcdef").unwrap();
        assert!(!format!("{tokens:?}").contains("0123"));
    }

    proptest! {
        #[test]
        fn no_text_makes_the_list_panic(text: String) {
            let _ = parse_tokens(&text);
        }
    }
}
