//! The names of files that are transferred: paths below a directory, whoever sends them.

/// Maximum length of a name, bytes.
const MAX_NAME_BYTES: usize = 1024;
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
    /// It has a control character, such as a newline.
    #[error("it must not have control characters")]
    Control,
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
    if name.chars().any(char::is_control) {
        return Err(FileNameError::Control);
    }
    if name.len() > MAX_NAME_BYTES {
        return Err(FileNameError::Long);
    }
    name.split('/').try_for_each(|component| match component {
        "" => Err(FileNameError::Empty),
        "." | ".." => Err(FileNameError::Dots),
        _ if component.len() > MAX_COMPONENT_BYTES => Err(FileNameError::Long),
        _ => Ok(()),
    })
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
            (&long, FileNameError::Long),
            (&deep, FileNameError::Long),
        ];
        for (name, error) in cases {
            assert_eq!(check_file_name(name), Err(error), "{name:?}");
        }
    }
}
