//! Wheels: the module in Python with the program inside, which `pip install` puts beside the interpreter.
//!
//! Source: PEP 427 and the specification of binary distributions, <https://packaging.python.org/specifications/binary-distribution-format/>.

use super::build::{BuiltProgram, VERSION};
use base64ct::{Base64UrlUnpadded, Encoding};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::io::{self, Cursor, Write};
use std::path::Path;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// A file of a wheel: its path, its content, whether it can be executed.
type WheelFile = (String, Vec<u8>, bool);

/// The name of the wheel for a program.
pub(super) fn file_name(program: &BuiltProgram) -> String {
    format!("caudal-{VERSION}-py3-none-{}.whl", platform(program))
}

/// The platforms that a program runs on, as tags: a static one on every libc.
fn platform(program: &BuiltProgram) -> String {
    let architecture = program.target.split('-').next().unwrap_or_default();
    if program.elf.is_static {
        format!(
            "manylinux_2_17_{architecture}.manylinux2014_{architecture}.musllinux_1_1_{architecture}"
        )
    } else {
        format!("linux_{architecture}")
    }
}

/// The wheel of a program.
pub(super) fn wheel(root: &Path, program: &BuiltProgram) -> io::Result<Vec<u8>> {
    let info = format!("caudal-{VERSION}.dist-info");
    let mut files: Vec<WheelFile> = Vec::new();
    let module = root.join("python/src/caudal");
    let mut names: Vec<_> = std::fs::read_dir(&module)?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.ends_with(".py") || name == "py.typed")
        .collect();
    names.sort();
    for name in names {
        let content = std::fs::read(module.join(&name))?;
        files.push((format!("caudal/{name}"), content, false));
    }
    let script = format!("caudal-{VERSION}.data/scripts/caudal");
    files.push((script, program.content.clone(), true));
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        let content = std::fs::read(root.join(licence))?;
        files.push((format!("{info}/{licence}"), content, false));
    }
    let readme = std::fs::read_to_string(root.join("python/README.md"))?;
    files.push((format!("{info}/METADATA"), metadata(&readme).into(), false));
    let tags = platform(program);
    let tags: String = tags.split('.').fold(String::new(), |mut text, tag| {
        let _ = writeln!(text, "Tag: py3-none-{tag}");
        text
    });
    let about =
        format!("Wheel-Version: 1.0\nGenerator: caudal xtask\nRoot-Is-Purelib: false\n{tags}");
    files.push((format!("{info}/WHEEL"), about.into(), false));
    let record = record(&files, &info);
    files.push((format!("{info}/RECORD"), record.into(), false));
    packed(&files)
}

fn metadata(readme: &str) -> String {
    format!(
        "Metadata-Version: 2.1\nName: caudal\nVersion: {VERSION}\nSummary: Measures what a network gives TCP and UDP, and says why\n\
         License: MIT OR Apache-2.0\nKeywords: network,iperf,throughput,latency,benchmark\nClassifier: Operating System :: POSIX :: Linux\n\
         Classifier: Typing :: Typed\nRequires-Python: >=3.9\nProvides-Extra: pandas\nRequires-Dist: pandas; extra == 'pandas'\n\
         Provides-Extra: polars\nRequires-Dist: polars; extra == 'polars'\nDescription-Content-Type: text/markdown\n\n{readme}"
    )
}

/// The list of all files with their digests; its own line has none.
fn record(files: &[WheelFile], info: &str) -> String {
    let mut text = String::new();
    for (path, content, _) in files {
        let digest = Base64UrlUnpadded::encode_string(&Sha256::digest(content));
        let _ = writeln!(text, "{path},sha256={digest},{}", content.len());
    }
    let _ = writeln!(text, "{info}/RECORD,,");
    text
}

/// The files as a zip archive, in which every file has the first time that zip knows.
fn packed(files: &[WheelFile]) -> io::Result<Vec<u8>> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (path, content, is_program) in files {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .last_modified_time(zip::DateTime::default())
            .unix_permissions(if *is_program { 0o755 } else { 0o644 });
        archive.start_file(path, options)?;
        archive.write_all(content)?;
    }
    Ok(archive.finish()?.into_inner())
}
