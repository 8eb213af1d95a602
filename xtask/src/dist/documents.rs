//! The files that a package installs beside the program: man pages and shell completions.

use caudal_cli::args::Cli;
use clap::CommandFactory;
use clap_complete::{Shell, generate_to};
use std::io;
use std::path::{Path, PathBuf};

const SHELLS: [Shell; 3] = [Shell::Bash, Shell::Zsh, Shell::Fish];

/// Writes `man/caudal.1`, one more page for each subcommand, and `completions/` below `directory`.
///
/// # Errors
/// The error of the filesystem.
pub(super) fn write(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let (man, completions) = (directory.join("man"), directory.join("completions"));
    std::fs::create_dir_all(&man)?;
    std::fs::create_dir_all(&completions)?;
    clap_mangen::generate_to(Cli::command().disable_help_subcommand(true), &man)?;
    let mut written: Vec<PathBuf> = std::fs::read_dir(&man)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<_>>()?;
    written.sort();
    for shell in SHELLS {
        written.push(generate_to(
            shell,
            &mut Cli::command(),
            "caudal",
            &completions,
        )?);
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_subcommand_has_a_man_page_and_every_shell_completions() {
        let directory = std::env::temp_dir().join(format!("caudal-dist-{}", std::process::id()));
        let written = write(&directory).unwrap();
        let names: Vec<String> = written
            .iter()
            .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
            .collect();
        std::fs::remove_dir_all(&directory).unwrap();
        let command = Cli::command();
        let shown = command.get_subcommands().filter(|one| !one.is_hide_set());
        for subcommand in shown {
            let page = format!("caudal-{}.1", subcommand.get_name());
            assert!(names.contains(&page), "{page} is among {names:?}");
        }
        for name in ["caudal.1", "caudal.bash", "_caudal", "caudal.fish"] {
            assert!(
                names.iter().any(|known| known == name),
                "{name} is among {names:?}"
            );
        }
    }
}
