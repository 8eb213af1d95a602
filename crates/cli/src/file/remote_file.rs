//! Files at the other end, by their names.

use crate::exit::Failure;
use caudal_core::plan::check_file_name;
use caudal_measure::FileContent;

/// The file with this name, which the server serves.
///
/// # Errors
/// When no served file can have it.
pub(super) fn remote_file(name: &str) -> Result<FileContent, Failure> {
    Ok(FileContent::Remote {
        name: checked_name("--get", name)?,
    })
}

/// The name that a flag gives, when it can be that of a file at the other end.
///
/// # Errors
/// Why it can be none.
pub(super) fn checked_name(flag: &str, name: &str) -> Result<String, Failure> {
    match check_file_name(name) {
        Ok(()) => Ok(name.to_owned()),
        Err(cause) => Err(Failure::usage(
            format!("{flag}: the name {name:?} is not allowed: {cause}"),
            "give a name below the server's directory, such as sub/file",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_to_no_other_place_and_breaks_no_line() {
        assert_eq!(checked_name("--get", "a/b.txt").unwrap(), "a/b.txt");
        for name in ["", "/etc/passwd", "../a", "a\nb", "a//b"] {
            let failure = checked_name("--get", name).unwrap_err();
            assert_eq!(failure.exit, crate::exit::Exit::Usage, "{name}");
            assert!(!failure.to_string().contains('\n'), "{name}");
        }
    }
}
