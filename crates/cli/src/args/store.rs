//! The store that runs are recorded in.

use clap::Args;
use std::path::PathBuf;

/// The store that runs are recorded in.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Store")]
pub struct StoreArgs {
    /// Record the run in FILE, for `caudal report` [default: CAUDAL_STORE, or caudal/store.db in the user's data directory]
    #[arg(long, value_name = "FILE")]
    pub store: Option<PathBuf>,
    /// Do not record the run; CAUDAL_STORE=none has the same effect
    #[arg(long, conflicts_with = "store")]
    pub no_store: bool,
}
