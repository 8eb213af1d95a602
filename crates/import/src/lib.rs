//! Logs of other tools as runs: iperf3 (text, `-J`, `--json-stream`), iperf 2 (text, `-y C`), nttcp, netperf, nuttcp, flent, ping,
//! fping, irtt, mtr, ndt7, and the results of Ookla's and LibreSpeed's speed tests. They are recognised by their content, never by
//! their names, in UTF-8 or UTF-16, compressed with gzip or not, and behind what a logger puts in front of each line.
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
mod loaded;
mod log;
mod log_head;
mod netperf;
mod nttcp;
mod nuttcp;
mod openings;
mod prefix;
mod read;
mod round_trips;
mod route;
mod run_from_log;
mod speed;
#[cfg(test)]
mod tests;
mod tool_log;
mod totals;

pub use error::{ImportError, MAX_LOG_BYTES};
pub use imported_run::ImportedRun;
pub use log::{Log, LogCounts, LogFlow, LogFormat};
pub use read::read;
