//! `caudal report list`: a line for each run and study.

use super::answer::AnswerArgs;
use super::unknown_name::tags_there_are;
use crate::exit::Failure;
use crate::output::line_width;
use caudal_core::date::parse_utc;
use caudal_core::units::parse_duration;
use caudal_report::entries_as_csv;
use caudal_report::stored_text::{entry_lines, list_document};
use caudal_store::{Filter, RunKind, Store};
use clap::builder::PossibleValuesParser;

/// The default number of lines of a list as text.
const LINES: usize = 50;

/// `caudal report list`
#[derive(Debug, Clone, clap::Args)]
pub struct ListArgs {
    /// Show what has all of these words in its id, kind, tool, peer, title, command or tags
    #[arg(value_name = "WORD")]
    pub words: Vec<String>,
    /// Show this kind only: tcp, udp, rtt, connect, quality, file, path, check, find-rate, trial or study
    #[arg(long, value_name = "KIND", value_parser = PossibleValuesParser::new(kinds()), hide_possible_values = true, help_heading = "Filter")]
    pub kind: Option<String>,
    /// Show the trials of this study: its id, or the name of its experiment
    #[arg(long, value_name = "ID|NAME", help_heading = "Filter")]
    pub study: Option<String>,
    /// Show what has this tag
    #[arg(long, value_name = "TAG", help_heading = "Filter")]
    pub tag: Option<String>,
    /// Show what was measured with this host: a part of its address
    #[arg(long, value_name = "TEXT", help_heading = "Filter")]
    pub peer: Option<String>,
    /// Show what began since then: a date as 2026-11-22 or 2026-11-22T15:04 (UTC), or how long ago, as 90m or 7d
    #[arg(long, value_name = "WHEN", value_parser = since, help_heading = "Filter")]
    pub since: Option<Since>,
    /// Show trials of studies as well
    #[arg(long, help_heading = "Filter")]
    pub trials: bool,
    /// Show the parts of runs as well: each of several transfers, or of the tests of a check
    #[arg(long, help_heading = "Filter")]
    pub parts: bool,
    /// Show the newest N only, 0 for all [default: 50 as text, all as JSON or CSV]
    #[arg(short = 'n', long, value_name = "N", help_heading = "Filter")]
    pub limit: Option<usize>,
    /// Print comma-separated values
    #[arg(long, conflicts_with = "json", help_heading = "Output")]
    pub csv: bool,
    /// The form of the answer.
    #[command(flatten)]
    pub answer: AnswerArgs,
}

/// The start of a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// A date, ns since 1970.
    Date(i64),
    /// A time ago, ns.
    Ago(i64),
}

impl Since {
    /// The time, ns since 1970.
    pub(super) fn to_ns(self) -> i64 {
        let now = i64::try_from(caudal_sys::clock::realtime_ns()).unwrap_or(i64::MAX);
        match self {
            Self::Date(ns) => ns,
            Self::Ago(ns) => now.saturating_sub(ns),
        }
    }
}

/// Shows it.
pub(super) fn list(store: &Store, args: &ListArgs) -> Result<(), Failure> {
    let as_text = !args.csv && !args.answer.json;
    let limit = match args.limit {
        Some(0) => None,
        Some(limit) => Some(limit),
        None => as_text.then_some(LINES),
    };
    let filter = Filter {
        kind: args.kind.clone(),
        study: args.study.clone(),
        tag: args.tag.clone(),
        peer: args.peer.clone(),
        since_ns: args.since.map(Since::to_ns),
        words: args.words.clone(),
        // One more than is shown, to see whether there are more.
        limit: limit.map(|limit| limit.saturating_add(1)),
        trials: args.trials,
        parts: args.parts,
    };
    let mut entries = store.list(&filter)?;
    let more = limit.is_some_and(|limit| entries.len() > limit);
    entries.truncate(limit.unwrap_or(usize::MAX));
    if args.answer.json {
        let data = serde_json::to_string_pretty(&list_document(&entries)).unwrap_or_default();
        return args.answer.print(&[], Some(&data));
    }
    if args.csv {
        return args
            .answer
            .print(&[], Some(entries_as_csv(&entries).trim_end()));
    }
    let mut lines = entry_lines(&entries, more, line_width());
    if let (true, Some(tag)) = (entries.is_empty(), &args.tag) {
        lines.push(format!("of the tag {tag:?}: {}", tags_there_are(store)));
    }
    args.answer.print(&lines, None)
}

/// The kinds of runs, and studies.
fn kinds() -> impl Iterator<Item = &'static str> {
    RunKind::all().map(RunKind::name).chain(["study"])
}

/// Parses a date, or a time ago.
pub(super) fn since(text: &str) -> Result<Since, String> {
    let ago = match text.strip_suffix('d') {
        Some(days) => days.parse().ok().map(|days: f64| days * 86_400e9),
        None => parse_duration(text)
            .ok()
            .map(|time| time.as_secs_f64() * 1e9),
    };
    if let Some(ns) = ago.filter(|ns| *ns >= 0.0 && *ns < i64::MAX as f64) {
        return Ok(Since::Ago(ns as i64));
    }
    parse_utc(text).map(Since::Date).ok_or_else(|| {
        format!(
            "{text:?} is neither a date such as 2026-11-22 or 2026-11-22T15:04 nor a time ago such as 90m or 7d"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::date::rfc3339;

    #[test]
    fn dates_are_read_as_they_are_written() {
        for (text, expected) in [
            ("1970-01-01", "1970-01-01T00:00:00.000Z"),
            ("2000-02-29", "2000-02-29T00:00:00.000Z"),
            ("2026-11-21T21:10", "2026-11-21T21:10:00.000Z"),
            ("2026-11-21 21:10:39", "2026-11-21T21:10:39.000Z"),
            ("2100-12-31T23:59:59Z", "2100-12-31T23:59:59.000Z"),
        ] {
            let Ok(Since::Date(ns)) = since(text) else {
                panic!("{text}");
            };
            assert_eq!(rfc3339(ns as u64), expected, "{text}");
        }
        assert_eq!(since("7d"), Ok(Since::Ago(604_800_000_000_000)));
        assert_eq!(since("90m"), Ok(Since::Ago(5_400_000_000_000)));
        for bad in [
            "",
            "yesterday",
            "2026-13-01",
            "2026-02-29",
            "2026-1-1",
            "1969-12-31",
            "2026-11-21T24:00",
            "-3d",
            "2026-11-21T1:2:3:4",
        ] {
            assert!(since(bad).is_err(), "{bad}");
        }
    }
}
