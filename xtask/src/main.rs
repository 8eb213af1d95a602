//! Repository chores: `cargo run -p xtask -- dist`, `fuzz`, `reference`, `ui` and `publish-check`.
#![forbid(unsafe_code)]

mod crates;
mod csv_columns;
mod dist;
mod fuzz;
mod pcap_json;
mod publish;
mod reference;
mod ui;

use clap::{Parser, Subcommand};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Repository chores of caudal.
#[derive(Debug, Parser)]
#[command(name = "cargo run -p xtask --")]
struct Chores {
    #[command(subcommand)]
    chore: Chore,
}

/// A chore.
#[derive(Debug, Subcommand)]
enum Chore {
    /// Packages: static programs, .deb, man pages, completions, SBOM, checksums
    Dist(dist::DistArgs),
    /// Build and run the fuzz targets with the stable compiler
    Fuzz(fuzz::FuzzArgs),
    /// docs/reference/, from the definitions in the code
    Reference,
    /// The pages of `caudal ui`, from their sources, with npm
    Ui(ui::UiBundleArgs),
    /// Package every crate as for its publication, without uploading anything
    PublishCheck(publish::PublishArgs),
}

fn main() -> ExitCode {
    let root = root();
    let done = match Chores::parse().chore {
        Chore::Dist(args) => dist::dist(root, &args),
        Chore::Fuzz(args) => fuzz::fuzz(root, &args),
        Chore::Reference => reference::write(root),
        Chore::Ui(args) => ui::bundle(root, &args),
        Chore::PublishCheck(args) => publish::check(root, &args),
    };
    report(done)
}

/// Prints what was written, or the error.
fn report(done: io::Result<Vec<PathBuf>>) -> ExitCode {
    match done {
        Ok(written) => {
            for path in written {
                println!("{}", path.display());
            }
            ExitCode::SUCCESS
        }
        Err(cause) => {
            eprintln!("xtask: {cause}");
            ExitCode::FAILURE
        }
    }
}

/// The repository.
fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}
