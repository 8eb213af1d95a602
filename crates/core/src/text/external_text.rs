//! Text that a peer, a file or a user of another machine chose.

use super::printable::{is_printable, push_printable};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Borrow;
use std::fmt::{self, Write};

/// Text from outside: of a peer, or of a file that others may have written.
///
/// It is shown escaped and shortened, so it can neither steer a terminal nor fill it; documents hold it as it came.
#[derive(
    Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
#[schemars(transparent, inline)]
pub struct ExternalText(String);

impl ExternalText {
    /// Maximum number of characters shown, before those that escapes add.
    pub const MAX_CHARS_SHOWN: usize = 1000;

    /// The text as it came: for documents, comparisons and answers to the peer that sent it, never for a terminal.
    #[must_use]
    pub fn as_received(&self) -> &str {
        &self.0
    }

    /// `true` when it has no characters.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text for a cell of a CSV file, behind an apostrophe where a spreadsheet would take it for a formula.
    #[must_use]
    pub fn cell(&self) -> String {
        let is_formula = self.0.trim_start().starts_with(['=', '+', '-', '@']);
        format!("{}{self}", if is_formula { "'" } else { "" })
    }

    /// Its lines, each a text from outside.
    pub fn lines(&self) -> impl Iterator<Item = Self> {
        self.0.lines().map(Self::from)
    }
}

impl fmt::Display for ExternalText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.len() <= Self::MAX_CHARS_SHOWN && self.0.chars().all(is_printable) {
            return f.pad(&self.0);
        }
        let mut text = String::new();
        let mut rest = self.0.char_indices();
        for (_, c) in rest.by_ref().take(Self::MAX_CHARS_SHOWN) {
            push_printable(&mut text, c);
        }
        if let Some((at, _)) = rest.next() {
            let left_out = self.0.len() - at;
            write!(text, "… ({left_out} more bytes)")?;
        }
        f.pad(&text)
    }
}

impl fmt::Debug for ExternalText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

impl From<String> for ExternalText {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&String> for ExternalText {
    fn from(text: &String) -> Self {
        Self(text.clone())
    }
}

impl From<&str> for ExternalText {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl Borrow<str> for ExternalText {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl PartialEq<str> for ExternalText {
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}

impl PartialEq<&str> for ExternalText {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn text_that_steers_a_terminal_is_shown_escaped() {
        let cases = [
            ("Grüße an 東京", "Grüße an 東京"),
            ("a\x1b]0;owned\x07b", "a\\u001b]0;owned\\u0007b"),
            ("one\r\ntwo\tthree", "one\\r\\ntwo\\tthree"),
            ("\u{9b}2J\u{7f}", "\\u009b2J\\u007f"),
            ("\u{202e}gpj.exe\u{2066}", "\\u202egpj.exe\\u2066"),
            (
                "a\u{2028}b\u{200f}\u{61c}\u{feff}",
                "a\\u2028b\\u200f\\u061c\\ufeff",
            ),
            ("\u{e0041}", "\\udb40\\udc41"),
        ];
        for (text, shown) in cases {
            assert_eq!(ExternalText::from(text).to_string(), shown);
        }
        assert_eq!(format!("{:>5}|", ExternalText::from("ab")), "   ab|");
    }

    #[test]
    fn a_cell_is_no_formula() {
        let cell = |text: &str| ExternalText::from(text).cell();
        assert_eq!(cell("=HYPERLINK(1)"), "'=HYPERLINK(1)");
        assert_eq!(cell("\t@SUM(1)"), "'\\t@SUM(1)");
        assert_eq!(cell("192.0.2.1:5201"), "192.0.2.1:5201");
    }

    #[test]
    fn a_long_text_is_shown_shortened_and_kept_whole() {
        let text = ExternalText::from("é".repeat(1 << 20));
        let shown = text.to_string();
        assert!(shown.ends_with("é… (2095152 more bytes)"), "{shown}");
        assert!(shown.chars().count() < ExternalText::MAX_CHARS_SHOWN + 30);
        assert_eq!(text.as_received().len(), 2 << 20);
    }

    proptest! {
        #[test]
        fn what_is_shown_is_one_printable_line_and_a_document_keeps_the_text(text in any::<String>(), repeat in 1_usize..200) {
            let text = ExternalText::from(text.repeat(repeat));
            for shown in [text.to_string(), format!("{text:?}"), format!("{text:10}")] {
                prop_assert!(shown.chars().all(is_printable), "{shown:?}");
                prop_assert!(shown.len() < 12 * ExternalText::MAX_CHARS_SHOWN + 40);
            }
            let document = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(serde_json::from_str::<ExternalText>(&document).unwrap(), text);
        }
    }
}
