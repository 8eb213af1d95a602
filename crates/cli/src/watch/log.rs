//! The log of `caudal watch`: a line of text or of JSON for each event.

use caudal_core::date::rfc3339;
use caudal_core::text::{on_one_line, printable};
use caudal_sys::clock::realtime_ns;
use serde_json::{Value, json};
use std::io::Write;

/// The log.
#[derive(Debug, Clone, Copy)]
pub(super) struct WatchLog {
    pub(super) is_json: bool,
}

impl WatchLog {
    /// Shows that a number of paths is watched.
    pub(super) fn watching(self, paths: usize, metrics: Option<&str>) {
        let at = metrics.map_or_else(String::new, |at| {
            format!(", metrics on http://{at}/metrics")
        });
        self.write(
            &format!("watching {paths} paths{at}"),
            || json!({"event": "watching", "paths": paths, "metrics": metrics}),
        );
    }

    /// Shows the result of a test.
    pub(super) fn tested(self, path: &str, run: &str, result: &str) {
        let short = caudal_store::short_id(run);
        self.write(
            &format!("{path}: {result} ({short})"),
            || json!({"event": "tested", "path": path, "run": run, "result": result}),
        );
    }

    /// Shows that a test failed.
    pub(super) fn failed(self, path: &str, why: &str) {
        self.write(
            &format!("{path}: failed: {why}"),
            || json!({"event": "failed", "path": path, "why": why}),
        );
    }

    /// Shows that a test was left out.
    pub(super) fn skipped(self, path: &str, why: &str) {
        self.write(
            &format!("{path}: left out: {why}"),
            || json!({"event": "skipped", "path": path, "why": why}),
        );
    }

    /// Shows that an alert was raised or resolved.
    pub(super) fn alert(self, path: &str, run: &str, what: &str, message: &str) {
        self.write(&format!("{path}: ALERT {what}: {message}"), || {
            json!({"event": "alert", "path": path, "run": run, "alert": what, "message": message})
        });
    }

    /// Shows a fault of the watch itself.
    pub(super) fn fault(self, what: &str) {
        self.write(
            &format!("warning: {what}"),
            || json!({"event": "warning", "what": what}),
        );
    }

    /// Writes a line; that nobody reads it is no error.
    fn write(self, line: &str, document: impl FnOnce() -> Value) {
        let at = rfc3339(realtime_ns());
        let text = if self.is_json {
            let mut document = document();
            document["at"] = at.into();
            document.to_string()
        } else {
            format!("{at} {}", on_one_line(line))
        };
        let mut out = std::io::stdout().lock();
        let _ = out.write_all(printable(&format!("{text}\n")).as_bytes());
        let _ = out.flush();
    }
}
