//! The crates that a program is made of, from `cargo metadata` and Cargo.lock.

use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The output of `cargo metadata`.
#[derive(Debug, Deserialize)]
pub(super) struct CargoMetadata {
    packages: Vec<CargoPackage>,
    resolve: ResolvedPackages,
}

/// A crate.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct CargoPackage {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) version: String,
    pub(super) license: Option<String>,
    pub(super) description: Option<String>,
    pub(super) repository: Option<String>,
    /// Its registry; `None` for one of the workspace.
    pub(super) source: Option<String>,
    manifest_path: PathBuf,
    targets: Vec<CargoTarget>,
}

#[derive(Debug, Clone, Deserialize)]
struct CargoTarget {
    kind: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct ResolvedPackages {
    nodes: Vec<ResolvedPackage>,
}

#[derive(Debug, Deserialize)]
struct ResolvedPackage {
    id: String,
    deps: Vec<ResolvedDependency>,
}

#[derive(Debug, Deserialize)]
struct ResolvedDependency {
    pkg: String,
    dep_kinds: Vec<DependencyUse>,
}

#[derive(Debug, Deserialize)]
struct DependencyUse {
    /// `None` for an ordinary dependency, else `build` or `dev`.
    kind: Option<String>,
}

/// The part that a crate has in the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CrateScope {
    /// Its code is in the program.
    Linked,
    /// It is needed to build the program.
    Build,
}

impl CargoPackage {
    /// The directory of its sources.
    pub(super) fn directory(&self) -> &Path {
        self.manifest_path.parent().unwrap_or(&self.manifest_path)
    }

    /// Its licences as an SPDX expression; older crates have a slash for OR.
    pub(super) fn licence(&self) -> String {
        let licence = self.license.as_deref().unwrap_or("NOASSERTION");
        licence.replace(" / ", " OR ").replace('/', " OR ")
    }

    fn is_of_compiler(&self) -> bool {
        let mut kinds = self.targets.iter().flat_map(|target| &target.kind);
        kinds.any(|kind| kind == "proc-macro")
    }
}

impl CargoMetadata {
    /// Asks cargo, for one target.
    pub(super) fn read(root: &Path, target: &str) -> io::Result<Self> {
        let output = Command::new(env!("CARGO"))
            .current_dir(root)
            .args(["metadata", "--format-version", "1", "--locked"])
            .args(["--filter-platform", target])
            .output()?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(io::Error::other(text));
        }
        serde_json::from_slice(&output.stdout).map_err(io::Error::other)
    }

    /// The crate with the program.
    pub(super) fn program(&self) -> io::Result<&CargoPackage> {
        let found = self.packages.iter().find(|one| one.name == "caudal");
        found.ok_or_else(|| io::Error::other("the workspace has no package caudal"))
    }

    /// The crates that the program is made of, itself included, in the order of their names.
    pub(super) fn crates(&self) -> io::Result<Vec<(&CargoPackage, CrateScope)>> {
        let by_id: BTreeMap<&str, &CargoPackage> = self
            .packages
            .iter()
            .map(|one| (one.id.as_str(), one))
            .collect();
        let program = self.program()?.id.as_str();
        let linked = self.reachable(program, |one, kind| {
            kind.is_none() && by_id.get(one).is_some_and(|one| !one.is_of_compiler())
        });
        let all = self.reachable(program, |_, kind| kind != Some("dev"));
        let mut crates: Vec<_> = all
            .iter()
            .filter_map(|id| {
                let scope = if linked.contains(id) {
                    CrateScope::Linked
                } else {
                    CrateScope::Build
                };
                Some((*by_id.get(id)?, scope))
            })
            .collect();
        crates.sort_by_key(|(one, _)| (one.name.clone(), one.version.clone()));
        Ok(crates)
    }

    /// The ids of the dependencies of a crate that are not for its tests.
    pub(super) fn dependencies(&self, id: &str) -> Vec<&str> {
        let deps = self.deps(id);
        let used =
            deps.filter(|(_, uses)| uses.iter().any(|one| one.kind.as_deref() != Some("dev")));
        used.map(|(id, _)| id).collect()
    }

    fn deps(&self, id: &str) -> impl Iterator<Item = (&str, &[DependencyUse])> {
        let nodes = self.resolve.nodes.iter().filter(move |node| node.id == id);
        let deps = nodes.flat_map(|node| &node.deps);
        deps.map(|dep| (dep.pkg.as_str(), dep.dep_kinds.as_slice()))
    }

    /// The crates that are reached through the dependencies that `follow` accepts by id and kind.
    fn reachable<'a>(
        &'a self,
        from: &'a str,
        follow: impl Fn(&str, Option<&str>) -> bool,
    ) -> BTreeSet<&'a str> {
        let mut found = BTreeSet::from([from]);
        let mut pending = vec![from];
        while let Some(id) = pending.pop() {
            for (dep, uses) in self.deps(id) {
                let is_followed = uses.iter().any(|one| follow(dep, one.kind.as_deref()));
                if is_followed && found.insert(dep) {
                    pending.push(dep);
                }
            }
        }
        found
    }
}

/// The entries of Cargo.lock.
#[derive(Debug, Deserialize)]
struct CargoLock {
    package: Vec<LockedPackage>,
}

#[derive(Debug, Deserialize)]
struct LockedPackage {
    name: String,
    version: String,
    checksum: Option<String>,
}

/// The SHA-256 checksums of the crates' files at the registry, by name and version.
pub(super) fn checksums(root: &Path) -> io::Result<BTreeMap<(String, String), String>> {
    let text = std::fs::read_to_string(root.join("Cargo.lock"))?;
    let lock: CargoLock = toml::from_str(&text).map_err(io::Error::other)?;
    let entries = lock.package.into_iter();
    let entries = entries.filter_map(|one| Some(((one.name, one.version), one.checksum?)));
    Ok(entries.collect())
}
