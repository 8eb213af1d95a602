//! Where the output goes: standard output or a file, each line with what it is to begin with.

use super::options::Look;
use crate::exit::on_one_line;
use caudal_sys::clock::{format_time, realtime_ns};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};

pub(super) struct Printer {
    file: Option<File>,
    timestamps: Option<String>,
    title: Option<String>,
    json: bool,
}

impl Printer {
    pub(super) fn open(look: &Look) -> io::Result<Self> {
        let file = match &look.log_file {
            Some(path) => Some(OpenOptions::new().create(true).append(true).open(path)?),
            None => None,
        };
        Ok(Self {
            file,
            timestamps: look.timestamps.clone(),
            title: look.title.clone(),
            json: look.json,
        })
    }

    /// Prints a line of text; nothing where JSON was asked for.
    pub(super) fn line(&mut self, line: &str) {
        if self.json {
            return;
        }
        let mut whole = String::new();
        if let Some(format) = &self.timestamps {
            let now = realtime_ns() / 1_000_000_000;
            whole.push_str(&format_time(now, format, false).unwrap_or_default());
        }
        if let Some(title) = &self.title {
            whole.push_str(title);
            whole.push_str(":  ");
        }
        whole.push_str(&on_one_line(line));
        self.raw(&whole);
    }

    pub(super) fn lines(&mut self, lines: &[String]) {
        for line in lines {
            self.line(line);
        }
    }

    /// Prints a line as it is.
    pub(super) fn raw(&mut self, line: &str) {
        // Output nobody reads any more ends the program's output, not its test.
        let text = format!("{line}\n");
        let _ = match &mut self.file {
            Some(file) => file.write_all(text.as_bytes()),
            None => io::stdout().lock().write_all(text.as_bytes()),
        };
    }

    /// Says what went wrong, where errors are read.
    pub(super) fn error(&mut self, message: &str) {
        let line: String = message
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        if self.file.is_some() {
            self.raw(&line);
        } else {
            let _ = writeln!(io::stderr(), "{line}");
        }
    }
}
