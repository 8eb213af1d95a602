//! Lists of recorded runs and studies, and what a list shows of a study.

use caudal_core::date::rfc3339;
use caudal_core::text::ExternalText;
use caudal_experiment::findings::Conclusion;
use caudal_store::{StoreEntry, StoredStudy};
use caudal_views::column::{Column, optional};
use serde::Deserialize;

/// The columns of a list as comma-separated values.
pub const LIST_COLUMNS: [Column<StoreEntry>; 23] = [
    Column::new("id", "", "the id: 32 hexadecimal digits", |entry| {
        entry.id.clone()
    }),
    Column::new(
        "kind",
        "",
        "`tcp`, `udp`, `rtt`, `connect`, `quality`, `file`, `path`, `find-rate`, `trial` or `study`",
        |entry| entry.kind.clone(),
    ),
    Column::new("started", "", "the start, RFC 3339, UTC", |entry| {
        rfc3339(entry.started_ns.max(0).unsigned_abs())
    }),
    Column::new(
        "outcome",
        "",
        "`done`, `cut short` or `failed`; a study's `done`, `interrupted`, `failed` or `unfinished`",
        |entry| entry.outcome.clone(),
    ),
    Column::new(
        "tool",
        "",
        "the program that measured, with its version",
        |entry| entry.tool.cell(),
    ),
    Column::new("peer", "", "the address of the peer", |entry| {
        optional(entry.peer.as_ref().map(ExternalText::cell))
    }),
    Column::new("title", "", "the title", |entry| {
        optional(entry.title.as_ref().map(ExternalText::cell))
    }),
    Column::new("name", "", "the name of a study", |entry| {
        optional(entry.name.as_ref().map(ExternalText::cell))
    }),
    Column::new(
        "study",
        "",
        "the id of the study a trial belongs to",
        |entry| {
            entry
                .trial
                .as_ref()
                .map_or_else(String::new, |trial| trial.study.clone())
        },
    ),
    Column::new(
        "case",
        "",
        "the case of the study that the trial carried out",
        |entry| {
            entry
                .trial
                .as_ref()
                .map_or_else(String::new, |trial| trial.case.clone())
        },
    ),
    Column::new(
        "repeat",
        "",
        "the repetition of that case, from 1",
        |entry| optional(entry.trial.as_ref().map(|trial| trial.repeat)),
    ),
    Column::new(
        "position",
        "",
        "the position among the trials of the study, from 1",
        |entry| optional(entry.trial.as_ref().map(|trial| trial.position)),
    ),
    Column::new("baseline", "0 or 1", "1 for a solo baseline", |entry| {
        optional(entry.trial.as_ref().map(|trial| u8::from(trial.baseline)))
    }),
    Column::new(
        "goodput_bps",
        "bit/s",
        "payload that arrived, all directions together; of a search the rate found",
        |entry| optional(entry.headline.goodput_bps),
    ),
    Column::new(
        "loss",
        "share, 0 to 1",
        "datagrams or messages lost",
        |entry| optional(entry.headline.loss),
    ),
    Column::new(
        "rtt_us",
        "µs",
        "mean round-trip time; of several message sizes that of the smallest",
        |entry| optional(entry.headline.rtt_us),
    ),
    Column::new(
        "retransmits",
        "segments",
        "segments retransmitted",
        |entry| optional(entry.headline.retransmits),
    ),
    Column::new(
        "trials",
        "",
        "the number of trials of a study so far",
        |entry| optional(entry.trials),
    ),
    Column::new("tags", "", "the tags, separated by commas", |entry| {
        tags(&entry.tags)
    }),
    Column::new("command", "", "the command that repeats it", |entry| {
        entry.command.cell()
    }),
    Column::new("started_ns", "ns", "the start, since 1970", |entry| {
        entry.started_ns.to_string()
    }),
    Column::new(
        "episodes",
        "",
        "the times in which the test did not run its usual course; empty where there were none",
        |entry| optional(entry.headline.episodes),
    ),
    Column::new(
        "result",
        "",
        "the narrow link of a path, the grade and the added delay of a test of latency under load, connections per second: as text; empty for other kinds",
        |entry| optional(entry.headline.result.as_ref()),
    ),
];

