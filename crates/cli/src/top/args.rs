//! The command line of `caudal top`.

use std::path::PathBuf;

/// `caudal top`
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct TopArgs {
    /// The runs to play; Tab goes to the next
    #[arg(value_name = "RUN", default_value = "last")]
    pub runs: Vec<String>,
    /// Show the clients of a server of this user on this machine, on PORT where several run
    #[arg(long, value_name = "PORT", num_args = 0..=1, conflicts_with_all = ["runs", "lab"])]
    pub serve: Option<Option<u16>>,
    /// Show a lab with its counters, queues and drops
    #[arg(long, value_name = "NAME", num_args = 0..=1, conflicts_with = "runs")]
    pub lab: Option<Option<String>>,
    /// Show the tests of a path of `caudal watch` over days, with the times at which they changed
    #[arg(long, value_name = "NAME", conflicts_with_all = ["runs", "serve", "lab"])]
    pub watch: Option<String>,
    /// Show a study with its trials as they come and the time left, by ID or NAME; without one the newest
    #[arg(long, value_name = "ID|NAME", num_args = 0..=1, conflicts_with_all = ["runs", "serve", "lab", "watch"])]
    pub study: Option<Option<String>>,
    /// Play at this multiple of the original speed
    #[arg(long, value_name = "N", default_value = "1", value_parser = speed, allow_hyphen_values = true)]
    pub speed: f64,
    /// The store [default: CAUDAL_STORE, or caudal/store.db in the user's data directory]
    #[arg(long, value_name = "FILE")]
    pub store: Option<PathBuf>,
}

const EXAMPLES: &str = "Examples:\n  \
    caudal top                                    the newest run, played\n  \
    caudal top 1a2b3c4d 5e6f7a8b --speed 10\n  \
    caudal tcp far.example --top                  a test while it runs\n  \
    caudal top --serve\n  \
    caudal top --lab\n  \
    caudal top --study                            the newest study, while it runs\n  \
    caudal top --watch far-rtt                    days of a watched path\n\n\
    `?` explains the keys.";

/// Reads a speed: a finite number above zero.
fn speed(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|speed: &f64| speed.is_finite() && *speed > 0.0)
        .ok_or_else(|| format!("{text:?} is not a speed; give a number above 0 such as 10"))
}
