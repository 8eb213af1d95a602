//! docs/reference/study-json.md against what is printed.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A row of the page.
#[derive(Clone)]
struct Row {
    path: String,
    types: Vec<String>,
    always: bool,
}

/// What a document has that the page does not say, and what the page says is always there and is not.
pub fn disagreements(table: &str, document: &Value) -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/study-json.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mut tables: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    let mut name = String::new();
    for line in page.lines() {
        if let Some(heading) = line.strip_prefix("### Type ") {
            name = heading.trim_matches('`').to_owned();
        } else if let Some(heading) = line.strip_prefix("## The ") {
            name = heading.trim_end_matches(" object").to_owned();
        } else if let Some(cells) = line.strip_prefix("| `") {
            let cells: Vec<&str> = cells.split('|').map(str::trim).collect();
            tables.entry(name.clone()).or_default().push(Row {
                path: cells[0].trim_end_matches('`').to_owned(),
                types: cells[1]
                    .split(" or ")
                    .map(|one| one.trim_matches('*').to_owned())
                    .collect(),
                always: cells[3].starts_with("always"),
            });
        }
    }
    let rows = expanded(&tables, table);
    let mut found: BTreeMap<String, BTreeSet<&'static str>> = BTreeMap::new();
    walk(document, "", &rows, &mut found);
    let mut wrong = Vec::new();
    for (path, kinds) in &found {
        let allowed: Vec<&String> = rows
            .iter()
            .filter(|row| row.path == *path)
            .flat_map(|row| &row.types)
            .collect();
        let is_above = rows.iter().any(|row| {
            row.path.starts_with(&format!("{path}.")) || row.path.starts_with(&format!("{path}{{"))
        });
        for kind in kinds {
            let fits = allowed.iter().any(|one| {
                one.as_str() == *kind
                    || one.starts_with(kind)
                    || *kind == "integer" && *one == "number"
            }) || *kind == "object" && is_above;
            if !fits {
                wrong.push(format!(
                    "{path} holds a value of type {kind}, which the page does not say"
                ));
            }
        }
    }
    for row in rows.iter().filter(|row| row.always) {
        let above = row.path.rsplit_once('.').map(|(above, _)| above);
        let is_due = above.is_none_or(|above| {
            found
                .get(above)
                .is_some_and(|kinds| kinds.contains("object"))
        });
        if is_due
            && !found
                .keys()
                .any(|path| *path == row.path || path.starts_with(&format!("{}.", row.path)))
        {
            wrong.push(format!(
                "{} is missing, which the page calls always present",
                row.path
            ));
        }
    }
    wrong
}

fn expanded(tables: &BTreeMap<String, Vec<Row>>, name: &str) -> Vec<Row> {
    let mut all = Vec::new();
    for row in tables
        .get(name)
        .unwrap_or_else(|| panic!("the page has no table {name}"))
    {
        let mut row = row.clone();
        if let Some(used) = row
            .types
            .clone()
            .iter()
            .find(|one| tables.contains_key(*one))
        {
            for inner in expanded(tables, used) {
                all.push(Row {
                    path: format!("{}.{}", row.path, inner.path),
                    ..inner
                });
            }
            row.types = row
                .types
                .iter()
                .map(|one| {
                    if one == used {
                        "object".to_owned()
                    } else {
                        one.clone()
                    }
                })
                .collect();
        }
        all.push(row);
    }
    all
}

fn walk(
    value: &Value,
    path: &str,
    rows: &[Row],
    found: &mut BTreeMap<String, BTreeSet<&'static str>>,
) {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::String(_) => "string",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::Object(_) => "object",
        Value::Array(_) => "array",
    };
    let is_list = kind == "array"
        && rows
            .iter()
            .any(|row| row.path.starts_with(&format!("{path}[]")));
    if !path.is_empty() && !is_list {
        found.entry(path.to_owned()).or_default().insert(kind);
    }
    // What another page describes, and pairs and rows, which are described in words.
    let row = rows.iter().find(|row| row.path == path);
    let is_leaf = row.is_some_and(|row| row.types.iter().any(|one| one.starts_with("array")))
        || ["environment", "lab", "flows[].run"].contains(&path);
    match value {
        _ if is_leaf => {}
        Value::Array(items) => {
            for item in items {
                walk(item, &format!("{path}[]"), rows, found);
            }
        }
        Value::Object(map) => {
            for (key, inner) in map {
                let of_map = format!("{path}{{}}");
                let next = match (rows.iter().any(|row| row.path == of_map), path.is_empty()) {
                    (true, _) => of_map,
                    (false, true) => key.clone(),
                    (false, false) => format!("{path}.{key}"),
                };
                walk(inner, &next, rows, found);
            }
        }
        _ => {}
    }
}
