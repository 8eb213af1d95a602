//! `caudal report tag`: words to find a run or a study again by.

use super::AnswerArgs;
use crate::exit::Failure;
use crate::output::text;
use crate::recording::short;
use caudal_store::Store;

/// The longest tag, characters: a list has room for it.
const LONGEST: usize = 40;

/// `caudal report tag`
#[derive(Debug, Clone, clap::Args)]
pub struct TagArgs {
    /// The run or study
    #[arg(value_name = "ID")]
    pub id: String,
    /// Tags to put on; none shows those it has
    #[arg(value_name = "TAG")]
    pub tags: Vec<String>,
    /// Take these tags off instead
    #[arg(short = 'd', long, requires = "tags")]
    pub delete: bool,
}

/// Puts them on or takes them off, and shows what is on it then.
pub(super) fn tag(store: &mut Store, args: &TagArgs) -> Result<(), Failure> {
    for tag in &args.tags {
        check(tag)?;
    }
    let id = store.resolve(&args.id)?;
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

fn check(tag: &str) -> Result<(), Failure> {
    let refused =
        |why: &str| Failure::usage(format!("{tag:?} is no tag: {why}"), "choose another word");
    if tag.trim().is_empty() {
        return Err(refused("it is empty"));
    }
    if tag.chars().any(char::is_control) || tag.contains(',') {
        return Err(refused("it has a comma or a control character in it"));
    }
    if tag.chars().count() > LONGEST {
        return Err(refused("it has more than 40 characters"));
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
