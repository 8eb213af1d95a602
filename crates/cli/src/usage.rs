//! Bad usage in one line, with what was probably meant.

use crate::args::Cli;
use crate::exit::Failure;
use caudal_compat::iperf3_flags;
use caudal_experiment::nearest_name;
use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::net::IpAddr;

/// Words for commands in other programs, and the commands here.
const COMMANDS: [(&[&str], &str); 5] = [
    (
        &["ping", "latency", "delay", "echo", "round-trip"],
        "caudal rtt HOST",
    ),
    (
        &[
            "client",
            "throughput",
            "bandwidth",
            "speed",
            "speedtest",
            "test",
            "run",
            "bulk",
        ],
        "caudal tcp HOST",
    ),
    (&["server", "listen", "daemon"], "caudal serve"),
    (&["version"], "caudal --version"),
    (&["history", "runs", "results"], "caudal report list"),
];

/// Bad usage in one line; `None` where the help itself is the answer, as for a command without its subcommand.
pub(crate) fn usage_failure(error: &clap::Error, line: &[String]) -> Option<Failure> {
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return None;
    }
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let meant = match error.kind() {
        ErrorKind::InvalidSubcommand => context(ContextKind::InvalidSubcommand)
            .and_then(|word| nearest_command(word, line).or_else(|| meant_command(word, line))),
        ErrorKind::UnknownArgument => context(ContextKind::InvalidArg)
            .filter(|_| is_measuring(line))
            .and_then(|written| iperf3_flags::advice(written, line)),
        _ => None,
    };
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    // Behind the first paragraph come tips, the usage, and where to find help.
    let mut paragraphs = text.split("\n\n");
    let what = paragraphs.next().unwrap_or("").split_whitespace();
    let what = what.collect::<Vec<_>>().join(" ");
    if let Some(meant) = meant {
        return Some(match error.kind() {
            ErrorKind::UnknownArgument => Failure::usage(meant, ""),
            _ => Failure::usage(what, meant),
        });
    }
    let tips = paragraphs.filter_map(|text| text.trim().strip_prefix("tip: "));
    let advice: Vec<String> = tips
        .map(|tip| tip.split_whitespace().collect::<Vec<_>>().join(" "))
        .chain(["see --help".to_owned()])
        .collect();
    Some(Failure::usage(what, advice.join("; ")))
}

/// `true` for a command line to which options of iperf3 may have been given.
fn is_measuring(line: &[String]) -> bool {
    line.first().is_some_and(|first| {
        first.starts_with('-') || matches!(first.as_str(), "tcp" | "udp" | "rtt" | "serve")
    })
}

/// The command that a word was probably meant to be, which differs from it by typing errors.
fn nearest_command(word: &str, line: &[String]) -> Option<String> {
    let mut above = Cli::command();
    let mut path = "caudal".to_owned();
    for word in line {
        let Some(below) = above.find_subcommand(word) else {
            break;
        };
        path = format!("{path} {word}");
        above = below.clone();
    }
    let names: Vec<String> = above
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .map(|command| command.get_name().to_owned())
        .collect();
    let nearest = nearest_name(word, names.iter().map(String::as_str))?;
    Some(format!("did you mean `{path} {nearest}`?"))
}

/// The command that a word means in other programs; `None` when there is no guess.
fn meant_command(word: &str, line: &[String]) -> Option<String> {
    if line.first().is_none_or(|first| first != word) {
        return None;
    }
    let lower = word.to_ascii_lowercase();
    let known = COMMANDS
        .iter()
        .find(|(words, _)| words.contains(&lower.as_str()));
    if let Some((_, command)) = known {
        return Some(format!("use `{command}`"));
    }
    let is_host = lower == "localhost"
        || word.parse::<IpAddr>().is_ok()
        || (word.contains(['.', ':']) && !word.contains('/'));
    is_host.then(|| format!("to measure the way to a host use `caudal tcp {word}`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn said(line: &str) -> String {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let error = Cli::try_parse_from(std::iter::once("caudal".to_owned()).chain(words.clone()))
            .expect_err(line);
        usage_failure(&error, &words).unwrap().to_string()
    }

    #[test]
    fn words_of_other_programs_are_answered_with_the_command() {
        for (line, expected) in [
            ("ping far", "`caudal rtt HOST`"),
            ("client far", "`caudal tcp HOST`"),
            ("server", "`caudal serve`"),
            ("192.0.2.1", "`caudal tcp 192.0.2.1`"),
            ("far.example:5201", "`caudal tcp far.example:5201`"),
            ("tpc", "`caudal tcp`"),
            ("reprot list", "`caudal report`"),
            ("report lst", "`caudal report list`"),
            ("-c far", "`caudal tcp far`"),
            ("-s", "`caudal serve`"),
            ("tcp -c far", "`caudal tcp far`"),
            ("tcp -u far", "`caudal udp HOST`"),
            ("tcp far -S 184", "--dscp EF"),
            ("udp far --set-mss 3", "-M"),
            ("serve -D", "service manager"),
            ("tcp --paralel 2", "'--parallel'"),
        ] {
            let text = said(line);
            assert!(text.contains(expected), "{line}: {text}");
            assert!(
                text.starts_with("caudal: ") && !text.contains('\n'),
                "{text}"
            );
        }
    }

    #[test]
    fn a_value_that_is_wrong_is_answered_with_those_there_are() {
        for (line, expected) in [
            ("report list --kind tpc", "find-rate"),
            ("tcp --dscp EE", "AF41"),
            ("tcp -b 100MB/s", "write 800M"),
            ("tcp -b 100M/10", "`caudal iperf3`"),
            ("tcp -p 65536", "65535"),
            ("tcp -p 0", "65535"),
            ("tcp far:99999", "65535"),
            ("tcp -l 10kb", "in bits"),
            ("tcp --as iperf", "iperf2, iperf3, nttcp"),
        ] {
            let text = said(line);
            assert!(text.contains(expected), "{line}: {text}");
            assert!(!text.contains('\n'), "{text}");
        }
    }

    #[test]
    fn what_people_write_is_understood() {
        for line in [
            "tcp far:5202 -O 1 -J",
            "tcp [::1]:5202 -b 0 --dscp EF",
            "udp far -b 10mbit -w 256Ki",
            "udp far -b 1Gbps -O 500ms",
            "tcp far -b 100Mb/s -t 0",
        ] {
            let words = line.split_whitespace();
            let read = Cli::try_parse_from(std::iter::once("caudal").chain(words));
            assert!(read.is_ok(), "{line}: {:?}", read.err());
        }
    }
}
