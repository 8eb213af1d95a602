//! `caudal report rm` and `caudal report prune`: runs and studies removed from the store.

use super::answer::AnswerArgs;
use super::list::{self, Since};
use crate::exit::Failure;
use crate::output::{fold, line_width};
use caudal_report::stored_text::entry_lines;
use caudal_store::{Filter, RemovedAmount, Store, StoreEntry, short_id};
use caudal_views::text::{self, counted};

/// `caudal report rm`
#[derive(Debug, Clone, clap::Args)]
pub struct RemoveArgs {
    /// The runs and studies to remove; a study goes with its trials
    #[arg(value_name = "ID", required = true)]
    pub ids: Vec<String>,
}

/// `caudal report prune`
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "\
    Without --yes nothing is removed: what would be is listed.\n\n\
    Examples:\n  \
    caudal report prune --older-than 90d --keep-tagged\n  \
    caudal report prune --older-than 2026-01-01 --yes")]
pub struct PruneArgs {
    /// Remove what began before then: how long ago, as 90d, or a date as 2026-11-22 (UTC)
    #[arg(long, value_name = "WHEN", value_parser = list::since)]
    pub older_than: Since,
    /// Keep what has a tag, and studies of which a trial has one
    #[arg(long)]
    pub keep_tagged: bool,
    /// Remove it, instead of listing what would be removed
    #[arg(short, long)]
    pub yes: bool,
}

/// Removes runs and studies by their ids.
pub(super) fn remove(store: &mut Store, args: &RemoveArgs) -> Result<(), Failure> {
    let ids: Result<Vec<String>, _> = args.ids.iter().map(|id| store.resolve(id)).collect();
    let ids = ids?;
    let line = removed(store, &ids)?;
    let shown: Vec<&str> = ids.iter().map(|id| short_id(id)).collect();
    let line = fold(&format!("{line}: {}", shown.join(", ")), 4);
    AnswerArgs::default().print(&[line], None)
}

/// Removes what is old, or lists what would be removed.
pub(super) fn prune(store: &mut Store, args: &PruneArgs) -> Result<(), Failure> {
    let before_ns = args.older_than.to_ns();
    let mut entries = store.list(&Filter::default())?;
    entries.retain(|entry| entry.started_ns < before_ns);
    if args.keep_tagged {
        let trials = store.list(&Filter {
            trials: true,
            ..Filter::default()
        })?;
        let has_tagged_trial = |entry: &StoreEntry| {
            let of_entry = |trial: &&StoreEntry| {
                trial
                    .trial
                    .as_ref()
                    .is_some_and(|trial| trial.study == entry.id)
            };
            trials
                .iter()
                .filter(of_entry)
                .any(|trial| !trial.tags.is_empty())
        };
        entries.retain(|entry| entry.tags.is_empty() && !has_tagged_trial(entry));
    }
    if entries.is_empty() {
        return AnswerArgs::default().print(&["nothing to remove".to_owned()], None);
    }
    if args.yes {
        let ids: Vec<String> = entries.into_iter().map(|entry| entry.id).collect();
        let line = removed(store, &ids)?;
        return AnswerArgs::default().print(&[fold(&line, 4)], None);
    }
    let mut lines = entry_lines(&entries, false, line_width());
    let studies = entries.iter().filter(|entry| entry.kind == "study").count() as u64;
    let amount = RemovedAmount {
        runs: entries.len() as u64 - studies,
        studies,
        trials: entries.iter().filter_map(|entry| entry.trials).sum(),
    };
    lines.push(String::new());
    lines.push(format!(
        "{} would be removed; --yes removes them",
        in_words(amount)
    ));
    AnswerArgs::default().print(&lines, None)
}

/// Removes what has these full ids and gives the space back; the result in a line.
fn removed(store: &mut Store, ids: &[String]) -> Result<String, Failure> {
    let amount = in_words(store.remove(ids)?);
    // What is removed is removed, whether or not the file can be made smaller at the moment.
    Ok(match store.compact() {
        Ok((before, after)) => format!(
            "removed {amount}, {} freed",
            text::bytes(before.saturating_sub(after))
        ),
        Err(error) => format!(
            "removed {amount}; the file keeps its size, and later runs use the space: {error}"
        ),
    })
}

/// An amount in words: `3 runs and 1 study with 12 trials`.
fn in_words(amount: RemovedAmount) -> String {
    let runs = counted(amount.runs, "run");
    if amount.studies == 0 {
        return runs;
    }
    let studies = format!(
        "{} with {}",
        counted(amount.studies, "study"),
        counted(amount.trials, "trial")
    );
    if amount.runs == 0 {
        return studies;
    }
    format!("{runs} and {studies}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_told_in_words() {
        let words = |runs, studies, trials| {
            in_words(RemovedAmount {
                runs,
                studies,
                trials,
            })
        };
        assert_eq!(words(1, 0, 0), "1 run");
        assert_eq!(words(0, 2, 1), "2 studies with 1 trial");
        assert_eq!(words(3, 1, 12), "3 runs and 1 study with 12 trials");
    }
}
