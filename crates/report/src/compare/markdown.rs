//! A comparison as Markdown, for a merge request or the summary of a CI job.

use super::comparison::Comparison;
use super::page::page;
use crate::export::markdown::markdown;

/// The comparison as Markdown.
#[must_use]
pub fn comparison_as_markdown(comparison: &Comparison) -> String {
    markdown(&page(comparison), None)
}
