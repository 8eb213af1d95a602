//! Lists of runs and studies.

use caudal_core::text::ExternalText;
use rusqlite::{Row, params};
use serde::Serialize;

use crate::error::StoreError;
use crate::filter::Filter;
use crate::headline::Headline;
use crate::run::{headline, study_trial};
use crate::store::Store;
use crate::stored::{self, StudyTrial};

/// The entries that started at ?1 or later, of kind ?2 and, unless ?3, without trials, unless ?4, without parts of others.
const LIST: &str = "
SELECT entry.id, entry.started_ns, run.kind, run.tool, run.peer, run.title, run.command, run.outcome,
    run.study, run.study_case, run.repeat, run.position, run.baseline,
    run.goodput_bps, run.loss, run.rtt_us, run.retransmits,
    study.name, study.title, study.command,
    CASE WHEN study.id IS NOT NULL THEN (SELECT count(*) FROM run WHERE run.study = study.id) END,
    CASE WHEN study.id IS NOT NULL THEN (
        SELECT event FROM event WHERE event.study = study.id
            AND event IN ('begun', 'resumed', 'done', 'interrupted', 'failed')
        ORDER BY event.nth DESC LIMIT 1) END,
    (SELECT json_group_array(tag) FROM (SELECT tag FROM tagged WHERE tagged.id = entry.id ORDER BY tag)),
    run.up_bps, run.down_bps, run.episodes, run.result, run.outline
FROM entry LEFT JOIN run ON run.id = entry.id LEFT JOIN study ON study.id = entry.id
WHERE entry.started_ns >= ?1
    AND (run.id IS NOT NULL OR study.id IS NOT NULL)
    AND (?2 IS NULL OR coalesce(run.kind, 'study') = ?2)
    AND (?3 OR run.study IS NULL)
    AND (?4 OR run.part_of IS NULL)
ORDER BY entry.started_ns DESC, entry.nth DESC";

/// An entry of a list: a run, a trial or a study.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StoreEntry {
    /// The id.
    pub id: String,
    /// The kind of a run, or `study`.
    pub kind: String,
    /// The start, ns since 1970.
    pub started_ns: i64,
    /// The program that measured, with its version; empty for a study.
    pub tool: ExternalText,
    /// The address of the peer.
    pub peer: Option<ExternalText>,
    /// The title.
    pub title: Option<ExternalText>,
    /// The name of a study.
    pub name: Option<ExternalText>,
    /// The command that repeats it.
    pub command: ExternalText,
    /// The outcome of a run; the state of a study.
    pub outcome: String,
    /// The study that a trial belongs to.
    #[serde(rename = "of")]
    pub trial: Option<StudyTrial>,
    /// The most important results.
    pub headline: Headline,
    /// The number of trials of a study so far.
    pub trials: Option<u64>,
    /// The tags, in order.
    pub tags: Vec<ExternalText>,
}

impl Store {
    /// Lists runs and studies, the newest first.
    ///
    /// # Errors
    /// When the store cannot be read, or there is no such study as the filter names.
    pub fn list(&self, filter: &Filter) -> Result<Vec<StoreEntry>, StoreError> {
        let studies = match &filter.study {
            Some(study) => Some(self.studies(study)?),
            None => None,
        };
        let trials = filter.trials || studies.is_some() || filter.kind.as_deref() == Some("trial");
        let words: Vec<String> = filter
            .words
            .iter()
            .map(|word| word.to_lowercase())
            .collect();
        let wanted = |entry: &StoreEntry| {
            let study = entry.trial.as_ref().map(|trial| trial.study.as_str());
            let in_study = studies
                .as_ref()
                .is_none_or(|ids| study.is_some_and(|study| ids.iter().any(|id| id == study)));
            let has_tag = filter
                .tag
                .as_ref()
                .is_none_or(|tag| entry.tags.iter().any(|has| has == tag.as_str()));
            let has_peer = filter.peer.as_ref().is_none_or(|peer| {
                entry
                    .peer
                    .as_ref()
                    .is_some_and(|has| has.as_received().contains(peer))
            });
            in_study && has_tag && has_peer && has_words(entry, &words)
        };
        self.read(|connection| {
            let mut statement = connection.prepare_cached(LIST)?;
            let mut rows = statement.query(params![
                filter.since_ns.unwrap_or(i64::MIN),
                filter.kind,
                trials,
                filter.parts
            ])?;
            let mut entries = Vec::new();
            while let Some(row) = rows.next()? {
                if filter.limit.is_some_and(|limit| entries.len() >= limit) {
                    break;
                }
                let entry = entry(row)?;
                if wanted(&entry) {
                    entries.push(entry);
                }
            }
            Ok(entries)
        })
    }
}

