//! The pages under docs/reference that describe JSON, and JSON held against them.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The types found at each path of a value.
type Found = BTreeMap<String, BTreeSet<&'static str>>;

/// One row of a table.
#[derive(Debug, Clone)]
pub struct Row {
    pub path: String,
    /// The JSON types it may have, or the one defined type and perhaps null.
    pub types: Vec<String>,
    /// The words that *present* begins with, from the top down to this key: all must apply.
    pub present: Vec<String>,
    /// The nearest key above that may be missing or null: only where it is an object must this one be there.
    pub given: Option<String>,
}

impl Row {
    fn is_nullable(&self) -> bool {
        self.types.iter().any(|name| name == "null")
    }

    fn is_of_lists(&self) -> bool {
        self.types.iter().any(|name| name.starts_with("array"))
    }

    /// Whether the key must be there in a document that these words describe and that holds `found`.
    fn is_due(&self, words: &[&str], found: &Found) -> bool {
        self.present
            .iter()
            .all(|word| words.contains(&word.as_str()))
            && self.given.as_ref().is_none_or(|above| {
                found
                    .get(above)
                    .is_some_and(|kinds| kinds.contains("object"))
            })
    }
}

/// A page: its tables by name.
pub struct Reference(BTreeMap<String, Vec<Row>>);

impl Reference {
    pub fn read(page: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../docs/reference")
            .join(page);
        let page = std::fs::read_to_string(&path)
            .unwrap_or_else(|cause| panic!("{}: {cause}", path.display()));
        let mut tables: BTreeMap<String, Vec<Row>> = BTreeMap::new();
        let mut table = String::new();
        for line in page.lines() {
            if let Some(name) = line.strip_prefix("### Type ") {
                table = name.trim_matches('`').to_owned();
            } else if let Some(name) = line.strip_prefix("### Event ") {
                table = format!("event {}", name.trim_matches('`'));
            } else if let Some(name) = line.strip_prefix("## The ") {
                table = name.trim_end_matches(" object").to_owned();
            } else if let Some(cells) = line.strip_prefix("| `") {
                let cells: Vec<&str> = cells.split('|').map(str::trim).collect();
                let [path, types, _unit, present, ..] = cells.as_slice() else {
                    panic!("a row has five cells: {line}");
                };
                let present = present.split([',', ';']).next().unwrap_or("");
                let present: Vec<String> = present.split_whitespace().map(str::to_owned).collect();
                tables.entry(table.clone()).or_default().push(Row {
                    path: path.trim_end_matches('`').to_owned(),
                    types: types
                        .split(" or ")
                        .map(|name| name.trim_matches('*').to_owned())
                        .collect(),
                    present,
                    given: None,
                });
            }
        }
        Self(tables)
    }

    /// The rows of a table with those of the types it uses in their places.
    pub fn expand(&self, table: &str) -> Vec<Row> {
        let rows = self.0.get(table);
        let rows = rows.unwrap_or_else(|| panic!("the page has no table {table}"));
        let mut all = Vec::new();
        for row in rows {
            let mut plain = row.clone();
            if let Some(used) = row.types.iter().find(|name| self.0.contains_key(*name)) {
                let certain = !row.is_nullable() && row.present == ["always"];
                for inner in self.expand(used) {
                    let under = |below: &str| format!("{}.{below}", row.path);
                    let given = match inner.given {
                        Some(above) => Some(under(&above)),
                        None => (!certain).then(|| row.path.clone()),
                    };
                    let outer = row
                        .present
                        .iter()
                        .filter(|word| *word != "sometimes")
                        .cloned();
                    all.push(Row {
                        path: under(&inner.path),
                        types: inner.types,
                        present: outer.chain(inner.present).collect(),
                        given,
                    });
                }
                plain.types = vec!["object".to_owned()];
                if row.is_nullable() {
                    plain.types.push("null".to_owned());
                }
            }
            all.push(plain);
        }
        all
    }
}

/// Every path of a value with the types of what it holds; what is `elsewhere` another page describes.
fn walk(value: &Value, path: &str, rows: &[Row], elsewhere: &[&str], found: &mut Found) {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::String(_) => "string",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::Object(_) => "object",
        Value::Array(_) => "array",
    };
    let items = format!("{path}[]");
    // A list is described by its items.
    let is_list = kind == "array" && rows.iter().any(|row| row.path.starts_with(&items));
    if !path.is_empty() && !is_list {
        found.entry(path.to_owned()).or_default().insert(kind);
    }
    // Pairs and rows of tables are described in words.
    let row = rows.iter().find(|row| row.path == path);
    if row.is_some_and(Row::is_of_lists) || elsewhere.contains(&path) {
        return;
    }
    match value {
        Value::Array(list) => {
            for item in list {
                walk(item, &items, rows, elsewhere, found);
            }
        }
        Value::Object(keys) => {
            let map = format!("{path}{{}}");
            let is_map = rows.iter().any(|row| row.path == map);
            for (key, inner) in keys {
                let next = match (is_map, path.is_empty()) {
                    (true, _) => map.clone(),
                    (false, true) => key.clone(),
                    (false, false) => format!("{path}.{key}"),
                };
                walk(inner, &next, rows, elsewhere, found);
            }
        }
        _ => {}
    }
}

/// Holds a value against a table; what does not agree.
pub fn disagreements(
    value: &Value,
    rows: &[Row],
    words: &[&str],
    elsewhere: &[&str],
) -> Vec<String> {
    let mut found = Found::new();
    walk(value, "", rows, elsewhere, &mut found);
    let mut wrong = Vec::new();
    for (path, kinds) in &found {
        let allowed: BTreeSet<&str> = rows
            .iter()
            .filter(|row| &row.path == path)
            .flat_map(|row| row.types.iter().map(String::as_str))
            .collect();
        let is_above = rows.iter().any(|row| {
            row.path
                .strip_prefix(path.as_str())
                .is_some_and(|rest| rest.starts_with(['.', '{']))
        });
        for kind in kinds {
            let fits = allowed.contains(kind)
                // A number that happens to be whole is still a number.
                || *kind == "integer" && allowed.contains("number")
                || *kind == "array" && allowed.iter().any(|name| name.starts_with("array"))
                || *kind == "object" && is_above;
            if !fits {
                wrong.push(format!(
                    "{path} holds a value of type {kind}, which the page does not say"
                ));
            }
        }
    }
    for row in rows.iter().filter(|row| row.is_due(words, &found)) {
        let there = found.contains_key(&row.path)
            || found
                .keys()
                .any(|path| path.starts_with(&format!("{}.", row.path)));
        if !there {
            wrong.push(format!(
                "{} is missing, which the page calls present: {}",
                row.path,
                row.present.join(", ")
            ));
        }
    }
    wrong
}
