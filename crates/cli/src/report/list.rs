//! `caudal report list`: a line for each run and study.

use super::AnswerArgs;
use crate::exit::Failure;
use crate::output::text::{self, WIDTH};
use crate::recording::short;
use caudal_core::date::rfc3339;
use caudal_core::units::parse_duration;
use caudal_store::{Filter, Store, StoreEntry};
use serde_json::{Value, json};

/// Lines of a text list unless told otherwise.
const LINES: usize = 50;
/// The columns of the list as comma-separated values, each with its unit and what it holds.
pub const COLUMNS: [(&str, &str, &str); 21] = [
    ("id", "", "names it: 32 hexadecimal digits"),
    (
        "kind",
        "",
        "`tcp`, `udp`, `rtt`, `find-rate`, `trial` or `study`",
    ),
    ("started", "", "when it began, RFC 3339, UTC"),
    (
        "outcome",
        "",
        "`done`, `cut short` or `failed`; a study's `done`, `interrupted`, `failed` or `unfinished`",
    ),
    ("tool", "", "the program that measured, with its version"),
    ("peer", "", "the far side"),
    ("title", "", "what people call it"),
    ("name", "", "a study's name"),
    ("study", "", "the id of the study a trial belongs to"),
    (
        "case",
        "",
        "the case of the study that the trial carried out",
    ),
    ("repeat", "", "which time of that case, from 1"),
    ("position", "", "which of the study's trials, from 1"),
    (
        "baseline",
        "0 or 1",
        "1 for a flow by itself, which others are held against",
    ),
    (
        "goodput_bps",
        "bit/s",
        "payload that arrived, all directions together; the rate a search found",
    ),
    ("loss", "share, 0 to 1", "datagrams or messages lost"),
    (
        "rtt_us",
        "µs",
        "mean round-trip time; of the smallest size, where there are several",
    ),
    ("retransmits", "segments", "segments sent again"),
    ("trials", "", "how many trials a study has so far"),
    ("tags", "", "its tags, separated by commas"),
    ("command", "", "what repeats it"),
    ("started_ns", "ns", "when it began, since 1970"),
];

/// `caudal report list`
#[derive(Debug, Clone, clap::Args)]
pub struct ListArgs {
    /// Show what has all of these words in its id, kind, tool, peer, title, command or tags
    #[arg(value_name = "WORD")]
    pub words: Vec<String>,
    /// Show this kind only: tcp, udp, rtt, find-rate, trial or study
    #[arg(long, value_name = "KIND", help_heading = "Filter")]
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
    /// Show the newest N only, 0 for all [default: 50 as text, all as JSON or CSV]
    #[arg(short = 'n', long, value_name = "N", help_heading = "Filter")]
    pub limit: Option<usize>,
    /// Print comma-separated values
    #[arg(long, conflicts_with = "json", help_heading = "Output")]
    pub csv: bool,
    /// How it is shown.
    #[command(flatten)]
    pub answer: AnswerArgs,
}

/// A moment that is told either way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// So many ns since 1970.
    Moment(i64),
    /// So many ns ago.
    Ago(i64),
}

/// Shows it.
pub(super) fn list(store: &Store, args: &ListArgs) -> Result<(), Failure> {
    let as_text = !args.csv && !args.answer.json;
    let limit = match args.limit {
        Some(0) => None,
        Some(limit) => Some(limit),
        None => as_text.then_some(LINES),
    };
    let now = i64::try_from(caudal_sys::clock::realtime_ns()).unwrap_or(i64::MAX);
    let filter = Filter {
        kind: args.kind.clone(),
        study: args.study.clone(),
        tag: args.tag.clone(),
        peer: args.peer.clone(),
        since_ns: args.since.map(|since| match since {
            Since::Moment(ns) => ns,
            Since::Ago(ns) => now.saturating_sub(ns),
        }),
        words: args.words.clone(),
        // One more than is shown tells whether there are more.
        limit: limit.map(|limit| limit.saturating_add(1)),
        trials: args.trials,
    };
    let mut entries = store.list(&filter)?;
    let more = limit.is_some_and(|limit| entries.len() > limit);
    entries.truncate(limit.unwrap_or(usize::MAX));
    if args.answer.json {
        let data = json!({
            "schema": "caudal.list/1",
            "entries": entries.iter().map(to_json).collect::<Vec<_>>(),
        });
        let data = serde_json::to_string_pretty(&data).unwrap_or_default();
        return args.answer.deliver(&[], Some(&data));
    }
    if args.csv {
        let names: Vec<&str> = COLUMNS.iter().map(|(name, ..)| *name).collect();
        let mut rows = vec![names.join(",")];
        rows.extend(entries.iter().map(row));
        return args.answer.deliver(&[], Some(&rows.join("\n")));
    }
    args.answer.deliver(&lines(&entries, more), None)
}

