//! Lists of recorded runs and studies, and what a list shows of a study.

use caudal_core::date::rfc3339;
use caudal_core::text::ExternalText;
use caudal_experiment::findings::Conclusion;
use caudal_store::{StoreEntry, StoredStudy};
use serde::Deserialize;

/// The columns of a list as comma-separated values: name, unit and content.
pub const LIST_COLUMNS: [(&str, &str, &str); 21] = [
    ("id", "", "the id: 32 hexadecimal digits"),
    (
        "kind",
        "",
        "`tcp`, `udp`, `rtt`, `quality`, `file`, `find-rate`, `trial` or `study`",
    ),
    ("started", "", "the start, RFC 3339, UTC"),
    (
        "outcome",
        "",
        "`done`, `cut short` or `failed`; a study's `done`, `interrupted`, `failed` or `unfinished`",
    ),
    ("tool", "", "the program that measured, with its version"),
    ("peer", "", "the address of the peer"),
    ("title", "", "the title"),
    ("name", "", "the name of a study"),
    ("study", "", "the id of the study a trial belongs to"),
    (
        "case",
        "",
        "the case of the study that the trial carried out",
    ),
    ("repeat", "", "the repetition of that case, from 1"),
    (
        "position",
        "",
        "the position among the trials of the study, from 1",
    ),
    ("baseline", "0 or 1", "1 for a solo baseline"),
    (
        "goodput_bps",
        "bit/s",
        "payload that arrived, all directions together; of a search the rate found",
    ),
    ("loss", "share, 0 to 1", "datagrams or messages lost"),
    (
        "rtt_us",
        "µs",
        "mean round-trip time; of several message sizes that of the smallest",
    ),
    ("retransmits", "segments", "segments retransmitted"),
    ("trials", "", "the number of trials of a study so far"),
    ("tags", "", "the tags, separated by commas"),
    ("command", "", "the command that repeats it"),
    ("started_ns", "ns", "the start, since 1970"),
];

/// A list as comma-separated values, with the names of the columns in the first row.
#[must_use]
pub fn entries_as_csv(entries: &[StoreEntry]) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let names = LIST_COLUMNS.iter().map(|(name, ..)| (*name).to_owned());
    let rows = entries.iter().map(|entry| Vec::from(row(entry)));
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

fn row(entry: &StoreEntry) -> [String; 21] {
    let trial = entry.trial.as_ref();
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    let count = |value: Option<u64>| value.map_or_else(String::new, |value| value.to_string());
    let text =
        |value: &Option<ExternalText>| value.as_ref().map_or_else(String::new, ExternalText::cell);
    let tags: Vec<String> = entry.tags.iter().map(ExternalText::to_string).collect();
    [
        entry.id.clone(),
        entry.kind.clone(),
        rfc3339(entry.started_ns.max(0).unsigned_abs()),
        entry.outcome.clone(),
        entry.tool.cell(),
        text(&entry.peer),
        text(&entry.title),
        text(&entry.name),
        trial.map_or_else(String::new, |trial| trial.study.clone()),
        trial.map_or_else(String::new, |trial| trial.case.clone()),
        count(trial.map(|trial| u64::from(trial.repeat))),
        count(trial.map(|trial| u64::from(trial.position))),
        count(trial.map(|trial| u64::from(trial.baseline))),
        number(entry.headline.goodput_bps),
        number(entry.headline.loss),
        number(entry.headline.rtt_us),
        number(entry.headline.retransmits),
        count(entry.trials),
        ExternalText::from(tags.join(",")).cell(),
        entry.command.cell(),
        entry.started_ns.to_string(),
    ]
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
