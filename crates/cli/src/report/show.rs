//! `caudal report show`: a run with its result and its machines; a study with its state, its verdict and its trials.

use super::answer::AnswerArgs;
use super::unknown_name::{list_tagged, unknown_id};
use crate::exit::Failure;
use crate::output::line_width;
use caudal_report::RunDocument;
use caudal_report::export::ExportError;
use caudal_report::stored_text::{run_lines, study_document, study_lines};
use caudal_store::{Filter, Store, StoredItem};

/// `caudal report show`
#[derive(Debug, Clone, clap::Args)]
pub struct ShowArgs {
    /// The run or study
    #[arg(value_name = "ID", default_value = "last")]
    pub id: String,
    /// The form of the answer.
    #[command(flatten)]
    pub answer: AnswerArgs,
}

/// Shows a run or a study.
pub(super) fn show(store: &Store, args: &ShowArgs) -> Result<(), Failure> {
    let item = store
        .find(&args.id)
        .map_err(|error| unknown_id(store, error, list_tagged))?;
    let tags = store.tags(item.id())?;
    let (lines, data) = match &item {
        StoredItem::Run(run) => {
            let document = RunDocument::try_from(&run.document).map_err(ExportError::from)?;
            let data = match &document {
                RunDocument::Run(run) => serde_json::to_string_pretty(run),
                RunDocument::Trial(trial) => serde_json::to_string_pretty(trial),
            };
            (run_lines(run, &document, &tags, line_width()), data)
        }
        StoredItem::Study(study) => {
            let trials = store.list(&Filter {
                study: Some(study.id.clone()),
                ..Filter::default()
            })?;
            let data = serde_json::to_string_pretty(&study_document(study, &trials, &tags));
            (study_lines(study, &trials, &tags, line_width()), data)
        }
    };
    let data = args.answer.json.then(|| data.unwrap_or_default());
    args.answer.print(&lines, data.as_deref())
}
