//! The flags of `caudal ui`.

use clap::Args;
use std::path::PathBuf;

const EXAMPLES: &str = "Examples:\n  \
    caudal ui                       open the address it prints\n  \
    caudal ui -p 8080\n  \
    ssh -L 8080:127.0.0.1:8080 far.example caudal ui -p 8080    of another machine";

/// `caudal ui`
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct UiArgs {
    /// The port on 127.0.0.1 and ::1; 0 takes a free one
    #[arg(
        short,
        long,
        value_name = "PORT",
        default_value_t = 5280,
        allow_negative_numbers = true
    )]
    pub port: u16,
    /// The store of what is recorded and shown [default: CAUDAL_STORE, or caudal/store.db in the user's data directory]
    #[arg(long, value_name = "FILE")]
    pub store: Option<PathBuf>,
}
