//! Lists of what is kept.

use rusqlite::{Row, params};

use super::run::{headline, trial_of};
use super::{Entry, Filter, Store, StoreError, kept};

/// Everything kept that began at ?1 or later, is of kind ?2 and, unless ?3, no trial.
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
    (SELECT json_group_array(tag) FROM (SELECT tag FROM tagged WHERE tagged.id = entry.id ORDER BY tag))
FROM entry LEFT JOIN run ON run.id = entry.id LEFT JOIN study ON study.id = entry.id
WHERE entry.started_ns >= ?1
    AND (run.id IS NOT NULL OR study.id IS NOT NULL)
    AND (?2 IS NULL OR coalesce(run.kind, 'study') = ?2)
    AND (?3 OR run.study IS NULL)
ORDER BY entry.started_ns DESC, entry.nth DESC";

impl Store {
    /// Runs and studies, the newest first.
    ///
    /// # Errors
    /// When the store cannot be read, or there is no such study as the filter names.
    pub fn list(&self, filter: &Filter) -> Result<Vec<Entry>, StoreError> {
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
        let wanted = |entry: &Entry| {
            let of = entry.of.as_ref().map(|of| of.study.as_str());
            let in_study = studies
                .as_ref()
                .is_none_or(|ids| of.is_some_and(|of| ids.iter().any(|id| id == of)));
            let has_tag = filter
                .tag
                .as_ref()
                .is_none_or(|tag| entry.tags.iter().any(|has| has == tag));
            let has_peer = filter
                .peer
                .as_ref()
                .is_none_or(|peer| entry.peer.as_ref().is_some_and(|has| has.contains(peer)));
            in_study && has_tag && has_peer && has_words(entry, &words)
        };
        self.read(|connection| {
            let mut statement = connection.prepare_cached(LIST)?;
            let mut rows = statement.query(params![
                filter.since_ns.unwrap_or(i64::MIN),
                filter.kind,
                trials
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

fn entry(row: &Row<'_>) -> rusqlite::Result<Entry> {
    let tags: String = row.get(22)?;
    let common = Entry {
        id: row.get(0)?,
        kind: row
            .get::<_, Option<String>>(2)?
            .unwrap_or_else(|| "study".to_owned()),
        started_ns: row.get(1)?,
        tool: row.get::<_, Option<String>>(3)?.unwrap_or_default(),
        peer: row.get(4)?,
        title: row.get(5)?,
        name: row.get(17)?,
        command: row.get::<_, Option<String>>(6)?.unwrap_or_default(),
        outcome: row.get::<_, Option<String>>(7)?.unwrap_or_default(),
        of: trial_of(row)?,
        headline: headline(row)?,
        trials: row.get::<_, Option<i64>>(20)?.map(|count| count as u64),
        tags: serde_json::from_str(&tags).unwrap_or_default(),
    };
    if common.name.is_none() {
        return Ok(common);
    }
    let event: Option<String> = row.get(21)?;
    Ok(Entry {
        title: row.get(18)?,
        command: row.get(19)?,
        outcome: kept::state(event.as_deref().into_iter()).to_owned(),
        ..common
    })
}

/// Whether each of the words, in small letters, is somewhere in what a list tells of an entry.
fn has_words(entry: &Entry, words: &[String]) -> bool {
    if words.is_empty() {
        return true;
    }
    let optional = [&entry.peer, &entry.title, &entry.name];
    let told = [&entry.id, &entry.kind, &entry.tool, &entry.command];
    let text = told
        .into_iter()
        .chain(optional.into_iter().flatten())
        .chain(&entry.tags)
        .map(|part| part.to_lowercase())
        .collect::<Vec<_>>();
    words
        .iter()
        .all(|word| text.iter().any(|part| part.contains(word)))
}

#[cfg(test)]
mod tests {
    use super::super::KeptRun;
    use super::super::fixture::{Place, id, run, study, trial};
    use super::*;

    #[test]
    fn a_list_shows_what_is_asked_for_newest_first() {
        let place = Place::new("list");
        let mut store = place.store();
        for nth in 1..=4 {
            store.keep(&run(nth)).unwrap();
        }
        store
            .keep(&KeptRun {
                kind: "rtt".into(),
                peer: Some("[2001:db8::1]:5201".into()),
                title: Some("Prüfung der Leitung".into()),
                ..run(5)
            })
            .unwrap();
        store.begin_study(&study(6, "echo")).unwrap();
        store.keep(&trial(7, 6, 0)).unwrap();
        store.tag(&id(2), "before upgrade").unwrap();
        store.tag(&id(3), "before upgrade").unwrap();
        store.tag(&id(3), "bad").unwrap();
        let shown = |filter: Filter| -> Vec<u64> {
            let entries = store.list(&filter).unwrap();
            let number = |entry: &Entry| u64::from_str_radix(&entry.id[16..], 16).unwrap();
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
