//! The dependencies, their licences and their sources are those that deny.toml allows.

use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::Command;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

#[derive(Deserialize)]
struct Deny {
    licenses: Licences,
    bans: Bans,
    sources: Sources,
}

#[derive(Deserialize)]
struct Bans {
    wildcards: String,
    deny: Vec<BannedCrate>,
}

#[derive(Deserialize)]
struct BannedCrate {
    name: String,
    /// The crates that may use it nevertheless.
    #[serde(default)]
    wrappers: Vec<String>,
    reason: String,
}

#[derive(Deserialize)]
struct Licences {
    allow: Vec<String>,
    exceptions: Vec<LicenceException>,
}

#[derive(Deserialize)]
struct LicenceException {
    allow: Vec<String>,
    #[serde(rename = "crate")]
    name: String,
}

#[derive(Deserialize)]
struct Sources {
    #[serde(rename = "allow-registry")]
    registries: Vec<String>,
}

/// `true` when a licence expression (SPDX; older ones have `/` for OR) is satisfied by those allowed. AND binds before OR.
fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    let expression = expression
        .replace('/', " OR ")
        .replace('(', " ( ")
        .replace(')', " ) ");
    let words: Vec<&str> = expression.split_whitespace().collect();
    let mut words = words.as_slice();
    either(&mut words, allowed) && words.is_empty()
}

fn either(words: &mut &[&str], allowed: &[String]) -> bool {
    let mut is_met = all(words, allowed);
    while words.first() == Some(&"OR") {
        *words = &words[1..];
        is_met |= all(words, allowed);
    }
    is_met
}

fn all(words: &mut &[&str], allowed: &[String]) -> bool {
    let mut is_met = one(words, allowed);
    while words.first() == Some(&"AND") {
        *words = &words[1..];
        is_met &= one(words, allowed);
    }
    is_met
}

fn one(words: &mut &[&str], allowed: &[String]) -> bool {
    let Some((word, rest)) = words.split_first() else {
        return false;
    };
    *words = rest;
    if *word == "(" {
        let is_met = either(words, allowed);
        return matches!(words.split_first(), Some((&")", rest)) if { *words = rest; is_met });
    }
    let mut licence = (*word).to_owned();
    if let ["WITH", exception, rest @ ..] = *words {
        licence += &format!(" WITH {exception}");
        *words = rest;
    }
    allowed.contains(&licence)
}

#[test]
fn expressions_of_licences_are_understood() {
    let allowed = ["MIT", "Unicode-3.0"].map(str::to_owned);
    let met = [
        "MIT",
        "Apache-2.0 OR MIT",
        "Unlicense/MIT",
        "(MIT OR Apache-2.0) AND Unicode-3.0",
    ];
    let unmet = [
        "Zlib",
        "MIT AND Zlib",
        "(MIT OR Zlib) AND GPL-3.0",
        "MIT WITH LLVM-exception",
        "",
        "(MIT",
    ];
    for expression in met {
        assert!(is_allowed(expression, &allowed), "{expression}");
    }
    for expression in unmet {
        assert!(!is_allowed(expression, &allowed), "{expression}");
    }
}

fn deny() -> Deny {
    let deny = std::fs::read_to_string(format!("{ROOT}/deny.toml")).unwrap();
    toml::from_str(&deny).unwrap()
}

/// The output of `cargo metadata`.
fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--offline"])
        .args([
            "--filter-platform",
            "x86_64-unknown-linux-gnu",
            "--manifest-path",
        ])
        .arg(format!("{ROOT}/Cargo.toml"))
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

/// The names of the crates that use the one with this identifier.
fn users(metadata: &Value, id: &str) -> Vec<String> {
    let uses_it = |node: &&Value| {
        let dependencies = node["dependencies"].as_array().unwrap();
        dependencies.iter().any(|one| one == id)
    };
    let nodes = metadata["resolve"]["nodes"].as_array().unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    nodes
        .iter()
        .filter(uses_it)
        .map(|node| {
            let package = packages.iter().find(|one| one["id"] == node["id"]);
            package.unwrap()["name"].as_str().unwrap().to_owned()
        })
        .collect()
}

#[test]
fn no_crate_is_banned_and_no_version_is_left_open() {
    let (deny, metadata) = (deny(), metadata());
    assert_eq!(deny.bans.wildcards, "deny");
    assert!(!deny.bans.deny.is_empty());
    let nodes = metadata["resolve"]["nodes"].as_array().unwrap();
    let used: BTreeSet<&str> = nodes
        .iter()
        .filter_map(|node| node["id"].as_str())
        .collect();
    for package in metadata["packages"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap();
        let id = package["id"].as_str().unwrap();
        let banned = deny.bans.deny.iter().find(|one| one.name == name);
        if let Some(banned) = banned.filter(|_| used.contains(id)) {
            let reason = &banned.reason;
            assert!(!banned.wrappers.is_empty(), "{name}: {reason}");
            for user in users(&metadata, id) {
                assert!(
                    banned.wrappers.contains(&user),
                    "{user} uses {name}: {reason}"
                );
            }
        }
        let is_published = package["publish"].is_null();
        let is_own = package["source"].is_null();
        for dependency in package["dependencies"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|_| is_own)
        {
            let is_open =
                dependency["req"] == "*" && (is_published || dependency["path"].is_null());
            assert!(!is_open, "{name}: {}", dependency["name"]);
        }
    }
}

#[test]
fn every_dependency_has_a_licence_and_a_source_that_are_allowed() {
    let (deny, metadata) = (deny(), metadata());
    let nodes = metadata["resolve"]["nodes"].as_array().unwrap();
    let used: BTreeSet<&str> = nodes
        .iter()
        .filter_map(|node| node["id"].as_str())
        .collect();
    let mut checked = 0;
    for package in metadata["packages"].as_array().unwrap() {
        let Some(source) = package["source"].as_str() else {
            continue;
        };
        if !used.contains(package["id"].as_str().unwrap()) {
            continue;
        }
        let name = package["name"].as_str().unwrap();
        let registry = source.strip_prefix("registry+").unwrap_or(source);
        assert!(
            deny.sources
                .registries
                .iter()
                .any(|known| known == registry),
            "{name}: {source}"
        );
        let mut allowed = deny.licenses.allow.clone();
        let exceptions = deny.licenses.exceptions.iter();
        allowed.extend(
            exceptions
                .filter(|one| one.name == name)
                .flat_map(|one| one.allow.clone()),
        );
        let licence = package["license"].as_str().unwrap_or("");
        assert!(
            is_allowed(licence, &allowed),
            "{name}: {licence:?}; see deny.toml"
        );
        checked += 1;
    }
    assert!(checked > 50, "{checked}");
}
