//! Logs of other tools as runs: iperf3 (text, `-J`, `--json-stream`), iperf 2 (text, `-y C`) and nttcp (rows), recognised
//! by their content, never by their names, in UTF-8 or UTF-16, and behind what a logger puts in front of each line.
//!
//! A quantity that a log does not report is absent, a gap in its intervals stays one, and what a sender counted is never
//! taken for what arrived. Any bytes give runs or an error.
#![forbid(unsafe_code)]

mod contradictions;
mod date;
mod detect;
mod encoding;
mod error;
mod imported_run;
mod iperf2_csv;
mod iperf2_text;
mod iperf3_document;
mod iperf3_json;
mod iperf3_text;
mod json_objects;
mod line;
mod log;
mod nttcp;
mod prefix;
mod read;
mod run_from_log;
#[cfg(test)]
mod tests;
mod totals;

pub use error::{ImportError, MAX_LOG_BYTES};
pub use imported_run::ImportedRun;
pub use log::{Log, LogCounts, LogFlow, LogFormat};
pub use read::read;
