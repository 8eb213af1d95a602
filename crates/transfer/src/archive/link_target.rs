//! Where a symbolic link of an archive may lead.

use super::entry::MAX_TARGET_BYTES;
use std::path::{Component, Path};

/// `true` when a link of this name leads to something in the directory that is sent, the first component of the name, wherever that is
/// stored: without following links that are there already.
///
/// Behind the name of something a `..` is not allowed, as that may be a link too, and its parent another directory than the one it is in.
#[must_use]
pub fn leads_within(name: &str, target: &Path) -> bool {
    let length = target.as_os_str().len();
    if length == 0 || length > MAX_TARGET_BYTES {
        return false;
    }
    // Directories between the one that is sent and the link.
    let mut depth = name.split('/').count().saturating_sub(2);
    let mut is_below = false;
    for component in target.components() {
        match component {
            Component::Normal(_) => is_below = true,
            Component::CurDir => {}
            Component::ParentDir if is_below || depth == 0 => return false,
            Component::ParentDir => depth -= 1,
            Component::RootDir | Component::Prefix(_) => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_stays_in_the_directory_that_is_sent() {
        for (name, target, is_within) in [
            ("tree/link", "file", true),
            ("tree/link", "./a/b", true),
            ("tree/link", ".", true),
            ("tree/a/b/link", "../../other/file", true),
            ("tree/a/link", "..", true),
            ("tree/link", "..", false),
            ("tree/link", "../tree/file", false),
            ("tree/a/link", "../../secret", false),
            ("tree/link", "/etc/passwd", false),
            ("tree/a/link", "self/../../x", false),
            ("tree/a/b/link", "x/..", false),
            ("link", "file", true),
            ("link", "../file", false),
            ("tree/link", "", false),
        ] {
            assert_eq!(
                leads_within(name, Path::new(target)),
                is_within,
                "{name} → {target}"
            );
        }
        let long = "a/".repeat(2048);
        assert!(!leads_within("tree/link", Path::new(&long)));
    }
}
