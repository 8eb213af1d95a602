//! The licences of everything in the program: a package has to bring them along.

use super::cargo_metadata::{CargoMetadata, CargoPackage, CrateScope};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

/// The beginnings of the names of files with licences.
const NAMES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE"];

/// Writes the licences of caudal, and those of the crates in the program.
pub(super) fn write(
    root: &Path,
    metadata: &CargoMetadata,
    directory: &Path,
) -> io::Result<Vec<PathBuf>> {
    std::fs::create_dir_all(directory)?;
    let mut written = Vec::new();
    for name in ["LICENSE-APACHE", "LICENSE-MIT"] {
        let path = directory.join(name);
        std::fs::write(&path, std::fs::read(root.join(name))?)?;
        written.push(path);
    }
    let path = directory.join("THIRD-PARTY");
    let pages = std::fs::read_to_string(root.join("crates/ui/web/NOTICE"))?;
    std::fs::write(&path, format!("{}\n{pages}", third_party(metadata)?))?;
    written.push(path);
    Ok(written)
}

/// The crates with their licences, and each text once.
fn third_party(metadata: &CargoMetadata) -> io::Result<String> {
    let mut list = String::from(
        "caudal contains these libraries. The texts of their licences follow the list.\n\n",
    );
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (one, scope) in metadata.crates()? {
        if one.source.is_none() || scope == CrateScope::Build {
            continue;
        }
        let name = format!("{} {}", one.name, one.version);
        let _ = writeln!(list, "{name}: {}", one.licence());
        for text in files(one)? {
            texts.entry(text).or_default().push(name.clone());
        }
    }
    list += "Rust's standard library: MIT OR Apache-2.0\nmusl, in static programs: MIT\nSQLite: public domain\n";
    let mut texts: Vec<(String, Vec<String>)> = texts.into_iter().collect();
    texts.sort_by(|(_, one), (_, other)| one.cmp(other));
    for (text, names) in texts {
        let _ = write!(
            list,
            "\n{}\n{}\n\n{text}\n",
            "-".repeat(80),
            names.join(", ")
        );
    }
    Ok(list)
}

/// The texts of a crate's licences.
fn files(one: &CargoPackage) -> io::Result<Vec<String>> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(one.directory())? {
        let path = entry?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .to_uppercase();
        if path.is_file() && NAMES.iter().any(|start| name.starts_with(start)) {
            paths.push(path);
        }
    }
    paths.sort();
    let read = |path: PathBuf| {
        let text = String::from_utf8_lossy(&std::fs::read(path)?).replace('\r', "");
        Ok(text.trim().to_owned())
    };
    paths.into_iter().map(read).collect()
}
