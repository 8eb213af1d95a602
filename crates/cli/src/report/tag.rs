//! `caudal report tag`: tags of a run or a study.

use super::answer::AnswerArgs;
use super::unknown_name::{list_tagged, unknown_id};
use crate::args::tag_name;
use crate::exit::Failure;
use crate::output::fold;
use caudal_store::{Store, short_id};

/// `caudal report tag`
#[derive(Debug, Clone, clap::Args)]
pub struct TagArgs {
    /// The run or study
    #[arg(value_name = "ID")]
    pub id: String,
    /// Tags to add; without any the present ones are shown
    #[arg(value_name = "TAG", value_parser = tag_name)]
    pub tags: Vec<String>,
    /// Remove these tags instead
    #[arg(short = 'd', long, requires = "tags")]
    pub delete: bool,
}

/// Adds or removes tags, and shows those present afterwards.
pub(super) fn tag(store: &mut Store, args: &TagArgs) -> Result<(), Failure> {
    let id = store
        .resolve(&args.id)
        .map_err(|error| unknown_id(store, error, list_tagged))?;
    let present = store.tags(&id)?;
    let has = |tag: &&String| present.iter().any(|one| one == tag.as_str());
    if let (true, Some(absent)) = (args.delete, args.tags.iter().find(|tag| !has(tag))) {
        let present: Vec<String> = present.iter().map(ToString::to_string).collect();
        let advice = match present.as_slice() {
            [] => "it has none".to_owned(),
            some => format!("it has {}", some.join(", ")),
        };
        return Err(Failure::usage(
            format!("{} has no tag {absent:?}", short_id(&id)),
            advice,
        ));
    }
    for tag in &args.tags {
        if args.delete {
            store.untag(&id, tag)?;
        } else {
            store.tag(&id, tag)?;
        }
    }
    let tags = store.tags(&id)?;
    let line = if tags.is_empty() {
        format!("{}: no tags", short_id(&id))
    } else {
        format!("{}: {}", short_id(&id), tags.join(", "))
    };
    AnswerArgs::default().print(&[fold(&line, 4)], None)
}
