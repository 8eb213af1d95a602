//! The names of files that are transferred: paths below a directory, whoever sends them.
//!
//! A name is text, a file's name bytes. A byte that is no part of a character in UTF-8 is written as a character of the private use area:
//! 0x80 to 0xff as U+F780 to U+F7FF. The bytes of these characters themselves are written so too, and nothing else is: each name of a file
//! is one text.

use std::borrow::Cow;

/// The character that stands for the byte 0.
const BYTES: u32 = 0xf700;

/// Maximum length of a name, bytes.
const MAX_NAME_BYTES: usize = 1024;
/// Maximum number of components: each directory above the file takes an inode.
const MAX_COMPONENTS: usize = 16;
/// The ends of the names of partial files and of their journals, which no component has.
const RESERVED_ENDS: [&str; 2] = [".part", ".part.journal"];
/// Maximum length of a component, bytes (`NAME_MAX` of Linux), less the suffix of a journal.
const MAX_COMPONENT_BYTES: usize = 255 - ".part.journal".len();

/// A name under which no file can be transferred.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FileNameError {
    /// It has no characters, or a component has none.
    #[error("it has an empty component")]
    Empty,
    /// It begins at the root.
    #[error("it must be relative")]
    Absolute,
    /// A component is `.` or `..`.
    #[error("it must not have the component . or ..")]
    Dots,
    /// It has a control character, such as a newline, or one that changes how others are shown.
    #[error("it must not have control characters, nor such as turn the direction of writing")]
    Control,
    /// It has characters for bytes that stand for themselves.
    #[error("its bytes are written in another way")]
    Bytes,
    /// It is that of a partial file.
    #[error("no component may end in .part or .part.journal: those are partial files")]
    Reserved,
    /// It is in too many directories.
    #[error("it must have at most 16 components")]
    Deep,
    /// It is too long.
    #[error("it must have at most 1024 bytes, and each component at most 242")]
    Long,
}

/// Checks that a name is a path below a directory: components separated by single slashes, none of which leads upwards.
///
/// # Errors
/// Names the first rule that it breaks.
pub fn check_file_name(name: &str) -> Result<(), FileNameError> {
    if name.starts_with('/') {
        return Err(FileNameError::Absolute);
    }
    if name.chars().any(|c| c.is_control() || is_format(c)) {
        return Err(FileNameError::Control);
    }
    // Otherwise there would be two names of one file, and bytes of which no character is allowed.
    if let Cow::Owned(bytes) = name_bytes(name)
        && file_name(&bytes) != name
    {
        return Err(FileNameError::Bytes);
    }
    if name.len() > MAX_NAME_BYTES {
        return Err(FileNameError::Long);
    }
    if name.split('/').count() > MAX_COMPONENTS {
        return Err(FileNameError::Deep);
    }
    name.split('/').try_for_each(|component| match component {
        "" => Err(FileNameError::Empty),
        "." | ".." => Err(FileNameError::Dots),
        _ if component.len() > MAX_COMPONENT_BYTES => Err(FileNameError::Long),
        _ if RESERVED_ENDS.iter().any(|end| component.ends_with(end)) => {
            Err(FileNameError::Reserved)
        }
        _ => Ok(()),
    })
}

/// The byte from 0x80 on that a character stands for.
fn byte_of(c: char) -> Option<u8> {
    let code = u32::from(c);
    let byte = u8::try_from(code.checked_sub(BYTES)?).ok()?;
    (byte >= 0x80).then_some(byte)
}

/// The character that stands for a byte.
fn char_of(byte: u8) -> char {
    char::from_u32(BYTES + u32::from(byte)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// A file's name of these bytes, as text.
#[must_use]
pub fn file_name(bytes: &[u8]) -> String {
    let mut name = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match byte_of(c) {
                Some(_) => name.extend(c.encode_utf8(&mut [0; 4]).bytes().map(char_of)),
                None => name.push(c),
            }
        }
        name.extend(chunk.invalid().iter().copied().map(char_of));
    }
    name
}

/// The bytes of a file's name.
#[must_use]
pub fn name_bytes(name: &str) -> Cow<'_, [u8]> {
    if !name.chars().any(|c| byte_of(c).is_some()) {
        return Cow::Borrowed(name.as_bytes());
    }
    let mut bytes = Vec::with_capacity(name.len());
    for c in name.chars() {
        match byte_of(c) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    Cow::Owned(bytes)
}

/// `true` for the characters of category Cf of Unicode that have a part in no name: those that turn the direction of writing, are not
/// shown or join others (also the ends of lines U+2028 and U+2029).
const fn is_format(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_path_below_a_directory() {
        for name in ["a", "a.iso", "dir/sub/a b", "ä/ö", "..a/b..", "-rf"] {
            assert_eq!(check_file_name(name), Ok(()), "{name}");
        }
    }

    #[test]
    fn a_name_is_any_bytes_and_each_is_one_text() {
        for bytes in [
            &b"plain"[..],
            b"caf\xe9",
            b"\xff\xfe/\x80",
            "ä\u{f7ff}ö".as_bytes(),
            b"cut \xf0\x9f",
        ] {
            let name = file_name(bytes);
            assert_eq!(*name_bytes(&name), *bytes, "{name:?}");
            assert_eq!(check_file_name(&name), Ok(()), "{name:?}");
        }
        assert_eq!(file_name(b"\xe9"), "\u{f7e9}");
        // Characters that would be refused, and ends of lines and paths, as bytes; and bytes that are a character together.
        for name in [
            "\u{f7e2}\u{f780}\u{f7ae}",
            "\u{f7c3}\u{f7a4}",
            "x\u{f7c2}\u{f785}",
        ] {
            assert_eq!(check_file_name(name), Err(FileNameError::Bytes), "{name:?}");
        }
        // Bytes below 0x80 are never written so.
        assert_eq!(
            *name_bytes("\u{f72f}\u{f70a}"),
            *"\u{f72f}\u{f70a}".as_bytes()
        );
    }

    #[test]
    fn a_name_that_leads_elsewhere_or_breaks_a_line_is_refused() {
        let long = "a".repeat(243);
        let deep = "a/".repeat(512) + "a";
        let cases = [
            ("", FileNameError::Empty),
            ("a//b", FileNameError::Empty),
            ("a/", FileNameError::Empty),
            ("/etc/passwd", FileNameError::Absolute),
            ("..", FileNameError::Dots),
            ("a/../b", FileNameError::Dots),
            ("./a", FileNameError::Dots),
            ("a\nb", FileNameError::Control),
            ("a\u{1b}[2J", FileNameError::Control),
            ("a\0", FileNameError::Control),
            ("gpj.\u{202e}exe", FileNameError::Control),
            ("a\u{200b}b", FileNameError::Control),
            ("a.part", FileNameError::Reserved),
            ("a.part.journal/b", FileNameError::Reserved),
            (
                "1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17",
                FileNameError::Deep,
            ),
            (&long, FileNameError::Long),
            (&deep, FileNameError::Long),
        ];
        for (name, error) in cases {
            assert_eq!(check_file_name(name), Err(error), "{name:?}");
        }
    }
}
