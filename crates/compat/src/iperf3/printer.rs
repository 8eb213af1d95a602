//! The output: standard output or a file, each line with its prefix.

use super::options::OutputSettings;
use caudal_core::text::{on_one_line, printable};
use caudal_sys::clock::{format_time, realtime_ns};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};

/// The output of the program.
pub(super) struct Iperf3Printer {
    file: Option<File>,
    timestamps: Option<String>,
    title: Option<String>,
    json: bool,
}

impl Iperf3Printer {
    /// The output with these settings.
    ///
    /// # Errors
    /// The text of the error when the log file cannot be opened.
    pub(super) fn open(settings: &OutputSettings) -> Result<Self, String> {
        let open = |path| OpenOptions::new().create(true).append(true).open(path);
        let file = settings.log_file.as_ref().map(open).transpose();
        let file = file.map_err(|cause| {
            format!("unable to open log file: {cause}; name another with --logfile")
        })?;
        Ok(Self {
            file,
            timestamps: settings.timestamps.clone(),
            title: settings.title.clone(),
            json: settings.json,
        })
    }

    /// Prints a line of text; nothing where JSON was asked for.
    pub(super) fn line(&mut self, line: &str) {
        if self.json {
            return;
        }
        let mut whole = String::new();
        if let Some(format) = &self.timestamps {
            let now_s = realtime_ns() / 1_000_000_000;
            whole.push_str(&format_time(now_s, format, false).unwrap_or_default());
        }
        if let Some(title) = &self.title {
            whole.push_str(&on_one_line(title));
            whole.push_str(":  ");
        }
        whole.push_str(&on_one_line(line));
        self.raw(&whole);
    }

    /// Prints text as it is, and the end of its line.
    pub(super) fn raw(&mut self, text: &str) {
        // Output that nobody reads any more does not end the test.
        let text = format!("{}\n", printable(text));
        let _ = match &mut self.file {
            Some(file) => file.write_all(text.as_bytes()),
            None => io::stdout().lock().write_all(text.as_bytes()),
        };
    }

    /// Prints an error, in the log file where there is one.
    pub(super) fn error(&mut self, error: &str) {
        let line = format!("iperf3: {}", on_one_line(error));
        if self.file.is_some() {
            self.raw(&line);
        } else {
            let _ = writeln!(io::stderr(), "{line}");
        }
    }
}
