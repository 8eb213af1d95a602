//! `caudal report tag`: tags of a run or a study.

use super::answer::AnswerArgs;
use super::unknown_name::{list_tagged, unknown_id};
use crate::exit::Failure;
use crate::output::text;
use crate::recording::short;
use caudal_core::text::printable;
use caudal_store::Store;

/// The maximum length of a tag, characters: a list has room for it.
const MAX_LENGTH: usize = 40;

/// `caudal report tag`
#[derive(Debug, Clone, clap::Args)]
pub struct TagArgs {
    /// The run or study
    #[arg(value_name = "ID")]
    pub id: String,
    /// Tags to add; without any the present ones are shown
    #[arg(value_name = "TAG")]
    pub tags: Vec<String>,
    /// Remove these tags instead
    #[arg(short = 'd', long, requires = "tags")]
    pub delete: bool,
}

/// Adds or removes tags, and shows those present afterwards.
pub(super) fn tag(store: &mut Store, args: &TagArgs) -> Result<(), Failure> {
    for tag in &args.tags {
        check(tag)?;
    }
    let id = store
        .resolve(&args.id)
        .map_err(|error| unknown_id(store, error, list_tagged))?;
    for tag in &args.tags {
        if args.delete {
            store.untag(&id, tag)?;
        } else {
            store.tag(&id, tag)?;
        }
    }
    let tags = store.tags(&id)?;
    let line = if tags.is_empty() {
        format!("{}: no tags", short(&id))
    } else {
        format!("{}: {}", short(&id), tags.join(", "))
    };
    AnswerArgs::default().print(&[text::fold(&line, 4)], None)
}

/// Checks that a tag is not empty, fits a list and has no separator.
fn check(tag: &str) -> Result<(), Failure> {
    let invalid = |why: &str| {
        Failure::usage(
            format!("{tag:?} is not a valid tag: {why}"),
            "choose another tag",
        )
    };
    if tag.trim().is_empty() {
        return Err(invalid("it is empty"));
    }
    if printable(tag) != tag || tag.contains(['\n', '\t']) || tag.contains(',') {
        return Err(invalid(
            "it has a comma or a character in it that is not printable",
        ));
    }
    if tag.chars().count() > MAX_LENGTH {
        return Err(invalid("it has more than 40 characters"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_a_word_that_a_list_has_room_for() {
        for good in ["golden", "before upgrade", "β-7", "-x"] {
            assert!(check(good).is_ok(), "{good}");
        }
        for bad in ["", "  ", "a,b", "a\nb", &"x".repeat(41)] {
            assert!(check(bad).is_err(), "{bad:?}");
        }
    }
}
