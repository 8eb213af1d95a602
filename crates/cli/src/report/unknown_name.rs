//! The failure of a name that the store does not have: what it has instead.

use crate::exit::Failure;
use caudal_core::text::ExternalText;
use caudal_store::{Store, StoreError};

/// Maximum number of tags that are named.
const MAX_NAMED: usize = 12;

/// The failure of an id that nothing has; a tag given in its place is recognised, and `remedy` says how a tag is named
/// there.
pub(super) fn unknown_id(
    store: &Store,
    error: StoreError,
    remedy: impl Fn(&str) -> String,
) -> Failure {
    let (StoreError::Unknown { id } | StoreError::InvalidId { id }) = &error else {
        return error.into();
    };
    let is_tag = store
        .known_tags()
        .is_ok_and(|tags| tags.iter().any(|tag| tag == id.as_str()));
    if is_tag {
        return Failure::usage(format!("{id:?} is a tag, and an id is needed"), remedy(id));
    }
    error.into()
}

/// The remedy for a command that takes one run or study.
pub(super) fn list_tagged(tag: &str) -> String {
    format!("`caudal report list --tag {tag}` shows what has it")
}

/// The sentence on the tags there are.
pub(super) fn tags_there_are(store: &Store) -> String {
    let tags = store.known_tags().unwrap_or_default();
    let named: Vec<String> = tags
        .iter()
        .take(MAX_NAMED)
        .map(ExternalText::to_string)
        .collect();
    match tags.len().saturating_sub(MAX_NAMED) {
        _ if tags.is_empty() => {
            "nothing has a tag yet: `caudal report tag ID TAG` gives one".to_owned()
        }
        0 => format!("there are {}", named.join(", ")),
        more => format!("there are {} and {more} more", named.join(", ")),
    }
}
