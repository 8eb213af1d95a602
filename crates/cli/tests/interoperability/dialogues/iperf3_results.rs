//! The JSON that both ends of an iperf3 test exchange at its end: recorded, filled in, and compared.

use serde_json::{Value, json};

/// Recorded results with what the replay has counted in place of the amounts: for each stream its bytes, and its
/// datagrams over UDP.
pub fn filled_in(recorded: &str, counted: &[(u64, Option<u64>)]) -> String {
    let mut results: Value = serde_json::from_str(recorded).unwrap();
    let streams = results["streams"].as_array_mut().unwrap();
    assert_eq!(streams.len(), counted.len(), "{recorded}");
    for (stream, (bytes, datagrams)) in streams.iter_mut().zip(counted) {
        stream["bytes"] = json!(bytes);
        if let Some(datagrams) = datagrams {
            stream["packets"] = json!(datagrams);
            stream["errors"] = json!(0);
        }
    }
    results.to_string()
}

/// Fails unless `ours` has every key of the recorded results, and numbers where they have numbers.
pub fn assert_has_keys_of(ours: &Value, recorded: &str) {
    let recorded: Value = serde_json::from_str(recorded).unwrap();
    let (theirs, own) = (
        recorded["streams"].as_array().unwrap(),
        ours["streams"].as_array().unwrap(),
    );
    assert_eq!(theirs.len(), own.len(), "{ours}");
    let pairs = theirs.iter().zip(own).chain([(&recorded, ours)]);
    for (theirs, own) in pairs {
        for (key, value) in theirs.as_object().unwrap() {
            let is_alike = own
                .get(key)
                .is_some_and(|found| found.is_number() == value.is_number());
            assert!(is_alike, "{key}: {own}");
        }
        assert_eq!(theirs.get("id"), own.get("id"), "{ours}");
    }
}
