//! Command lines of `caudal file` for tests.

use super::args::FileArgs;
use clap::Parser;

#[derive(Parser)]
#[command(no_binary_name = true)]
struct FileLine {
    #[command(flatten)]
    args: FileArgs,
}

/// The flags of a command line without the program and the command.
pub(super) fn parsed(line: &str) -> FileArgs {
    FileLine::parse_from(line.split_whitespace()).args
}
