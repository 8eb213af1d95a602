//! The programs of packages: static, by musl, stripped.

use super::elf::ElfHeader;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The version of all crates.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The profile of Cargo.toml.
const PROFILE: &str = "distribution";
/// The targets for which a program is built where there is a C compiler for them.
const TARGETS: [&str; 2] = ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"];

/// A program to package.
pub(super) struct BuiltProgram {
    /// Its target.
    pub(super) target: String,
    pub(super) elf: ElfHeader,
    pub(super) content: Vec<u8>,
}

impl BuiltProgram {
    /// A program that was built before.
    pub(super) fn given(path: &Path) -> io::Result<Self> {
        let named = |cause: io::Error| io::Error::other(format!("{}: {cause}", path.display()));
        let content = std::fs::read(path).map_err(named)?;
        let elf = ElfHeader::read(&content).map_err(named)?;
        let libc = if elf.is_static { "musl" } else { "gnu" };
        Ok(Self {
            target: format!("{}-unknown-linux-{libc}", elf.architecture.rust()),
            elf,
            content,
        })
    }
}

/// Builds for `only`, or for this machine's processor and for others where that is possible.
pub(super) fn build(root: &Path, only: Option<&str>) -> io::Result<Vec<BuiltProgram>> {
    if let Some(target) = only {
        return Ok(vec![build_for(root, target)?]);
    }
    let own = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
    let mut programs = vec![build_for(root, &own)?];
    for target in TARGETS.into_iter().filter(|target| *target != own) {
        match c_compiler(target) {
            Some(_) => programs.push(build_for(root, target)?),
            None => eprintln!("left out: {target}; {}", without_compiler(target)),
        }
    }
    Ok(programs)
}

fn build_for(root: &Path, target: &str) -> io::Result<BuiltProgram> {
    let compiler = c_compiler(target).ok_or_else(|| io::Error::other(without_compiler(target)))?;
    ensure_standard_library(target)?;
    let variable = target.replace('-', "_");
    let mut command = Command::new(env!("CARGO"));
    command
        .current_dir(root)
        .args([
            "build",
            "--locked",
            "--package",
            "caudal",
            "--bin",
            "caudal",
        ])
        .args(["--profile", PROFILE, "--target", target])
        .env(format!("CC_{variable}"), &compiler)
        .env("CARGO_ENCODED_RUSTFLAGS", rust_flags(root));
    if !target.starts_with(std::env::consts::ARCH) {
        let linker = format!("CARGO_TARGET_{}_LINKER", variable.to_uppercase());
        command.env(linker, &compiler);
    }
    if !command.status()?.success() {
        return Err(io::Error::other(format!(
            "the program for {target} was not built"
        )));
    }
    let path = target_directory(root)
        .join(target)
        .join(PROFILE)
        .join("caudal");
    let built = BuiltProgram::given(&path)?;
    Ok(BuiltProgram {
        target: target.to_owned(),
        ..built
    })
}

/// The flags of rustc that keep the paths of this machine out of the program.
fn rust_flags(root: &Path) -> String {
    let home = |variable: &str, default: &str| {
        let own = std::env::var_os(variable).map(PathBuf::from);
        let home = std::env::var_os("HOME")
            .map(PathBuf::from)
            .unwrap_or_default();
        own.unwrap_or_else(|| home.join(default))
    };
    let paths = [
        (home("CARGO_HOME", ".cargo"), "/cargo"),
        (home("RUSTUP_HOME", ".rustup"), "/rustup"),
        (root.to_owned(), "/caudal"),
    ];
    let flags = paths.map(|(path, to)| format!("--remap-path-prefix={}={to}", path.display()));
    // Cargo separates these flags by this character.
    flags.join("\u{1f}")
}

fn target_directory(root: &Path) -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(directory) => root.join(directory),
        None => root.join("target"),
    }
}

/// The C compiler for a target with musl: the one in its variable, or one of the usual names.
fn c_compiler(target: &str) -> Option<String> {
    let variable = format!("CC_{}", target.replace('-', "_"));
    if let Ok(compiler) = std::env::var(variable) {
        return Some(compiler);
    }
    let architecture = target.split('-').next().unwrap_or_default();
    let mut names = vec![format!("{architecture}-linux-musl-gcc")];
    if architecture == std::env::consts::ARCH {
        names.push("musl-gcc".to_owned());
    }
    names.into_iter().find(|name| is_installed(name))
}

fn is_installed(program: &str) -> bool {
    let output = Command::new(program).arg("--version").output();
    output.is_ok_and(|output| output.status.success())
}

fn without_compiler(target: &str) -> String {
    let architecture = target.split('-').next().unwrap_or_default();
    let own = if architecture == std::env::consts::ARCH {
        "musl-gcc, which on Debian is in musl-tools, or "
    } else {
        ""
    };
    let variable = target.replace('-', "_");
    format!(
        "there is no C compiler for it ({own}{architecture}-linux-musl-gcc); another is named in CC_{variable}"
    )
}

/// Adds the standard library of a target where it is missing.
fn ensure_standard_library(target: &str) -> io::Result<()> {
    let output = Command::new("rustc")
        .args(["--print", "target-libdir", "--target", target])
        .output()?;
    let path = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if output.status.success() && Path::new(&path).is_dir() {
        return Ok(());
    }
    let added = Command::new("rustup")
        .args(["target", "add", target])
        .status();
    if added.is_ok_and(|status| status.success()) {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "Rust's standard library for {target} is missing; rustup target add {target}"
    )))
}