/// The text of a column.
pub(super) fn text(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<ExternalText>> {
    Ok(row.get::<_, Option<String>>(column)?.map(Into::into))
}

fn entry(row: &Row<'_>) -> rusqlite::Result<StoreEntry> {
    let tags: String = row.get(22)?;
    let common = StoreEntry {
        id: row.get(0)?,
        kind: row
            .get::<_, Option<String>>(2)?
            .unwrap_or_else(|| "study".to_owned()),
        started_ns: row.get(1)?,
        tool: text(row, 3)?.unwrap_or_default(),
        peer: text(row, 4)?,
        title: text(row, 5)?,
        name: text(row, 17)?,
        command: text(row, 6)?.unwrap_or_default(),
        outcome: row.get::<_, Option<String>>(7)?.unwrap_or_default(),
        trial: study_trial(row)?,
        headline: headline(row)?,
        trials: row.get::<_, Option<i64>>(20)?.map(|count| count as u64),
        tags: serde_json::from_str(&tags).unwrap_or_default(),
    };
    if common.name.is_none() {
        return Ok(common);
    }
    let event: Option<String> = row.get(21)?;
    Ok(StoreEntry {
        title: text(row, 18)?,
        command: text(row, 19)?.unwrap_or_default(),
        outcome: stored::state(event.as_deref().into_iter()).to_owned(),
        ..common
    })
}

/// `true` when each of the words, in lower case, is somewhere in the text of an entry.
fn has_words(entry: &StoreEntry, words: &[String]) -> bool {
    if words.is_empty() {
        return true;
    }
    let optional = [&entry.peer, &entry.title, &entry.name];
    let own = [&entry.id, &entry.kind].map(String::as_str);
    let text = [&entry.tool, &entry.command]
        .into_iter()
        .chain(optional.into_iter().flatten())
        .chain(&entry.tags)
        .map(ExternalText::as_received)
        .chain(own)
        .map(str::to_lowercase)
        .collect::<Vec<_>>();
    words
        .iter()
        .all(|word| text.iter().any(|part| part.contains(word)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{TestDirectory, id, run, study, trial};
    use crate::kind::RunKind;
    use crate::stored::StoredRun;
    use caudal_core::plan::PlanKind;

    #[test]
    fn a_list_shows_what_the_filter_selects_newest_first() {
        let directory = TestDirectory::new("list");
        let mut store = directory.open();
        for nth in 1..=4 {
            store.record(&run(nth)).unwrap();
        }
        store
            .record(&StoredRun {
                kind: RunKind::Plan(PlanKind::Rtt),
                peer: Some("[2001:db8::1]:5201".into()),
                title: Some("Prüfung der Leitung".into()),
                ..run(5)
            })
            .unwrap();
        store.record_study(&study(6, "echo")).unwrap();
        store.record(&trial(7, 6, 0)).unwrap();
        store.tag(&id(2), "before upgrade").unwrap();
        store.tag(&id(3), "before upgrade").unwrap();
        store.tag(&id(3), "bad").unwrap();
        let shown = |filter: Filter| -> Vec<u64> {
            let entries = store.list(&filter).unwrap();
            let number = |entry: &StoreEntry| u64::from_str_radix(&entry.id[16..], 16).unwrap();
            entries.iter().map(number).collect()
        };
        let text = |text: &str| Some(text.to_owned());
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        type Narrow<'a> = &'a dyn Fn(&mut Filter);
        let cases: [(Narrow<'_>, &[u64]); 16] = [
            (&|_| (), &[6, 5, 4, 3, 2, 1]),
            (&|all| all.trials = true, &[7, 6, 5, 4, 3, 2, 1]),
            (&|all| all.limit = Some(2), &[6, 5]),
            (
                &|all| (all.kind, all.limit) = (text("tcp"), Some(3)),
                &[4, 3, 2],
            ),
            (&|all| all.kind = text("study"), &[6]),
            (&|all| all.kind = text("trial"), &[7]),
            (&|all| all.study = text("echo"), &[7]),
            (&|all| all.study = text(&id(6)[..6]), &[7]),
            (&|all| all.tag = text("before upgrade"), &[3, 2]),
            (&|all| all.tag = text("before"), &[]),
            (&|all| all.peer = text("2001:db8"), &[5]),
            (
                &|all| all.since_ns = Some(1_700_000_000_000_000_005),
                &[6, 5],
            ),
            (&|all| all.words = words(&["LEITUNG", "rtt"]), &[5]),
            (&|all| all.words = words(&["prüfung"]), &[5]),
            (&|all| all.words = words(&["upgrade", "-t 3"]), &[3]),
            (&|all| all.words = words(&["%"]), &[]),
        ];
        for (narrow, expected) in cases {
            let mut filter = Filter::default();
            narrow(&mut filter);
            assert_eq!(shown(filter.clone()), expected, "{filter:?}");
        }
        let nowhere = Filter {
            study: text("nowhere"),
            ..Filter::default()
        };
        assert!(matches!(
            store.list(&nowhere),
            Err(StoreError::Unknown { .. })
        ));
    }
}
