//! The store that runs are recorded in.

use caudal_store::check_tag;
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
    /// Put a tag on what is recorded, for `caudal report`; may be given several times, and CAUDAL_TAG has more, with commas
    #[arg(long, value_name = "TAG", value_parser = tag_name, conflicts_with = "no_store")]
    pub tag: Vec<String>,
}

/// Parses a tag.
pub fn tag_name(text: &str) -> Result<String, String> {
    match check_tag(text) {
        Ok(()) => Ok(text.to_owned()),
        Err(why) => Err(why.to_string()),
    }
}
