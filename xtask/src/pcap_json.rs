//! The page of the documents of `caudal pcap`, from their JSON Schemas.

use caudal_views::pcap::{ENDS_SCHEMA, schemas};
use serde_json::{Map, Value};
use std::fmt::Write as _;

/// The JSON Schema of a format.
pub(crate) fn schema(format: &str) -> String {
    let found = schemas().into_iter().find(|(name, _)| *name == format);
    let schema = found.map(|(_, schema)| schema);
    serde_json::to_string_pretty(&schema).expect("a schema has only names for keys") + "\n"
}

/// The page: a table for each document, and one for each type in it.
pub(crate) fn page(note: &str) -> String {
    let mut page = format!(
        "{note}# JSON of captures\n\nThe documents of `caudal pcap --json`. Keys are only added within a version; one that is present \
         *sometimes* is absent where its value is not known, never null. With `--flow N` the document holds that flow alone, and the findings \
         about it and about the capture as a whole. JSON Schemas: [pcap.schema.json](pcap.schema.json), \
         [pcap-ends.schema.json](pcap-ends.schema.json).\n"
    );
    let mut types = Map::new();
    for (format, schema) in schemas() {
        let schema = schema.to_value();
        let name = if format == ENDS_SCHEMA {
            "pcap_ends"
        } else {
            "pcap"
        };
        let definitions = definitions(&schema).clone();
        let _ = write!(
            page,
            "\n## The {name} object\n\nSchema {format}. Table `{name}`.\n"
        );
        table(&mut page, &schema, &definitions);
        types.extend(definitions);
    }
    page += "\n## Types\n";
    for (name, schema) in types.iter().filter(|(_, schema)| is_object(schema)) {
        let about = text(schema, "description");
        let _ = write!(page, "\n### Type `{}`\n\n{about}\n", snake(name));
        table(&mut page, schema, &types);
    }
    page
}

fn definitions(schema: &Value) -> &Map<String, Value> {
    schema["$defs"].as_object().expect("the document has types")
}

fn is_object(schema: &Value) -> bool {
    schema["properties"].is_object()
}

fn text<'a>(schema: &'a Value, key: &str) -> &'a str {
    schema[key].as_str().unwrap_or_default()
}

/// Writes the keys of an object.
fn table(page: &mut String, schema: &Value, types: &Map<String, Value>) {
    *page += "\n| path | type | unit | present | meaning |\n|---|---|---|---|---|\n";
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let properties = schema["properties"].as_object().into_iter().flatten();
    for (key, property) in properties {
        let (ending, kind) = kind(property, types);
        let present = if required.contains(&Value::from(key.as_str())) && ending.is_empty() {
            "always"
        } else if required.contains(&Value::from(key.as_str())) {
            "sometimes, always a list"
        } else {
            "sometimes"
        };
        let meaning = text(property, "description").replace(['\n'], " ");
        let meaning = meaning.replace('|', "\\|") + &choices(property, types);
        let unit = unit(key);
        let _ = writeln!(
            page,
            "| `{key}{ending}` | {kind} | {unit} | {present} | {meaning} |"
        );
    }
}

/// What the path of a property ends in, and its type.
fn kind(property: &Value, types: &Map<String, Value>) -> (&'static str, String) {
    let property = without_null(property);
    if property["type"] == "array" || property["type"][0] == "array" {
        if property["prefixItems"].is_array() {
            return ("", "array".to_owned());
        }
        let (_, items) = kind(&property["items"], types);
        return ("[]", items);
    }
    if let Some(name) = reference(property) {
        let target = &types[name];
        return if is_object(target) {
            ("", format!("*{}*", snake(name)))
        } else {
            kind(target, types)
        };
    }
    let is_choice = property["oneOf"].is_array() || property["enum"].is_array();
    let named = property["type"].as_str();
    let first = property["type"][0].as_str();
    let kind = named.or(first).filter(|_| !is_choice).unwrap_or("string");
    ("", kind.to_owned())
}

/// A property that may be absent, without the null that its schema allows.
fn without_null(property: &Value) -> &Value {
    let any = property["anyOf"].as_array();
    any.and_then(|any| any.iter().find(|one| one["type"] != "null"))
        .unwrap_or(property)
}

fn reference(property: &Value) -> Option<&str> {
    property["$ref"].as_str()?.strip_prefix("#/$defs/")
}

/// The values of a property that has a few.
fn choices(property: &Value, types: &Map<String, Value>) -> String {
    let mut property = without_null(property);
    if property["items"].is_object() {
        property = &property["items"];
    }
    let target = reference(property).map_or(property, |name| &types[name]);
    let listed = target["oneOf"].as_array().into_iter().flatten();
    let constants = listed.flat_map(|one| {
        let several = one["enum"].as_array().into_iter().flatten();
        one["const"]
            .as_str()
            .into_iter()
            .chain(several.filter_map(Value::as_str))
    });
    let plain = target["enum"].as_array().into_iter().flatten();
    let names: Vec<String> = constants
        .chain(plain.filter_map(Value::as_str))
        .map(|name| format!("`{name}`"))
        .collect();
    if names.is_empty() {
        return String::new();
    }
    format!(" One of {}.", names.join(", "))
}

fn unit(key: &str) -> &'static str {
    let endings = [
        ("bytes", "bytes"),
        ("_us", "µs"),
        ("_ns", "ns"),
        ("_bps", "bit/s"),
        ("_ppm", "10⁻⁶"),
        ("_s", "s"),
    ];
    let found = endings.iter().find(|(ending, _)| key.ends_with(ending));
    found.map_or("", |(_, unit)| *unit)
}

/// The name of a type as the page writes it.
fn snake(name: &str) -> String {
    let mut snake = String::new();
    for (at, c) in name.chars().enumerate() {
        if c.is_uppercase() && at > 0 {
            snake.push('_');
        }
        snake.extend(c.to_lowercase());
    }
    snake
}
