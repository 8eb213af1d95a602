//! Other programs this one stands in for, when it is called by their names.

use crate::exit::{Exit, on_one_line};
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// Runs with the words behind the program's name.
pub type Personality = fn(Vec<String>) -> ExitCode;

/// The names it may be called by, through a link, and what it does then.
const PERSONALITIES: [(&str, Personality); 3] = [
    ("iperf", |words| crate::iperf2::main(&words)),
    ("iperf3", crate::iperf3::main),
    ("nttcp", |words| crate::nttcp::main(&words)),
];

/// What the program is to be when it is called by `name`; `None` for itself.
#[must_use]
pub fn called(name: &OsStr) -> Option<Personality> {
    let name = Path::new(name).file_name()?;
    PERSONALITIES
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, personality)| *personality)
}

/// Words of a command line as text.
#[must_use]
pub fn plain(words: impl IntoIterator<Item = OsString>) -> Vec<String> {
    words
        .into_iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}

/// Says in the name of `program` why it fails.
#[must_use]
pub fn fail(program: &str, why: &str) -> Exit {
    let _ = writeln!(std::io::stderr(), "{program}: {}", on_one_line(why));
    Exit::Failed
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
