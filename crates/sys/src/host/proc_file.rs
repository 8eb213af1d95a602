//! The files of /proc and /sys.

use std::fs;

/// The only line of a file.
pub(super) fn line(path: &str) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim_end().to_owned())
}

/// The value on the first line `key: value`.
pub(super) fn value_of<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (found, value) = line.split_once(':')?;
        (found.trim_end() == key).then(|| value.trim())
    })
}

/// The bytes of a value in kB on the first line `key: value kB` of a file.
pub(super) fn kilobytes_of(path: &str, key: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let kibibytes = value_of(&text, key)?.strip_suffix("kB")?;
    kibibytes.trim().parse::<u64>().ok()?.checked_mul(1024)
}
