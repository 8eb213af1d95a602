//! The machines of a study or run, as names and values.

use crate::export::page::Block;
use serde::Serialize;
use serde_json::Value;

/// Maximum number of values shown.
const MAX_FACTS: usize = 80;

/// All values of an environment with their names.
#[must_use]
pub fn environment(environment: &impl Serialize) -> Vec<Block> {
    let mut facts = Vec::new();
    let leaves = serde_json::to_value(environment).unwrap_or_default();
    flatten(&leaves, "", &mut facts);
    let more = facts.len().saturating_sub(MAX_FACTS);
    facts.truncate(MAX_FACTS);
    if facts.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![Block::Facts(facts)];
    if more > 0 {
        blocks.push(Block::Text(format!("{more} more, in the data.")));
    }
    blocks
}

/// Adds the leaves below a value, named for the keys that lead to them.
fn flatten(value: &Value, name: &str, facts: &mut Vec<(String, String)>) {
    // The names of the kernel's settings are what one gives to sysctl.
    let are_settings = name == "sysctls" || name.ends_with(", sysctls");
    let under = |key: &str| {
        if are_settings {
            let machine = name.trim_end_matches("sysctls");
            return format!("{machine}{key}");
        }
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
            let items: Vec<String> = items.iter().map(leaf_text).collect();
            if !items.is_empty() {
                facts.push((name.to_owned(), items.join(", ")));
            }
        }
        Value::String(text) if text.is_empty() => {}
        other => facts.push((name.to_owned(), leaf_text(other))),
    }
}

/// A leaf as text.
fn leaf_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn settings_of_the_kernel_keep_their_names() {
        let environment = environment(&json!({
            "client": {"load_average": 0.5, "sysctls": {"net.ipv4.tcp_rmem": "4096 131072 6291456"}},
        }));
        let facts = [
            ("client, load average".to_owned(), "0.5".to_owned()),
            (
                "client, net.ipv4.tcp_rmem".to_owned(),
                "4096 131072 6291456".to_owned(),
            ),
        ];
        assert_eq!(environment, [Block::Facts(facts.to_vec())]);
    }
}
