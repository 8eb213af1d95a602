//! The command line of `caudal watch`.

use super::quiet_hours::QuietHours;
use crate::metrics::MetricsAddress;
use caudal_core::units::{ByteCount, parse_duration, parse_fraction};
use std::path::PathBuf;
use std::time::Duration;

/// `caudal watch`
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct WatchArgs {
    /// A file of paths (NAME.toml), or hosts
    #[arg(value_name = "FILE|HOST", required = true)]
    pub what: Vec<String>,
    /// What to run for each host, as "tcp -t 5"; may be given several times
    #[arg(long, value_name = "TEST", default_value = "rtt -t 5s")]
    pub test: Vec<String>,
    /// The time from one test of a path to the next
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = parse_duration)]
    pub every: Duration,
    /// The longest random delay of each test [default: a tenth of --every]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub jitter: Option<Duration>,
    /// Begin no test in these hours of local time, as 22:00-06:00; may be given several times
    #[arg(long, value_name = "FROM-TO")]
    pub(super) quiet_hours: Vec<QuietHours>,
    /// The bytes that all tests of a day may move
    #[arg(long, value_name = "SIZE")]
    pub max_bytes: Option<ByteCount>,
    /// End a test that takes longer
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = parse_duration)]
    pub max_time: Duration,
    /// End after this number of tests of each path
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// Serve the last results as metrics (OpenMetrics) on PORT of loopback, or ADDRESS:PORT
    #[arg(long, value_name = "[ADDRESS:]PORT", help_heading = "Metrics")]
    pub prometheus: Option<MetricsAddress>,
    /// A name of this host that requests for metrics may name; may be given several times
    #[arg(long, value_name = "NAME", help_heading = "Metrics")]
    pub prometheus_host: Vec<String>,
    /// The number of the latest tests that are compared with those before, at least 5
    #[arg(long, value_name = "N", default_value = "5", value_parser = clap::value_parser!(u16).range(5..=100), help_heading = "Alerts")]
    pub recent: u16,
    /// The number of tests before these that they are compared with
    #[arg(long, value_name = "N", default_value = "20", value_parser = clap::value_parser!(u16).range(5..=1000), help_heading = "Alerts")]
    pub baseline: u16,
    /// Raise an alert when the latest are worse by more than this part
    #[arg(long, value_name = "PART", default_value = "10%", value_parser = margin, help_heading = "Alerts")]
    pub margin: f64,
    /// Run this command of the shell when an alert is raised or resolved; its environment has `CAUDAL_ALERT`, `_PATH`, `_RUN` and `_MESSAGE`
    #[arg(long, value_name = "COMMAND", help_heading = "Alerts")]
    pub on_alert: Option<String>,
    /// End with exit code 5 when an alert is raised
    #[arg(long, help_heading = "Alerts")]
    pub exit_on_alert: bool,
    /// Write the log as lines of JSON
    #[arg(long, help_heading = "Output")]
    pub json_log: bool,
    /// Record the runs in FILE [default: CAUDAL_STORE, or caudal/store.db in the user's data directory]
    #[arg(long, value_name = "FILE", help_heading = "Store")]
    pub store: Option<PathBuf>,
}

const EXAMPLES: &str = "Tests never overlap: one after another, whatever is due.\n\nExamples:\n  \
    caudal watch far.example                          round trips every 5 minutes\n  \
    caudal watch far.example --test \"tcp -t 5 -R\" --every 1h --max-bytes 20G\n  \
    caudal watch paths.toml --prometheus 9522\n  \
    caudal watch paths.toml --on-alert 'logger \"$CAUDAL_PATH: $CAUDAL_MESSAGE\"'\n  \
    caudal report list --tag watch:rtt-far.example";

/// Parses a margin between 0 and 1.
fn margin(text: &str) -> Result<f64, String> {
    parse_fraction(text)
        .ok()
        .filter(|part| *part > 0.0 && *part < 1.0)
        .ok_or_else(|| format!("{text:?} is not a part between 0 and 1, such as 10%"))
}
