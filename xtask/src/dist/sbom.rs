//! The bill of materials: CycloneDX 1.5, JSON.
//!
//! Source: <https://cyclonedx.org/docs/1.5/json/>

use super::archive::source_date;
use super::cargo_metadata::{CargoMetadata, CargoPackage, CrateScope, checksums};
use caudal_core::date::rfc3339;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// A bill of materials.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct BillOfMaterials {
    bom_format: &'static str,
    spec_version: &'static str,
    version: u32,
    metadata: BomMetadata,
    components: Vec<BomComponent>,
    dependencies: Vec<BomDependency>,
}

#[derive(Debug, Serialize)]
struct BomMetadata {
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp: Option<String>,
    component: BomComponent,
}

/// A crate, or the program.
#[derive(Debug, Serialize)]
struct BomComponent {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(rename = "bom-ref")]
    reference: String,
    name: String,
    version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    scope: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hashes: Vec<BomHash>,
    licenses: Vec<BomLicence>,
    purl: String,
    #[serde(rename = "externalReferences", skip_serializing_if = "Vec::is_empty")]
    external_references: Vec<BomReference>,
}

#[derive(Debug, Serialize)]
struct BomHash {
    alg: &'static str,
    content: String,
}

#[derive(Debug, Serialize)]
struct BomLicence {
    expression: String,
}

#[derive(Debug, Serialize)]
struct BomReference {
    #[serde(rename = "type")]
    kind: &'static str,
    url: String,
}

#[derive(Debug, Serialize)]
struct BomDependency {
    #[serde(rename = "ref")]
    reference: String,
    #[serde(rename = "dependsOn")]
    depends_on: Vec<String>,
}

/// The bill of materials of the program.
pub(super) fn document(root: &Path, metadata: &CargoMetadata) -> io::Result<String> {
    let checksums = checksums(root)?;
    let hash = |one: &CargoPackage| checksums.get(&(one.name.clone(), one.version.clone()));
    let crates = metadata.crates()?;
    let program = metadata.program()?;
    let mut components = Vec::new();
    for (one, scope) in crates.iter().filter(|(one, _)| one.id != program.id) {
        components.push(component(one, *scope, "library", hash(one)));
        components.extend(sqlite(one)?);
    }
    let timestamp = source_date()?.map(|seconds| rfc3339(seconds.saturating_mul(1_000_000_000)));
    let document = BillOfMaterials {
        bom_format: "CycloneDX",
        spec_version: "1.5",
        version: 1,
        metadata: BomMetadata {
            timestamp,
            component: component(program, CrateScope::Linked, "application", None),
        },
        components,
        dependencies: dependencies(metadata, &crates),
    };
    let text = serde_json::to_string_pretty(&document).map_err(io::Error::other)?;
    Ok(text + "\n")
}

/// The package URL of a crate, which is its reference as well.
fn package_url(one: &CargoPackage) -> String {
    format!("pkg:cargo/{}@{}", one.name, one.version)
}

fn component(
    one: &CargoPackage,
    scope: CrateScope,
    kind: &'static str,
    checksum: Option<&String>,
) -> BomComponent {
    let hashes = checksum.into_iter().map(|content| BomHash {
        alg: "SHA-256",
        content: content.clone(),
    });
    let repository = one.repository.iter().map(|url| BomReference {
        kind: "vcs",
        url: url.clone(),
    });
    BomComponent {
        kind,
        reference: package_url(one),
        name: one.name.clone(),
        version: one.version.clone(),
        description: one.description.as_ref().map(|text| text.trim().to_owned()),
        scope: match scope {
            CrateScope::Linked => "required",
            CrateScope::Build => "excluded",
        },
        hashes: hashes.collect(),
        licenses: vec![BomLicence {
            expression: one.licence(),
        }],
        purl: package_url(one),
        external_references: repository.collect(),
    }
}

/// SQLite, which one of the crates brings as C.
fn sqlite(one: &CargoPackage) -> io::Result<Option<BomComponent>> {
    if one.name != "libsqlite3-sys" {
        return Ok(None);
    }
    let header = std::fs::read_to_string(one.directory().join("sqlite3/sqlite3.h"))?;
    let defined = header
        .lines()
        .find_map(|line| line.strip_prefix("#define SQLITE_VERSION "));
    let version = defined.map(|text| text.trim().trim_matches('"').to_owned());
    let version = version.ok_or_else(|| io::Error::other("sqlite3.h names no version"))?;
    let purl = format!("pkg:generic/sqlite@{version}");
    Ok(Some(BomComponent {
        kind: "library",
        reference: purl.clone(),
        name: "sqlite".to_owned(),
        version,
        description: Some("The C library within libsqlite3-sys".to_owned()),
        scope: "required",
        hashes: Vec::new(),
        licenses: vec![BomLicence {
            expression: "blessing".to_owned(),
        }],
        purl,
        external_references: Vec::new(),
    }))
}

fn dependencies(
    metadata: &CargoMetadata,
    crates: &[(&CargoPackage, CrateScope)],
) -> Vec<BomDependency> {
    let references: BTreeMap<&str, String> = crates
        .iter()
        .map(|(one, _)| (one.id.as_str(), package_url(one)))
        .collect();
    let of = |(one, _): &(&CargoPackage, CrateScope)| {
        let used = metadata.dependencies(&one.id).into_iter();
        let mut depends_on: Vec<String> =
            used.filter_map(|id| references.get(id).cloned()).collect();
        depends_on.sort();
        BomDependency {
            reference: package_url(one),
            depends_on,
        }
    };
    crates.iter().map(of).collect()
}