/// A list as comma-separated values, with the names of the columns in the first row.
#[must_use]
pub fn entries_as_csv(entries: &[StoreEntry]) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let names = LIST_COLUMNS.iter().map(|column| column.name.to_owned());
    let rows = entries.iter().map(|entry| {
        let cells = LIST_COLUMNS.iter().map(|column| (column.cell)(entry));
        cells.collect::<Vec<_>>()
    });
    for row in std::iter::once(names.collect()).chain(rows) {
        writer
            .write_record(row)
            .expect("every row has a cell for each column, and memory takes it");
    }
    let bytes = writer
        .into_inner()
        .expect("memory takes all that is written");
    String::from_utf8(bytes).expect("the cells are text")
}

fn tags(tags: &[ExternalText]) -> String {
    let tags: Vec<String> = tags.iter().map(ExternalText::to_string).collect();
    ExternalText::from(tags.join(",")).cell()
}

/// The cases of a recorded campaign.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RecordedCases {
    cases: Vec<RecordedCase>,
}

#[derive(Debug, Deserialize)]
struct RecordedCase {
    key: String,
}

/// The keys of the cases of a study, in the order of its campaign; none where that cannot be read.
#[must_use]
pub fn campaign_cases(study: &StoredStudy) -> Vec<String> {
    let recorded = RecordedCases::deserialize(&study.campaign).unwrap_or_default();
    recorded.cases.into_iter().map(|case| case.key).collect()
}

/// The verdict of recorded findings.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RecordedVerdict {
    verdict: Vec<String>,
}

/// The conclusions of recorded findings.
#[derive(Debug, Default, Deserialize)]
struct RecordedConclusions {
    #[serde(default)]
    conclusions: Vec<Conclusion>,
}

/// The sentences of the verdict of a study; none without findings.
#[must_use]
pub fn verdict_sentences(study: &StoredStudy) -> Vec<String> {
    let mut events = study.events.iter().rev();
    let findings = events.find(|(_, event, _)| event == "findings");
    let recorded =
        findings.and_then(|(_, _, findings)| RecordedVerdict::deserialize(findings).ok());
    recorded.unwrap_or_default().verdict
}

/// The conclusions of a study, each that answers a question after it; none without findings.
#[must_use]
pub fn conclusion_sentences(study: &StoredStudy) -> Vec<String> {
    let mut events = study.events.iter().rev();
    let findings = events.find(|(_, event, _)| event == "findings");
    let recorded =
        findings.and_then(|(_, _, findings)| RecordedConclusions::deserialize(findings).ok());
    let conclusions = recorded.unwrap_or_default().conclusions.into_iter();
    conclusions
        .map(|one| match one.answers {
            Some(question) => format!("{question} {}", one.text),
            None => one.text,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_store::Headline;

    fn entry() -> StoreEntry {
        StoreEntry {
            id: "1a2b3c4d5e6f708192a3b4c5d6e7f809".into(),
            kind: "find-rate".into(),
            started_ns: 1_795_295_439_123_000_000,
            tool: "caudal 0.1.0".into(),
            peer: Some("[2001:db8::1]:5201".into()),
            title: None,
            name: None,
            command: "caudal udp far --find-rate 0.1%, really".into(),
            outcome: "cut short".into(),
            trial: None,
            headline: Headline::default(),
            trials: None,
            tags: vec!["golden".into(), "say \"x\"".into()],
        }
    }

    #[test]
    fn rows_have_a_cell_for_each_column_and_quote_what_must_be() {
        let shown = entries_as_csv(&[entry()]);
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
        let lines = entries_as_csv(&[plain]);
        for line in lines.lines() {
            assert_eq!(line.split(',').count(), LIST_COLUMNS.len());
        }
    }
}
