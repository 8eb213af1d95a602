//! A list of recorded runs and studies as text, and as a JSON document; and what the lines on one of them have in common.

use caudal_core::date::rfc3339;
use caudal_core::text::ExternalText;
use caudal_store::{StoreEntry, short_id};
use caudal_views::text;
use caudal_views::width::LineWidth;
use serde::Serialize;
use serde_json::Value;

/// Maximum width of the column of results: a longer one pushes its description to the right.
const MAX_RESULT_WIDTH: usize = 34;
/// Flags of a command that concern its output alone.
const OUTPUT_FLAGS: [&str; 8] = [
    "-q",
    "--quiet",
    "-v",
    "--verbose",
    "--json",
    "--csv",
    "--json-stream",
    "--no-store",
];

/// The lines of a list, none wider than `width`; `more` where some are left out.
#[must_use]
pub fn entry_lines(entries: &[StoreEntry], more: bool, width: LineWidth) -> Vec<String> {
    if entries.is_empty() {
        return vec!["no matching runs".to_owned()];
    }
    let results: Vec<String> = entries.iter().map(entry_result).collect();
    let widest = results.iter().map(|result| result.chars().count()).max();
    let room = widest.unwrap_or(0).clamp("result".len(), MAX_RESULT_WIDTH);
    let mut lines = vec![format!(
        "{:<8}  {:<16}  {:<9}  {:<room$}  {}",
        "id", "started (UTC)", "kind", "result", "description"
    )];
    let rows = entries.iter().zip(&results);
    lines.extend(rows.map(|(entry, result)| line(entry, result, room)));
    if more {
        lines.push("… and more: see --limit, or add a filter (--help)".to_owned());
    }
    let max = width.columns().unwrap_or(usize::MAX);
    let fitted = lines
        .iter()
        .map(|line| text::truncated(line.trim_end(), max));
    fitted.map(Into::into).collect()
}

/// An entry in a line, with `room` columns for its result.
fn line(entry: &StoreEntry, result: &str, room: usize) -> String {
    let started = rfc3339(entry.started_ns.max(0) as u64);
    format!(
        "{}  {}  {:<9}  {result:<room$}  {}",
        short_id(&entry.id),
        started[..16].replace('T', " "),
        entry.kind,
        what(entry),
    )
}

/// The most important results, in a few words.
#[must_use]
pub fn entry_result(entry: &StoreEntry) -> String {
    let mut parts = Vec::new();
    parts.extend(entry.trials.map(|trials| text::counted(trials, "trial")));
    let headline = &entry.headline;
    parts.extend(headline.result.clone());
    let is_told = headline.result.is_some();
    match headline.up_bps.zip(headline.down_bps) {
        _ if is_told => {}
        // The sum of both is the rate of no link.
        Some((up, down)) if headline.goodput_bps.is_some() => {
            parts.push(format!("up {}, down {}", text::bits(up), text::bits(down)));
        }
        _ => parts.extend(headline.goodput_bps.map(text::bits)),
    }
    if let Some(loss) = headline.loss.filter(|loss| *loss > 0.0) {
        parts.push(format!("{} lost", text::percent(loss)));
    }
    if headline.goodput_bps.is_none() && !is_told {
        parts.extend(headline.rtt_us.map(text::time_us));
    }
    if let Some(episodes) = headline.episodes {
        parts.push(text::counted(episodes, "episode"));
    }
    if entry.outcome != "done" || parts.is_empty() {
        parts.push(entry.outcome.clone());
    }
    parts.join(", ")
}

/// The case, tags and title, or what was asked, by which runs with one host are told apart.
fn what(entry: &StoreEntry) -> String {
    let mut parts = Vec::new();
    parts.extend(entry.name.as_ref().map(ToString::to_string));
    parts.extend(entry.trial.as_ref().map(|of| of.case.clone()));
    parts.extend(entry.tags.iter().map(|tag| format!("#{tag}")));
    let peer = || entry.peer.as_ref().map(ToString::to_string);
    match &entry.title {
        Some(title) => parts.push(title.to_string()),
        None => parts.extend(asked(&entry.command).or_else(peer)),
    }
    parts.join(" ")
}

