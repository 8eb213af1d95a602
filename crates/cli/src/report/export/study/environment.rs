//! The machines, as names and values.

use super::super::page::Block;
use serde_json::Value;

/// The environment as names and values, whatever its shape.
pub(in super::super) fn environment(environment: &Value) -> Vec<Block> {
    let mut facts = Vec::new();
    flatten(environment, "", &mut facts);
    let most = 80;
    let more = facts.len().saturating_sub(most);
    facts.truncate(most);
    if facts.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![Block::Facts(facts)];
    if more > 0 {
        blocks.push(Block::Text(format!("{more} more, in the data.")));
    }
    blocks
}

fn flatten(value: &Value, name: &str, facts: &mut Vec<(String, String)>) {
    let under = |key: &str| {
        let key = key.replace('_', " ");
        if name.is_empty() {
            key
        } else {
            format!("{name}, {key}")
        }
    };
    match value {
        Value::Null => {}
        Value::Object(map) => {
            for (key, inner) in map {
                flatten(inner, &under(key), facts);
            }
        }
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
            for (nth, inner) in items.iter().enumerate() {
                flatten(inner, &under(&(nth + 1).to_string()), facts);
            }
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(plain).collect();
            if !items.is_empty() {
                facts.push((name.to_owned(), items.join(", ")));
            }
        }
        Value::String(text) if text.is_empty() => {}
        other => facts.push((name.to_owned(), plain(other))),
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        other => other.to_string(),
    }
}
