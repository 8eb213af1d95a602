//! The Debian package: deb(5), made without Debian's tools.

use super::archive::{PackagedFile, gz, source_date, tar_gz};
use super::build::{BuiltProgram, VERSION};
use super::elf::Architecture;
use std::io;
use std::path::Path;

/// The maintainer where `DEB_MAINTAINER` names none.
const MAINTAINER: &str = "caudal developers <caudal@example.invalid>";
/// The settings of the service, which an upgrade leaves as their administrator wrote them.
const SETTINGS: &str = "etc/default/caudal";

/// The name of the package's file.
pub(super) fn file_name(architecture: Architecture) -> String {
    format!("caudal_{VERSION}_{}.deb", architecture.debian())
}

/// The package of a program with the documents that are in `directory`.
pub(super) fn package(directory: &Path, program: &BuiltProgram) -> io::Result<Vec<u8>> {
    let files = files(directory, program)?;
    let control = control(program, &files);
    let settings = format!("/{SETTINGS}\n");
    let scripts = [
        ("postinst", include_str!("../../../packaging/postinst")),
        ("prerm", include_str!("../../../packaging/prerm")),
        ("postrm", include_str!("../../../packaging/postrm")),
    ];
    let mut meta = vec![
        PackagedFile::data("control", control.into_bytes()),
        PackagedFile::data("conffiles", settings.into_bytes()),
    ];
    for (name, script) in scripts {
        meta.push(PackagedFile::program(name, script.as_bytes().to_vec()));
    }
    let time = source_date()?.unwrap_or(0);
    let mut archive = b"!<arch>\n".to_vec();
    add_member(&mut archive, "debian-binary", time, b"2.0\n");
    add_member(&mut archive, "control.tar.gz", time, &tar_gz(&meta)?);
    add_member(&mut archive, "data.tar.gz", time, &tar_gz(&files)?);
    Ok(archive)
}

/// Adds a file to an archive: ar(5).
fn add_member(archive: &mut Vec<u8>, name: &str, time: u64, content: &[u8]) {
    let header = format!(
        "{name:<16}{time:<12}{:<6}{:<6}{:<8}{:<10}`\n",
        0,
        0,
        "100644",
        content.len()
    );
    archive.extend_from_slice(header.as_bytes());
    archive.extend_from_slice(content);
    if content.len() % 2 == 1 {
        archive.push(b'\n');
    }
}

fn control(program: &BuiltProgram, files: &[PackagedFile]) -> String {
    let bytes: usize = files.iter().map(|file| file.content.len()).sum();
    let maintainer = std::env::var("DEB_MAINTAINER").unwrap_or_else(|_| MAINTAINER.to_owned());
    let depends = if program.elf.is_static {
        ""
    } else {
        "Depends: libc6, libgcc-s1\n"
    };
    format!(
        "Package: caudal\nVersion: {VERSION}\nArchitecture: {}\nMaintainer: {maintainer}\n\
         Installed-Size: {}\n{depends}Suggests: iproute2\nSection: net\nPriority: optional\n\
         Description: network performance instrument\n \
         Measures what a network gives TCP and UDP, says beforehand what it should give, and\n \
         explains the difference: goodput, loss, delay, what limited a test. Speaks to its own\n \
         kind, to iperf3, iperf 2 and nttcp, and builds test networks of its own.\n .\n \
         The package has a service for `caudal serve`, which is neither enabled nor started.\n",
        program.elf.architecture.debian(),
        bytes.div_ceil(1024)
    )
}

/// The files that are installed.
fn files(directory: &Path, program: &BuiltProgram) -> io::Result<Vec<PackagedFile>> {
    let service = include_bytes!("../../../packaging/caudal.service");
    let settings = include_bytes!("../../../packaging/default");
    let changes = include_bytes!("../../../CHANGELOG.md");
    let mut files = vec![
        PackagedFile::program("usr/bin/caudal", program.content.clone()),
        PackagedFile::data("usr/lib/systemd/system/caudal.service", service.to_vec()),
        PackagedFile::data(SETTINGS, settings.to_vec()),
        PackagedFile::data(
            "usr/share/caudal/grafana/dashboard.json",
            include_bytes!("../../../packaging/grafana/dashboard.json").to_vec(),
        ),
        PackagedFile::data(
            "usr/share/caudal/grafana/alerts.yml",
            include_bytes!("../../../packaging/grafana/alerts.yml").to_vec(),
        ),
        PackagedFile::data("usr/share/doc/caudal/changelog.gz", gz(changes)?),
        PackagedFile::data("usr/share/doc/caudal/copyright", copyright(directory)?),
    ];
    for (from, to) in [
        (
            "completions/caudal.bash",
            "usr/share/bash-completion/completions/caudal",
        ),
        (
            "completions/_caudal",
            "usr/share/zsh/vendor-completions/_caudal",
        ),
        (
            "completions/caudal.fish",
            "usr/share/fish/vendor_completions.d/caudal.fish",
        ),
    ] {
        files.push(PackagedFile::data(to, std::fs::read(directory.join(from))?));
    }
    let mut pages: Vec<_> = std::fs::read_dir(directory.join("man"))?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<_>>()?;
    pages.sort();
    for page in pages {
        let name = page.file_name().unwrap_or_default().to_string_lossy();
        let path = format!("usr/share/man/man1/{name}.gz");
        files.push(PackagedFile::data(&path, gz(&std::fs::read(&page)?)?));
    }
    let bill = format!("caudal-{VERSION}.cdx.json");
    let bill = gz(&std::fs::read(directory.join(bill))?)?;
    files.push(PackagedFile::data(
        "usr/share/doc/caudal/sbom.cdx.json.gz",
        bill,
    ));
    Ok(files)
}

/// The licences in one text.
fn copyright(directory: &Path) -> io::Result<Vec<u8>> {
    let mut text =
        b"caudal is under the MIT licence or the Apache licence 2.0, at your choice.\n".to_vec();
    for name in ["LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY"] {
        text.extend_from_slice(b"\n");
        text.extend(std::fs::read(directory.join("licences").join(name))?);
    }
    Ok(text)
}
