//! The names of files that are transferred: paths below a directory, whoever sends them.

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
