//! The failure of a test without input.

use crate::exit::Failure;
use std::path::Path;

/// The failure of a test without input.
pub(super) fn empty_input(path: &Path) -> Failure {
    let name = if path.as_os_str() == "-" {
        "standard input".to_owned()
    } else {
        path.display().to_string()
    };
    Failure::usage(
        format!("--file: {name} is empty"),
        "name a file with content",
    )
}
