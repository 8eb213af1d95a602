//! Printable text: what a terminal takes for a command, or shows in another place, is escaped.
//!
//! The escapes are those of JSON, so a JSON document stays the same document: what is escaped stands only in its strings.

use std::borrow::Cow;

/// Maximum number of characters of a line about an error or an event.
pub const MAX_LINE_CHARS: usize = 4096;

/// `true` for characters that stand for themselves: no control, format (bidirectional overrides among them), separator of lines or
/// paragraphs, private or unassigned character.
pub(super) fn is_printable(c: char) -> bool {
    // A space separator is a blank of some width.
    if matches!(c, ' '..='~' | '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}')
    {
        return true;
    }
    if c.is_ascii() {
        return false;
    }
    // The library's table of categories; behind a letter it leaves combining characters as they are.
    let mut bytes = [b'a'; 5];
    let len = c.encode_utf8(&mut bytes[1..]).len();
    std::str::from_utf8(&bytes[..=len]).is_ok_and(|text| text.escape_debug().nth(1) == Some(c))
}

/// Appends the character, escaped unless it is printable.
pub(super) fn push_printable(out: &mut String, c: char) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        c if is_printable(c) => out.push(c),
        c => {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
}

/// The text with every character escaped that is neither printable nor the end of a line nor a tab.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    let stands = |c: char| matches!(c, '\n' | '\t') || is_printable(c);
    if text.chars().all(stands) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if stands(c) {
            out.push(c);
        } else {
            push_printable(&mut out, c);
        }
    }
    out.into()
}

/// The text on one line of at most [`MAX_LINE_CHARS`] characters: ends of lines and tabs become blanks, and what is not printable is
/// escaped.
#[must_use]
pub fn on_one_line(text: &str) -> String {
    let mut out = String::new();
    for (at, c) in text.chars().enumerate() {
        if at == MAX_LINE_CHARS {
            out.push('…');
            break;
        }
        match c {
            '\n' | '\r' | '\t' => out.push(' '),
            c => push_printable(&mut out, c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_keeps_no_control_characters() {
        assert_eq!(on_one_line("a\nb\x1b[2J"), "a b\\u001b[2J");
        let long = on_one_line(&"é".repeat(1 << 20));
        assert_eq!(long.chars().count(), MAX_LINE_CHARS + 1);
    }

    #[test]
    fn text_of_every_script_stands_and_what_steers_a_terminal_does_not() {
        let plain = "Grüße, 東京, cafe\u{301}, שלום, 12\u{a0}000, \"'\\ – µs 🙂";
        assert_eq!(printable(plain), plain);
        let unsafe_characters = [
            '\0',
            '\r',
            '\x1b',
            '\x7f',
            '\u{80}',
            '\u{9b}',
            '\u{9d}',
            '\u{ad}',
            '\u{61c}',
            '\u{200b}',
            '\u{200e}',
            '\u{200f}',
            '\u{2028}',
            '\u{2029}',
            '\u{202a}',
            '\u{202e}',
            '\u{2066}',
            '\u{2069}',
            '\u{feff}',
            '\u{e000}',
            '\u{ffff}',
            '\u{e0041}',
            '\u{10fffd}',
        ];
        for c in unsafe_characters {
            let shown = printable(&c.to_string()).into_owned();
            assert!(
                shown.starts_with('\\') && shown.is_ascii(),
                "{:x}",
                c as u32
            );
        }
    }

    proptest! {
        #[test]
        fn a_json_document_stays_the_same_document(text in any::<String>(), key in any::<String>()) {
            let value = serde_json::json!({ key: text });
            for document in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
                let shown = printable(&document);
                prop_assert!(shown.chars().all(|c| c == '\n' || is_printable(c)));
                prop_assert_eq!(&serde_json::from_str::<serde_json::Value>(&shown).unwrap(), &value);
            }
        }

        #[test]
        fn printable_text_is_left_alone(text in any::<String>()) {
            let once = printable(&text).into_owned();
            prop_assert_eq!(printable(&once), once.as_str());
        }
    }
}
