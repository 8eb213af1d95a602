//! Repository chores: `cargo run -p xtask -- dist` and `cargo run -p xtask -- reference`.
#![forbid(unsafe_code)]

mod crates;
mod dist;
mod reference;

use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo run -p xtask -- dist [DIRECTORY]   man pages and completions, into dist/ or DIRECTORY
       cargo run -p xtask -- reference          docs/reference/, from the definitions in the code";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let root = root();
    let done = match words.as_slice() {
        ["dist"] => dist::write(&root.join("dist")),
        ["dist", directory] => dist::write(Path::new(directory)),
        ["reference"] => reference::write(root),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
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
