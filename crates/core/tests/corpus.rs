//! Documents written by earlier versions, of every kind there is: each reads as a [`Run`], and nothing of it is lost.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use caudal_core::run::{Run, SCHEMA};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Every document of the corpus, by the name of its file.
fn corpus() -> BTreeMap<String, Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let documents: BTreeMap<String, Value> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let text = fs::read_to_string(&path).unwrap();
            (name, serde_json::from_str(&text).unwrap())
        })
        .collect();
    assert!(documents.len() >= 70, "{} documents", documents.len());
    documents
}

/// Keys that have another name now: as they were, and as they are.
const RENAMED: [(&str, &str); 1] = [("places", "location")];

/// The name that a key of an earlier document has now.
fn present_name(key: &str) -> &str {
    let renamed = RENAMED.iter().find(|(before, _)| *before == key);
    renamed.map_or(key, |(_, now)| now)
}

/// The leaves of `old` that `new` lacks or has otherwise, by their path.
fn lost(path: &str, old: &Value, new: Option<&Value>, found: &mut Vec<String>) {
    match (old, new) {
        (Value::Object(old), Some(Value::Object(new))) => {
            for (key, value) in old {
                lost(
                    &format!("{path}.{key}"),
                    value,
                    new.get(present_name(key)),
                    found,
                );
            }
        }
        (Value::Array(old), Some(Value::Array(new))) if old.len() == new.len() => {
            for (nth, (old, new)) in old.iter().zip(new).enumerate() {
                lost(&format!("{path}[{nth}]"), old, Some(new), found);
            }
        }
        (old, Some(new)) if old == new => {}
        (Value::Number(old), Some(Value::Number(new))) if old.as_f64() == new.as_f64() => {}
        (old, new) => found.push(format!("{path}: {old} became {new:?}")),
    }
}

#[test]
fn every_document_reads_and_keeps_all_its_keys() {
    for (name, document) in corpus() {
        let run: Run =
            serde_json::from_value(document.clone()).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(run.header.schema, SCHEMA);
        let written = serde_json::to_value(&run).unwrap();
        let mut found = Vec::new();
        lost("", &document, Some(&written), &mut found);
        assert!(found.is_empty(), "{name}:\n{}", found.join("\n"));
    }
}

#[test]
fn the_corpus_has_every_key_that_was_renamed() {
    let texts: Vec<String> = corpus().values().map(Value::to_string).collect();
    for (before, _) in RENAMED {
        let key = format!("\"{before}\":");
        assert!(texts.iter().any(|text| text.contains(&key)), "{before}");
    }
}

#[test]
fn a_run_reads_back_as_it_was_written() {
    for (name, document) in corpus() {
        let run: Run = serde_json::from_value(document).unwrap();
        let text = serde_json::to_string(&run).unwrap();
        assert_eq!(serde_json::from_str::<Run>(&text).unwrap(), run, "{name}");
    }
}

#[test]
fn a_document_of_a_newer_version_reads_without_the_keys_it_added() {
    for (name, mut document) in corpus() {
        document["weather"] = Value::from("rain");
        document["plan"]["mood"] = Value::from(7);
        assert!(serde_json::from_value::<Run>(document).is_ok(), "{name}");
    }
}
