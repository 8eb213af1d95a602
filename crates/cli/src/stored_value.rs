//! Documents and machines of the store as JSON values, for readers that look keys up.

use caudal_core::run::Environment;
use caudal_store::StoredDocument;
use serde_json::Value;

/// The document as a value.
pub fn document_value(document: &StoredDocument) -> Value {
    match document {
        StoredDocument::Run(run) => serde_json::to_value(run).unwrap_or_default(),
        StoredDocument::Trial(text) => serde_json::from_str(text).unwrap_or_default(),
    }
}

/// The document as `--json` prints it.
pub fn document_text(document: &StoredDocument) -> String {
    match document {
        StoredDocument::Run(run) => serde_json::to_string_pretty(run),
        StoredDocument::Trial(_) => serde_json::to_string_pretty(&document_value(document)),
    }
    .unwrap_or_default()
}

/// The machines as a value.
pub fn environment_value(environment: &Environment) -> Value {
    serde_json::to_value(environment).unwrap_or_default()
}

/// The machines of a value.
pub fn environment_from(value: &Value) -> Environment {
    serde_json::from_value(value.clone()).unwrap_or_default()
}
