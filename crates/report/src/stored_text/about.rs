//! What the lines on runs and on studies have in common.

use caudal_core::date::rfc3339;
use caudal_core::text::ExternalText;

fn joined(tags: &[ExternalText]) -> String {
    let tags: Vec<String> = tags.iter().map(ToString::to_string).collect();
    tags.join(", ")
}

/// A time in UTC, for people.
pub(super) fn utc(ns: i64) -> String {
    let text = rfc3339(ns.max(0).unsigned_abs());
    format!("{} UTC", text[..19].replace('T', " "))
}

/// The tags as the end of a line.
pub(super) fn tag_list(tags: &[ExternalText]) -> String {
    if tags.is_empty() {
        String::new()
    } else {
        format!("; tags: {}", joined(tags))
    }
}
