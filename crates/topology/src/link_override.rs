//! Changes of single keys of a topology file: `bottleneck.rate=5M`.

use crate::file::TopologyFile;
use crate::file_error::on_one_line;
use crate::topology::Topology;
use serde::Deserialize;

/// A change of one key of a link that cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LinkOverrideError {
    /// There is no `=`.
    #[error("{0} has no value")]
    NoValue(String),
    /// There is no `.` before the `=`.
    #[error("{0} names no key of a link")]
    NoKey(String),
    /// There is no link of this name.
    #[error("{change}: there is no link {link:?}")]
    NoSuchLink {
        /// The change.
        change: String,
        /// The name.
        link: String,
        /// The names of the links that there are.
        links: Vec<String>,
    },
    /// The result is no topology file.
    #[error("{change}: {problem}")]
    Invalid {
        /// The change.
        change: String,
        /// The reason.
        problem: String,
    },
}

impl TopologyFile {
    /// The file with one key of a link, or of all links (`*`), changed: `bottleneck.rate=5M`.
    ///
    /// # Errors
    /// When the change names no key of a link of the file, or leads to a file that cannot be read.
    pub fn with_override(&self, change: &str) -> Result<Self, LinkOverrideError> {
        let (path, value) = change
            .split_once('=')
            .ok_or_else(|| LinkOverrideError::NoValue(change.to_owned()))?;
        let (link, key) = path
            .split_once('.')
            .ok_or_else(|| LinkOverrideError::NoKey(change.to_owned()))?;
        let invalid = |problem: String| LinkOverrideError::Invalid {
            change: change.to_owned(),
            problem,
        };
        let value = parse_value(value);
        let mut all = toml::Value::try_from(self).map_err(|error| invalid(error.to_string()))?;
        let names: Vec<String> = match Topology::resolve(self) {
            Ok(topology) => topology.links.into_iter().map(|link| link.name).collect(),
            // The error is reported once all changes are made.
            Err(_) => Vec::new(),
        };
        let mut is_found = false;
        let links = all.get_mut("link").and_then(toml::Value::as_array_mut);
        for (index, table) in links.into_iter().flatten().enumerate() {
            if link == "*" || names.get(index).is_some_and(|name| name == link) {
                is_found = true;
                if let Some(table) = table.as_table_mut() {
                    insert(table, key, &value);
                }
            }
        }
        if !is_found {
            return Err(LinkOverrideError::NoSuchLink {
                change: change.to_owned(),
                link: link.to_owned(),
                links: names,
            });
        }
        Self::deserialize(all).map_err(|error| invalid(on_one_line(&error)))
    }
}

/// Inserts the value of a dotted key.
fn insert(table: &mut toml::Table, key: &str, value: &toml::Value) {
    match key.split_once('.') {
        None => {
            table.insert(key.to_owned(), value.clone());
        }
        Some((first, rest)) => {
            let inner = table
                .entry(first.to_owned())
                .or_insert_with(|| toml::Value::Table(toml::Table::new()));
            if let Some(inner) = inner.as_table_mut() {
                insert(inner, rest, value);
            }
        }
    }
}

/// A value as TOML writes it, or else the text as it stands.
#[must_use]
pub fn parse_value(text: &str) -> toml::Value {
    let table: Result<toml::Table, _> = toml::from_str(&format!("value = {text}"));
    table
        .ok()
        .and_then(|mut table| table.remove("value"))
        .unwrap_or_else(|| toml::Value::String(text.to_owned()))
}
