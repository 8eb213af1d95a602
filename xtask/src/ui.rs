//! The bundle of the pages of `caudal ui`: made from `crates/ui/web/` with npm, checked, and kept in the repository, so that cargo alone needs no
//! node.

use clap::Args;
use sha2::{Digest, Sha256};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The files of the bundle.
const BUNDLE: [&str; 2] = ["app.js", "app.css"];
/// The file that names the sources of the bundle by their digest.
const SOURCES_FILE: &str = "sources.sha256";
/// The schema of runs, and the types that are made of it where npm works.
const SCHEMA: &str = "docs/reference/run.schema.json";
const TYPES: &str = "run.d.ts";
/// What is beside the sources and decides what comes out.
const SETTINGS: [&str; 3] = ["package.json", "package-lock.json", "tsconfig.json"];

/// What to do with the bundle.
#[derive(Debug, Args)]
pub struct UiBundleArgs {
    /// Fail where the bundle in the repository is not that of its sources, instead of writing it
    #[arg(long)]
    check: bool,
}

/// Makes the bundle: the files that were written.
///
/// # Errors
/// When npm is missing or fails, two builds differ, or the bundle in the repository is another one.
pub fn bundle(root: &Path, args: &UiBundleArgs) -> io::Result<Vec<PathBuf>> {
    let web = root.join("crates/ui/web");
    let work = root.join("target/ui");
    copy_sources(&web, &work)?;
    // The types of documents are made of the schema that the code gives.
    fs::copy(root.join(SCHEMA), work.join("run.schema.json"))?;
    npm(
        &work,
        &["ci", "--ignore-scripts", "--no-audit", "--no-fund"],
    )?;
    npm(&work, &["run", "types"])?;
    npm(&work, &["run", "check"])?;
    npm(&work, &["test"])?;
    let build = || {
        npm(&work, &["run", "build"])?;
        let files = BUNDLE.map(|name| fs::read(work.join("dist").join(name)));
        files.into_iter().collect::<io::Result<Vec<Vec<u8>>>>()
    };
    let (first, second) = (build()?, build()?);
    if first != second {
        return Err(io::Error::other("two builds of the bundle differ"));
    }
    let digest = sources_digest(&web)?;
    let dist = web.join("dist");
    let mut files: Vec<(PathBuf, Vec<u8>)> = BUNDLE
        .iter()
        .map(|name| dist.join(name))
        .zip(first)
        .collect();
    files.push((dist.join(SOURCES_FILE), format!("{digest}\n").into_bytes()));
    let mut written = Vec::new();
    for (path, content) in files {
        if fs::read(&path).is_ok_and(|there| there == content) {
            continue;
        }
        if args.check {
            let what = format!(
                "{} is not that of its sources: cargo run -p xtask -- ui",
                path.display()
            );
            return Err(io::Error::other(what));
        }
        fs::create_dir_all(&dist)?;
        fs::write(&path, content)?;
        written.push(path);
    }
    Ok(written)
}

/// The digest of everything that decides what the bundle is.
///
/// # Errors
/// When a source cannot be read.
pub fn sources_digest(web: &Path) -> io::Result<String> {
    let mut digest = Sha256::new();
    for path in sources(web)? {
        let name = path.strip_prefix(web).unwrap_or(&path);
        digest.update(name.to_string_lossy().as_bytes());
        digest.update([0]);
        digest.update(fs::read(&path)?);
        digest.update([0]);
    }
    Ok(hex::encode(digest.finalize()))
}

/// The sources, in a fixed order.
fn sources(web: &Path) -> io::Result<Vec<PathBuf>> {
    let mut all: Vec<PathBuf> = fs::read_dir(web.join("src"))?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<_>>()?;
    all.retain(|path| !path.ends_with(TYPES));
    all.sort();
    all.extend(SETTINGS.map(|name| web.join(name)));
    Ok(all)
}

/// Copies the sources to where npm works, so that nothing of it is left in the repository.
fn copy_sources(web: &Path, work: &Path) -> io::Result<()> {
    let _ = fs::remove_dir_all(work.join("src"));
    fs::create_dir_all(work.join("src"))?;
    for path in sources(web)? {
        let name = path.strip_prefix(web).unwrap_or(&path);
        fs::copy(&path, work.join(name))?;
    }
    Ok(())
}

fn npm(work: &Path, args: &[&str]) -> io::Result<()> {
    let ran = Command::new("npm").args(args).current_dir(work).output();
    let ran = ran.map_err(|cause| io::Error::other(format!("npm: {cause}")))?;
    match ran.status.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!(
            "npm {} failed:\n{}{}",
            args.join(" "),
            String::from_utf8_lossy(&ran.stdout),
            String::from_utf8_lossy(&ran.stderr)
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn web() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/ui/web")
    }

    #[test]
    fn the_bundle_in_the_repository_is_of_the_sources_beside_it() {
        let kept = fs::read_to_string(web().join("dist").join(SOURCES_FILE)).expect("the digest");
        let sources = sources_digest(&web()).expect("the sources");
        assert_eq!(
            kept.trim(),
            sources,
            "make the bundle again: cargo run -p xtask -- ui"
        );
    }

    #[test]
    fn the_bundle_is_small_and_loads_nothing_from_elsewhere() {
        let mut total = 0;
        for name in BUNDLE {
            let bytes = fs::read(web().join("dist").join(name)).expect("the bundle");
            let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
            io::Write::write_all(&mut packed, &bytes).expect("packed");
            total += packed.finish().expect("packed").len();
            let text = String::from_utf8_lossy(&bytes);
            // Namespaces, and no address that is loaded.
            let others = text.replace("http://www.w3.org/", "");
            assert!(
                !others.contains("http://") && !others.contains("@import"),
                "{name}"
            );
        }
        assert!(total <= 90_000, "{total} B packed");
    }
}
