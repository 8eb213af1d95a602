//! The JSON Schema of experiment files.

/// The JSON Schema of experiments' files, as it is published.
#[must_use]
pub fn schema() -> String {
    let text = serde_json::to_string_pretty(&caudal_experiment::schema());
    format!("{}\n", text.unwrap_or_default())
}
