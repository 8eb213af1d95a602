//! `caudal report path`: the path of the store and the amount of its content.

use super::answer::AnswerArgs;
use crate::exit::Failure;
use crate::output::fold;
use caudal_store::{Store, StoreError};
use caudal_views::text::{self, counted};
use serde_json::json;
use std::path::Path;

/// `caudal report path`
#[derive(Debug, Clone, clap::Args)]
pub struct PathArgs {
    /// The form of the answer.
    #[command(flatten)]
    pub answer: AnswerArgs,
}

/// Shows the path and the amounts.
pub(super) fn path(at: &Path, args: &PathArgs) -> Result<(), Failure> {
    let amounts = match Store::open_to_read(at) {
        Ok(store) => Some(store.summary()?),
        Err(StoreError::Missing { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    let mut lines = vec![at.display().to_string()];
    lines.push(match &amounts {
        None => "nothing has been recorded there yet".to_owned(),
        Some(amounts) => fold(
            &format!(
                "{}: {} outside studies, {} with {}, {}; schema version {}",
                text::bytes(amounts.bytes),
                counted(amounts.runs, "run"),
                counted(amounts.studies, "study"),
                counted(amounts.trials, "trial"),
                counted(amounts.samples, "raw sample"),
                amounts.version
            ),
            4,
        ),
    });
    let data = args.answer.json.then(|| {
        json!({"schema": "caudal.store/1", "path": at.display().to_string(), "amounts": amounts})
    });
    let data = data.map(|data| serde_json::to_string_pretty(&data).unwrap_or_default());
    args.answer.print(&lines, data.as_deref())
}
