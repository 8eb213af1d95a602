//! `caudal rtt`: round-trip times by message size.

/// `caudal rtt`
#[derive(Debug, Clone, clap::Args)]
pub struct RttArgs {
    /// Where the server is.
    #[command(flatten)]
    pub target: crate::args::TargetArgs,
}

/// Runs `caudal rtt`.
///
/// # Errors
/// When nothing could be measured.
pub fn rtt(_args: &RttArgs, _interrupt: &'static caudal_sys::signal::Interrupt) -> Result<crate::exit::Exit, crate::exit::Failure> {
    Err(crate::exit::Failure::usage("not yet", ""))
}