fn lines(entries: &[StoreEntry], more: bool) -> Vec<String> {
    if entries.is_empty() {
        return vec!["nothing that was kept is like that".to_owned()];
    }
    let mut lines = vec![format!(
        "{:<8}  {:<16}  {:<9}  {:<22}  {}",
        "id", "began (UTC)", "kind", "result", "what"
    )];
    lines.extend(entries.iter().map(line));
    if more {
        lines.push("… and more: see --limit, or narrow it down (--help)".to_owned());
    }
    lines
}

/// An entry in a line that fits the terminal.
fn line(entry: &StoreEntry) -> String {
    let started = rfc3339(entry.started_ns.max(0) as u64);
    let line = format!(
        "{}  {}  {:<9}  {:<22}  {}",
        short(&entry.id),
        started[..16].replace('T', " "),
        entry.kind,
        result(entry),
        what(entry),
    );
    cut(line.trim_end(), WIDTH)
}

/// Text cut to a width, with a sign where it was.
fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width - 1).collect();
    format!("{}…", kept.trim_end())
}

/// What came of it, in a few words.
pub(super) fn result(entry: &StoreEntry) -> String {
    let mut parts = Vec::new();
    if let Some(trials) = entry.trials {
        parts.push(format!(
            "{trials} trial{}",
            if trials == 1 { "" } else { "s" }
        ));
    }
    let headline = &entry.headline;
    parts.extend(headline.goodput_bps.map(text::bits));
    if let Some(loss) = headline.loss.filter(|loss| *loss > 0.0) {
        parts.push(format!("{} lost", text::percent(loss)));
    }
    if headline.goodput_bps.is_none() {
        parts.extend(headline.rtt_us.map(text::time_us));
    }
    if entry.outcome != "done" || parts.is_empty() {
        parts.push(entry.outcome.clone());
    }
    parts.join(", ")
}

/// What people know it by.
fn what(entry: &StoreEntry) -> String {
    let mut parts = Vec::new();
    parts.extend(entry.name.clone());
    parts.extend(entry.trial.as_ref().map(|of| of.case.clone()));
    parts.extend(entry.tags.iter().map(|tag| format!("#{tag}")));
    match (&entry.title, &entry.peer) {
        (Some(title), _) => parts.push(title.clone()),
        (None, Some(peer)) => parts.push(peer.clone()),
        (None, None) => {}
    }
    parts.join(" ")
}

/// An entry as JSON, with its date in words too.
pub(super) fn to_json(entry: &StoreEntry) -> Value {
    let mut value = json!(entry);
    if let Value::Object(map) = &mut value {
        let started = rfc3339(entry.started_ns.max(0) as u64);
        map.insert("started".to_owned(), json!(started));
    }
    value
}

fn row(entry: &StoreEntry) -> String {
    let of = entry.trial.as_ref();
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    let count = |value: Option<u64>| value.map_or_else(String::new, |value| value.to_string());
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let cells = [
        entry.id.clone(),
        entry.kind.clone(),
        rfc3339(entry.started_ns.max(0) as u64),
        entry.outcome.clone(),
        entry.tool.clone(),
        text(&entry.peer),
        text(&entry.title),
        text(&entry.name),
        of.map_or_else(String::new, |of| of.study.clone()),
        of.map_or_else(String::new, |of| of.case.clone()),
        count(of.map(|of| u64::from(of.repeat))),
        count(of.map(|of| u64::from(of.position))),
        count(of.map(|of| u64::from(of.baseline))),
        number(entry.headline.goodput_bps),
        number(entry.headline.loss),
        number(entry.headline.rtt_us),
        number(entry.headline.retransmits),
        count(entry.trials),
        entry.tags.join(","),
        entry.command.clone(),
        entry.started_ns.to_string(),
    ];
    cells.map(|cell| quoted(&cell)).join(",")
}

/// A cell as RFC 4180 writes it.
fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

/// Reads a date, or how long ago.
fn since(text: &str) -> Result<Since, String> {
    let ago = match text.strip_suffix('d') {
        Some(days) => days.parse().ok().map(|days: f64| days * 86_400e9),
        None => parse_duration(text)
            .ok()
            .map(|time| time.as_secs_f64() * 1e9),
    };
    if let Some(ns) = ago.filter(|ns| *ns >= 0.0 && *ns < i64::MAX as f64) {
        return Ok(Since::Ago(ns as i64));
    }
    moment(text).map(Since::Moment).ok_or_else(|| {
        format!(
            "{text:?} is no date such as 2026-11-22 or 2026-11-22T15:04, and no time ago such as 90m or 7d"
        )
    })
}

