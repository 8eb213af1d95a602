//! The programs this one is when it is called by their names.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

/// Runs a program with its arguments.
pub type Personality = fn(Vec<String>) -> ExitCode;

/// The programs, by the name of a link to this one.
const PERSONALITIES: [(&str, Personality); 3] = [
    ("iperf", |words| crate::iperf2::main(&words)),
    ("iperf3", crate::iperf3::main),
    ("nttcp", |words| crate::nttcp::main(&words)),
];

/// The program that is called by `name`; `None` for caudal itself.
#[must_use]
pub fn called(name: &OsStr) -> Option<Personality> {
    let name = Path::new(name).file_name()?;
    PERSONALITIES
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, personality)| *personality)
}

/// The arguments of a command line as text.
#[must_use]
pub fn plain(words: impl IntoIterator<Item = OsString>) -> Vec<String> {
    words
        .into_iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_it_is_called_by_decides_wherever_it_lies() {
        assert!(called(OsStr::new("/usr/bin/iperf3")).is_some());
        for name in ["iperf", "iperf3", "nttcp"] {
            assert!(called(OsStr::new(name)).is_some(), "{name}");
        }
        assert!(called(OsStr::new("/iperf3/caudal")).is_none());
    }
}
