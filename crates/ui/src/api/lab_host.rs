//! Hosts of labs, and what names and values of labs may be.

use super::error::ApiError;
use crate::state::UiState;

/// A name of a lab or a link, or a value: no flag, and nothing that means something to anybody.
pub(super) fn plain<'a>(text: &'a str, what: &str) -> Result<&'a str, ApiError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.%".contains(c);
    match !text.is_empty()
        && text.len() <= 64
        && !text.starts_with('-')
        && text.chars().all(is_plain)
    {
        true => Ok(text),
        false => Err(ApiError::nonsense(format!("{text:?} is no {what}"))),
    }
}

/// The words before those of a test that is started on a host of a lab; the last is this program.
pub(super) fn on_lab_host(
    state: &UiState,
    name: &str,
    host: &str,
) -> Result<Vec<String>, ApiError> {
    let (name, host) = (
        plain(name, "name of a lab")?,
        plain(host, "name of a host")?,
    );
    let program = state.options.program.display().to_string();
    let words = ["lab", "exec", "--lab", name, host, "--", &program];
    Ok(words.map(str::to_owned).to_vec())
}
