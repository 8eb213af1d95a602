//! One measurement that is repeated: its words, checked before anything runs.

use crate::args::{Cli, Command, HostArg};
use crate::exit::Failure;
use caudal_core::text::command_line;
use caudal_store::check_tag;
use clap::Parser;
use std::time::Duration;

/// The shortest time between two tests of one path.
const MIN_EVERY: Duration = Duration::from_secs(1);
/// The prefix of the tag that all runs of a watched path have.
const TAG: &str = "watch:";
/// Maximum length of a name.
const MAX_NAME: usize = 60;
/// The flags that this command gives itself, or that would take the result away from it.
const OWN_FLAGS: [&str; 10] = [
    "--json",
    "--json-stream",
    "--csv",
    "--output",
    "--top",
    "--store",
    "--no-store",
    "--quiet",
    "--watch",
    "--at",
];

/// A measurement that is repeated.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct WatchedPath {
    /// Its name: a label of its metrics, and part of the tag of its runs.
    pub(super) name: String,
    /// The command and its words, as `tcp far.example -t 5`.
    pub(super) words: Vec<String>,
    /// The time from one test to the next.
    pub(super) every: Duration,
    /// The longest random delay of each.
    pub(super) jitter: Duration,
}

impl WatchedPath {
    /// The measurement of these words.
    ///
    /// # Errors
    /// When it is none that can be repeated, or a word is wrong.
    pub(super) fn new(
        name: Option<&str>,
        words: Vec<String>,
        every: Duration,
        jitter: Option<Duration>,
    ) -> Result<Self, Failure> {
        let shown = command_line(words.iter().map(String::as_str));
        if every < MIN_EVERY {
            return Err(Failure::usage(
                format!("{shown:?} is to run every {every:?}"),
                "give at least 1s",
            ));
        }
        let host = tested_host(&words, &shown)?;
        let name = match name {
            Some(name) => name.to_owned(),
            None => default_name(&words, host.as_deref()),
        };
        let is_short = !name.is_empty() && name.chars().count() <= MAX_NAME;
        let is_plain = name
            .chars()
            .all(|c| c.is_alphanumeric() || ".-_:".contains(c));
        if !is_short || !is_plain || check_tag(&format!("{TAG}{name}")).is_err() {
            return Err(Failure::usage(
                format!("{name:?} cannot name a path"),
                "give a name of letters, digits and - . _ : without blanks",
            ));
        }
        Ok(Self {
            name,
            words,
            every,
            jitter: jitter.unwrap_or(every / 10),
        })
    }

    /// The tag of its runs.
    pub(super) fn tag(&self) -> String {
        format!("{TAG}{}", self.name)
    }

    /// The command that measures it.
    pub(super) fn protocol(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }
}

/// A name made of the command and the host.
fn default_name(words: &[String], host: Option<&str>) -> String {
    let host = host.unwrap_or("here");
    let named = |c: char| {
        if c.is_alphanumeric() || ".-_".contains(c) {
            c
        } else {
            '_'
        }
    };
    let host: String = host.chars().map(named).collect();
    format!("{}-{host}", words.first().map_or("", String::as_str))
}

/// The host that the words name, checked as the command line itself would; `None` for this machine.
fn tested_host(words: &[String], shown: &str) -> Result<Option<String>, Failure> {
    let advice = "give a command such as \"tcp far.example -t 5\"";
    for word in words {
        let flag = word.split('=').next().unwrap_or_default();
        let short = ["-J", "-o", "-q"]
            .iter()
            .find(|flag| word.starts_with(**flag));
        if OWN_FLAGS.contains(&flag) || (short.is_some() && !word.starts_with("--")) {
            return Err(Failure::usage(
                format!("{shown:?} has {word}, which watch decides itself"),
                "leave it out",
            ));
        }
    }
    let all = ["caudal"]
        .into_iter()
        .chain(words.iter().map(String::as_str));
    let named = |host: Option<&HostArg>| host.map(ToString::to_string);
    let parsed = Cli::try_parse_from(all).map_err(|error| {
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default();
        let first = first.trim_start_matches("error: ");
        Failure::usage(format!("{shown:?} cannot be watched: {first}"), advice)
    })?;
    match parsed.command {
        Command::Tcp(args) => Ok(named(args.target.host.as_ref())),
        Command::Udp(args) => Ok(named(args.target.host.as_ref())),
        Command::Rtt(args) => Ok(named(args.target.host.as_ref())),
        Command::Connect(args) => Ok(named(args.target.host.as_ref())),
        Command::Stamp(args) => Ok(named(args.host.as_ref())),
        Command::Quality(args) => Ok(named(args.target.host.as_ref())),
        Command::Path(args) => Ok(named(Some(&args.host))),
        _ => Err(Failure::usage(
            format!("{shown:?} cannot be watched"),
            "give tcp, udp, rtt, connect, stamp, quality or path, with its flags",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watched(line: &str) -> Result<WatchedPath, Failure> {
        let words = line.split(' ').map(str::to_owned).collect();
        WatchedPath::new(None, words, Duration::from_secs(300), None)
    }

    #[test]
    fn a_measurement_is_named_for_its_command_and_its_host() {
        let path = watched("tcp far.example -t 5 -R").unwrap();
        assert_eq!(path.name, "tcp-far.example");
        assert_eq!(path.tag(), "watch:tcp-far.example");
        assert_eq!(path.jitter, Duration::from_secs(30));
        assert_eq!(watched("rtt fd00::1").unwrap().name, "rtt-fd00__1");
        // Wherever the host stands.
        assert_eq!(watched("tcp -t 5 far").unwrap().name, "tcp-far");
        assert_eq!(watched("path --no-capacity far").unwrap().name, "path-far");
        assert_eq!(watched("tcp -t 5").unwrap().name, "tcp-here");
    }

    #[test]
    fn what_cannot_be_repeated_is_refused_before_it_begins() {
        for (line, why) in [
            ("serve", "cannot be watched"),
            ("tcp far --json", "--json, which watch decides"),
            ("tcp far --store=x", "which watch decides"),
            ("tcp far -ox", "which watch decides"),
            ("tcp far --nonsense", "unexpected argument"),
            ("lab up pair", "cannot be watched"),
            ("watch tcp", "cannot be watched"),
        ] {
            let failure = watched(line).unwrap_err();
            assert!(failure.message.contains(why), "{line}: {}", failure.message);
        }
        let words = vec!["tcp".to_owned(), "far".to_owned()];
        for name in ["", "a b", &"x".repeat(200)] {
            let named = WatchedPath::new(Some(name), words.clone(), MIN_EVERY, None);
            assert!(named.is_err(), "{name}");
        }
        assert!(WatchedPath::new(None, words, Duration::ZERO, None).is_err());
    }
}