/// A date, with a time of day or without, in UTC, as ns since 1970.
fn moment(text: &str) -> Option<i64> {
    let text = text.trim_end_matches('Z');
    let (date, time) = text.split_once(['T', ' ']).unwrap_or((text, "00:00"));
    let number = |text: &str, digits: usize| -> Option<i64> {
        let plain = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
        plain.then(|| text.parse().ok()).flatten()
    };
    let mut date = date.split('-');
    let (year, month, day) = (
        number(date.next()?, 4)?,
        number(date.next()?, 2)?,
        number(date.next()?, 2)?,
    );
    let mut time = time.split(':');
    let (hour, minute) = (number(time.next()?, 2)?, number(time.next()?, 2)?);
    let second = match time.next() {
        Some(second) => number(second, 2)?,
        None => 0,
    };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let months = [
        31,
        28 + i64::from(leap),
        31,
        30,
        31,
        30,
        31,
        31,
        30,
        31,
        30,
        31,
    ];
    let in_month = *months.get(usize::try_from(month - 1).ok()?)?;
    let is_sound = year >= 1970
        && (1..=in_month).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60
        && date.next().is_none()
        && time.next().is_none();
    if !is_sound {
        return None;
    }
    let years = year - 1970;
    // Leap days of the years before this one.
    let before = |year: i64| (year - 1) / 4 - (year - 1) / 100 + (year - 1) / 400;
    let days = years * 365 + before(year) - before(1970)
        + months.iter().take(month as usize - 1).sum::<i64>()
        + day
        - 1;
    (((days * 24 + hour) * 60 + minute) * 60 + second).checked_mul(1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_store::{Headline, StudyTrial};

    fn entry() -> StoreEntry {
        StoreEntry {
            id: "1a2b3c4d5e6f708192a3b4c5d6e7f809".into(),
            kind: "find-rate".into(),
            started_ns: 1_795_295_439_123_000_000,
            tool: "caudal 0.1.0".into(),
            peer: Some("[2001:db8:1234:5678:9abc:def0:1234:5678]:5201".into()),
            title: None,
            name: None,
            command: "caudal udp far --find-rate 0.1%, really".into(),
            outcome: "cut short".into(),
            trial: None,
            headline: Headline {
                goodput_bps: Some(123.4e6),
                loss: Some(0.0123),
                rtt_us: Some(1.0),
                retransmits: None,
            },
            trials: None,
            tags: vec!["golden".into(), "say \"x\"".into()],
        }
    }

    #[test]
    fn every_line_fits_the_terminal() {
        let study = StoreEntry {
            kind: "study".into(),
            name: Some("starvation".into()),
            title: Some("Who starves when TCP meets UDP on one link of 250 Mbit/s".into()),
            trials: Some(120),
            peer: None,
            outcome: "interrupted".into(),
            headline: Headline::default(),
            ..entry()
        };
        let trial = StoreEntry {
            kind: "trial".into(),
            trial: Some(StudyTrial {
                study: "1".repeat(32),
                case: "congestion=cubic udp=400 %".into(),
                repeat: 1,
                position: 1,
                baseline: false,
            }),
            outcome: "done".into(),
            ..entry()
        };
        for line in lines(&[entry(), study, trial], true) {
            assert!(line.chars().count() <= WIDTH, "{line}");
            assert!(!line.ends_with(' '), "{line:?}");
        }
        let shown = line(&entry());
        assert!(
            shown.starts_with("1a2b3c4d  2026-11-21 21:10  find-rate  123.4 Mbit/s, 1.23 % lost"),
            "{shown}"
        );
    }

    #[test]
    fn rows_have_a_cell_for_each_column_and_quote_what_must_be() {
        let shown = row(&entry());
        assert!(shown.contains("\"golden,say \"\"x\"\"\""), "{shown}");
        assert!(
            shown.contains("\"caudal udp far --find-rate 0.1%, really\""),
            "{shown}"
        );
        let plain = StoreEntry {
            tags: Vec::new(),
            command: "caudal udp".into(),
            ..entry()
        };
        assert_eq!(row(&plain).split(',').count(), COLUMNS.len());
    }

    #[test]
    fn dates_are_read_as_they_are_written() {
        for (text, expected) in [
            ("1970-01-01", "1970-01-01T00:00:00.000Z"),
            ("2000-02-29", "2000-02-29T00:00:00.000Z"),
            ("2026-11-21T21:10", "2026-11-21T21:10:00.000Z"),
            ("2026-11-21 21:10:39", "2026-11-21T21:10:39.000Z"),
            ("2100-12-31T23:59:59Z", "2100-12-31T23:59:59.000Z"),
        ] {
            let Ok(Since::Moment(ns)) = since(text) else {
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