/// The words of a command of this program behind its name and kind, without those that concern the output, or the command of another
/// program; `None` where there are none.
fn asked(command: &ExternalText) -> Option<String> {
    let command = command.to_string();
    let Some(own) = command.strip_prefix("caudal ") else {
        return (!command.is_empty()).then_some(command);
    };
    let (_, words) = own.split_once(' ')?;
    let words: Vec<&str> = words
        .split(' ')
        .filter(|word| !OUTPUT_FLAGS.contains(word))
        .collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// An entry in documents, with its start as a date too.
#[derive(Debug, Serialize)]
pub(super) struct EntryRecord<'a> {
    #[serde(flatten)]
    entry: &'a StoreEntry,
    started: String,
}

impl<'a> From<&'a StoreEntry> for EntryRecord<'a> {
    fn from(entry: &'a StoreEntry) -> Self {
        Self {
            entry,
            started: rfc3339(entry.started_ns.max(0).unsigned_abs()),
        }
    }
}

/// The document of a list, `caudal.list/1`.
#[derive(Debug, Serialize)]
struct ListRecord<'a> {
    schema: &'static str,
    entries: Vec<EntryRecord<'a>>,
}

/// The document of a list.
#[must_use]
pub fn list_document(entries: &[StoreEntry]) -> Value {
    document(&ListRecord {
        schema: "caudal.list/1",
        entries: entries.iter().map(EntryRecord::from).collect(),
    })
}

/// A document with its keys in alphabetical order.
pub(super) fn document(record: &impl Serialize) -> Value {
    serde_json::to_value(record).expect("the document has only names for keys")
}

fn joined(tags: &[ExternalText]) -> String {
    let tags: Vec<String> = tags.iter().map(ToString::to_string).collect();
    tags.join(", ")
}

/// A time in UTC, for people.
pub(super) fn utc(ns: i64) -> String {
    let text = rfc3339(ns.max(0).unsigned_abs());
    format!("{} UTC", text[..19].replace('T', " "))
}

/// The tags as the end of a line.
pub(super) fn tag_list(tags: &[ExternalText]) -> String {
    if tags.is_empty() {
        String::new()
    } else {
        format!("; tags: {}", joined(tags))
    }
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
                ..Headline::default()
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
        for columns in [60, 80, 120] {
            let width = LineWidth::of_columns(columns);
            let entries = [entry(), study.clone(), trial.clone()];
            for line in entry_lines(&entries, true, width) {
                assert!(line.chars().count() <= columns, "{line}");
                assert!(!line.ends_with(' '), "{line:?}");
            }
        }
        let both = StoreEntry {
            headline: Headline {
                up_bps: Some(23.4e6),
                down_bps: Some(100e6),
                loss: None,
                ..entry().headline
            },
            outcome: "done".into(),
            ..entry()
        };
        assert_eq!(entry_result(&both), "up 23.40 Mbit/s, down 100 Mbit/s");
        let shown = &entry_lines(&[entry()], false, LineWidth::UNLIMITED)[1];
        assert_eq!(
            shown,
            "1a2b3c4d  2026-11-21 21:10  find-rate  123.4 Mbit/s, 1.230 % lost, cut short  \
             #golden #say \"x\" far --find-rate 0.1%, really"
        );
    }

    #[test]
    fn what_was_asked_tells_runs_with_one_host_apart() {
        let shown = |command: &str| {
            what(&StoreEntry {
                command: command.into(),
                tags: Vec::new(),
                peer: Some("10.0.0.2:5201".into()),
                ..entry()
            })
        };
        assert_eq!(shown("caudal tcp far -R -w 64k -q --json"), "far -R -w 64k");
        // A command without a host, of this machine.
        for command in ["caudal tcp", "caudal tcp --json", ""] {
            assert_eq!(shown(command), "10.0.0.2:5201", "{command}");
        }
        assert_eq!(shown("iperf3 -c far -R"), "iperf3 -c far -R");
    }
}
