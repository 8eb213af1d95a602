//! The flags of `caudal check`.

use crate::args::{OutputArgs, TargetArgs};
use caudal_core::units::ByteCount;

/// `caudal check`
#[derive(Debug, Clone, clap::Args)]
#[command(
    after_help = EXAMPLES,
    mut_arg("csv", |csv| csv.help("Print comma-separated values: a row a figure")),
    mut_arg("quiet", |quiet| quiet.help("Print the verdict and what was found only")),
    mut_arg("verbose", |verbose| verbose.help("Show everything that was found"))
)]
pub struct PathCheckArgs {
    /// The server's address.
    #[command(flatten)]
    pub target: TargetArgs,
    /// Take 15 s instead of a minute: shorter tests, and no probing of the path
    #[arg(long, help_heading = "Test")]
    pub quick: bool,
    /// The flows of the tests of TCP with several
    #[arg(short = 'P', long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(2..=256), help_heading = "Test", allow_negative_numbers = true)]
    pub parallel: u32,
    /// Move no more than about this in all; TCP is limited to what that leaves it, and latency under load is left out
    #[arg(
        long,
        value_name = "SIZE",
        help_heading = "Test",
        allow_hyphen_values = true
    )]
    pub max_bytes: Option<ByteCount>,
    /// The options of the output.
    #[command(flatten)]
    pub output: OutputArgs,
}

const EXAMPLES: &str = "Examples:\n  \
    caudal check far.example                     a minute, one screen, one verdict\n  \
    caudal check far.example --quick             15 s\n  \
    caudal check far.example --max-bytes 50M     where bytes cost money\n  \
    caudal check far.example -q && echo healthy  exit code 5: not healthy, 6: cannot tell";
