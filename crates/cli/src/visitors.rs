//! The tests of visitors' browsers, kept in the store of the user who runs the server.

use caudal_core::run::{Run, RunOutcome};
use caudal_report::export::{ExportFormat, StoredSubject};
use caudal_store::{Filter, Recording, Store, StoreError, StoredRun};
use caudal_web::VisitorArchive;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The tag of visitors' tests, by which they are told from everything else in the store.
const TAG: &str = "visitor";
/// The number of tests after which the oldest are removed again.
const CLEAN_EVERY: u64 = 20;

/// The store as what keeps the tests of visitors.
#[derive(Debug)]
pub struct VisitorStore {
    recording: Recording,
    /// Maximum number that is kept.
    keep: usize,
    recorded: AtomicU64,
}

impl VisitorStore {
    /// Keeps the newest `keep` tests in what `recording` names; `None` where nothing is recorded.
    #[must_use]
    pub fn new(recording: Recording, keep: usize) -> Option<Self> {
        (recording.is_enabled() && keep > 0).then_some(Self {
            recording,
            keep,
            recorded: AtomicU64::new(0),
        })
    }

    /// Removes the oldest beyond what is kept.
    fn clean(&self) -> Result<(), StoreError> {
        let Recording::File(path) = &self.recording else {
            return Ok(());
        };
        let mut store = Store::open(path)?;
        let all = store.list(&Filter {
            tag: Some(TAG.to_owned()),
            ..Filter::default()
        })?;
        // The newest are first.
        let surplus: Vec<String> = all.into_iter().skip(self.keep).map(|one| one.id).collect();
        if !surplus.is_empty() {
            store.remove(&surplus)?;
        }
        Ok(())
    }

    /// The page of a visitor's test; `None` of anything else in the store.
    fn stored(&self, id: &str) -> Option<String> {
        let Recording::File(path) = &self.recording else {
            return None;
        };
        let store = Store::open_to_read(path).ok()?;
        let tags = store.tags(id).ok()?;
        tags.iter().find(|tag| tag.as_received() == TAG)?;
        let subject = StoredSubject::load(&store, id).ok()?;
        let html = subject
            .as_subject()
            .text(&|_| Vec::new(), ExportFormat::Html);
        Some(html)
    }
}

impl VisitorArchive for VisitorStore {
    fn record(&self, run: &Run, started_ns: u64) -> bool {
        let is_cut_short = run
            .quality()
            .is_some_and(|report| report.cut_short.is_some());
        let outcome = match is_cut_short {
            true => RunOutcome::CutShort,
            false => RunOutcome::Done,
        };
        let started_ns = i64::try_from(started_ns).unwrap_or(i64::MAX);
        let stored = StoredRun::new(run.clone(), started_ns, outcome);
        match self.recording.record(&stored, &[TAG.to_owned()]) {
            Ok(is_recorded) => {
                if (self.recorded.fetch_add(1, Relaxed) + 1).is_multiple_of(CLEAN_EVERY) {
                    let _ = self.clean();
                }
                is_recorded
            }
            Err(error) => {
                let line =
                    format!("caudal: warning: the test of a visitor is not recorded: {error}");
                let _ = writeln!(std::io::stderr(), "{line}");
                false
            }
        }
    }

    fn page(&self, id: &str) -> Option<String> {
        self.stored(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn run(id: &str) -> Run {
        let text = format!(
            r#"{{"schema":"caudal.run/1","id":"{id}","started":"2026-11-28T10:00:00Z","tool":{{"name":"caudal"}},
                "plan":{{"workload":"quality","peer":"</script><b>"}},
                "quality":{{"phases":[],"advice":[],"intervals":[],"confidence":0.95}}}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    fn id(nth: u32) -> String {
        format!("{nth:032x}")
    }

    fn archive(name: &str, keep: usize) -> (VisitorStore, PathBuf) {
        let path = std::env::temp_dir().join(format!("caudal-{name}-{}.db", std::process::id()));
        let _ = std::fs::remove_file(&path);
        (
            VisitorStore::new(Recording::File(path.clone()), keep).unwrap(),
            path,
        )
    }

    #[test]
    fn a_visitor_sees_a_visitors_test_and_nothing_else_of_the_store() {
        let (archive, path) = archive("visitors", 10);
        assert!(archive.record(&run(&id(1)), 5));
        let own = StoredRun::new(run(&id(2)), 6, RunOutcome::Done);
        Recording::File(path.clone()).record(&own, &[]).unwrap();
        let page = archive.page(&id(1)).unwrap();
        assert!(!page.contains("</script><b>"), "a stranger's text is text");
        assert_eq!(archive.page(&id(2)), None);
        assert_eq!(archive.page(&id(3)), None);
        let _ = std::fs::remove_file(path);
    }

    #[test]
    fn the_newest_are_kept() {
        let (archive, path) = archive("visitors-kept", 3);
        for nth in 1..=20 {
            assert!(archive.record(&run(&id(nth)), u64::from(nth)));
        }
        let is_there = |nth: u32| archive.page(&id(nth)).is_some();
        assert_eq!([17, 18, 20].map(is_there), [false, true, true]);
        let _ = std::fs::remove_file(path);
    }
}
