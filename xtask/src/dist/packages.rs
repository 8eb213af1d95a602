//! The files of a release, and what each package has of them.

use super::archive::{PackagedFile, tar_gz};
use super::build::{BuiltProgram, VERSION};
use super::cargo_metadata::CargoMetadata;
use super::{build, deb, documents, licences, sbom, wheel};
use clap::Args;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

/// The maximum size of a program that is built for a package, bytes.
const MAX_PROGRAM_BYTES: u64 = 15_000_000;

/// `dist`
#[derive(Debug, Clone, Args)]
pub struct DistArgs {
    /// The directory for the packages [default: target/dist]
    pub directory: Option<PathBuf>,
    /// Package this program instead of building one
    #[arg(long, value_name = "PATH", conflicts_with = "target")]
    pub binary: Option<PathBuf>,
    /// Build for this target only, such as aarch64-unknown-linux-musl [default: musl of this machine's processor, and of others for
    /// which there is a C compiler]
    #[arg(long, value_name = "TRIPLE")]
    pub target: Option<String>,
}

/// Makes the packages.
///
/// # Errors
/// When a program cannot be built, or a file cannot be written.
pub fn dist(root: &Path, args: &DistArgs) -> io::Result<Vec<PathBuf>> {
    let directory = match &args.directory {
        Some(directory) => directory.clone(),
        None => root.join("target/dist"),
    };
    let programs = programs(root, args)?;
    let metadata = CargoMetadata::read(root, &programs[0].target)?;
    let mut written = documents::write(&directory)?;
    written.extend(licences::write(
        root,
        &metadata,
        &directory.join("licences"),
    )?);
    written.push(write(
        &directory.join(format!("caudal-{VERSION}.cdx.json")),
        sbom::document(root, &metadata)?.as_bytes(),
    )?);
    let containerfile = include_str!("../../../packaging/Containerfile");
    let containerfile = containerfile
        .replace("@VERSION@", VERSION)
        .replace("x86_64-unknown-linux-musl", &programs[0].target);
    written.push(write(
        &directory.join("Containerfile"),
        containerfile.as_bytes(),
    )?);
    let documents = written.clone();
    for program in &programs {
        written.extend(package(root, &directory, program, &documents)?);
    }
    written.push(write_checksums(&directory, &written)?);
    Ok(written)
}

/// The programs to package, at least one.
fn programs(root: &Path, args: &DistArgs) -> io::Result<Vec<BuiltProgram>> {
    if let Some(path) = &args.binary {
        return Ok(vec![BuiltProgram::given(path)?]);
    }
    let programs = build::build(root, args.target.as_deref())?;
    for program in &programs {
        let size = program.content.len() as u64;
        if size > MAX_PROGRAM_BYTES {
            return Err(io::Error::other(format!(
                "the program for {} has {size} bytes, more than {MAX_PROGRAM_BYTES}",
                program.target
            )));
        }
        if !program.elf.is_static {
            let target = &program.target;
            return Err(io::Error::other(format!(
                "the program for {target} is not static"
            )));
        }
    }
    Ok(programs)
}

/// Writes the packages of one program: itself, a .tar.gz, a .deb and a wheel.
fn package(
    root: &Path,
    directory: &Path,
    program: &BuiltProgram,
    documents: &[PathBuf],
) -> io::Result<Vec<PathBuf>> {
    let target = &program.target;
    let place = directory.join(target);
    std::fs::create_dir_all(&place)?;
    let alone = write(&place.join("caudal"), &program.content)?;
    make_executable(&alone)?;
    let folder = format!("caudal-{VERSION}-{target}");
    let mut files = vec![PackagedFile::program(
        &format!("{folder}/caudal"),
        program.content.clone(),
    )];
    for path in documents {
        let name = path.strip_prefix(directory).unwrap_or(path);
        let name = format!("{folder}/{}", name.display());
        files.push(PackagedFile::data(&name, std::fs::read(path)?));
    }
    let service = include_bytes!("../../../packaging/caudal.service");
    files.push(PackagedFile::data(
        &format!("{folder}/caudal.service"),
        service.to_vec(),
    ));
    let archive = write(
        &directory.join(format!("{folder}.tar.gz")),
        &tar_gz(&files)?,
    )?;
    let name = deb::file_name(program.elf.architecture);
    let deb = write(&directory.join(name), &deb::package(directory, program)?)?;
    let wheel = write(
        &directory.join(wheel::file_name(program)),
        &wheel::wheel(root, program)?,
    )?;
    Ok(vec![alone, archive, deb, wheel])
}

fn write(path: &Path, content: &[u8]) -> io::Result<PathBuf> {
    std::fs::write(path, content)?;
    Ok(path.to_owned())
}

fn make_executable(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))
}

/// Writes the checksums of `files`, which are below `directory`.
fn write_checksums(directory: &Path, files: &[PathBuf]) -> io::Result<PathBuf> {
    let mut lines = Vec::new();
    for file in files {
        let name = file.strip_prefix(directory).unwrap_or(file);
        let digest = hex::encode(Sha256::digest(std::fs::read(file)?));
        lines.push((name.display().to_string(), digest));
    }
    lines.sort();
    let mut text = String::new();
    for (name, digest) in lines {
        let _ = writeln!(text, "{digest}  {name}");
    }
    write(&directory.join("SHA256SUMS"), text.as_bytes())
}
