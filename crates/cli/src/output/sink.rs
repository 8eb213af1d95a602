//! The sinks of output: a file or standard output, with every failed write recorded, and standard error for diagnostics.

use super::width::{line_width, terminal_lines};
use crate::exit::{Exit, Failure, Notice};
use caudal_core::text::{on_one_line, printable};
use caudal_views::sink::TextSink;
use caudal_views::width::LineWidth;
use std::fs::File;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};

/// A sink of output.
#[derive(Debug)]
pub struct Sink {
    destination: Destination,
    failed: Option<Failure>,
    closed: bool,
}

#[derive(Debug)]
enum Destination {
    Stdout,
    File(PathBuf, File),
    Nowhere,
    /// Standard output, once the terminal's whole screen is given back.
    Held(String),
}

impl Sink {
    /// Standard output.
    #[must_use]
    pub const fn stdout() -> Self {
        Self {
            destination: Destination::Stdout,
            failed: None,
            closed: false,
        }
    }

    /// A sink that discards everything.
    #[must_use]
    pub const fn nowhere() -> Self {
        Self {
            destination: Destination::Nowhere,
            failed: None,
            closed: false,
        }
    }

    /// Standard output, to which nothing is written before it is finished.
    #[must_use]
    pub const fn held() -> Self {
        Self {
            destination: Destination::Held(String::new()),
            failed: None,
            closed: false,
        }
    }

    /// A new file. It is opened before anything is measured, so that a path that cannot be written
    /// costs no measurement.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub fn file(path: &Path) -> Result<Self, Failure> {
        let file = File::create(path)
            .map_err(|cause| Failure::writing(&path.display().to_string(), &cause))?;
        Ok(Self {
            destination: Destination::File(path.to_owned(), file),
            failed: None,
            closed: false,
        })
    }

    /// `true` when it is a terminal whose lines can be rewritten.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        matches!(self.destination, Destination::Stdout | Destination::Held(_))
            && io::stdout().is_terminal()
            && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
    }

    /// Writes text of any number of lines; what is not printable is escaped, as JSON escapes it.
    pub fn write(&mut self, text: &str) {
        self.write_with_controls(&printable(text));
    }

    /// Writes text that steers a terminal, which nothing from outside may be part of. The first failure is returned by
    /// [`finish`](Self::finish), except that a reader has closed its end of a pipe, which [`is_closed`](Self::is_closed) reports.
    pub fn write_with_controls(&mut self, text: &str) {
        if self.failed.is_some() || self.closed {
            return;
        }
        let (written, name) = match &mut self.destination {
            Destination::Stdout => {
                let mut out = io::stdout().lock();
                (
                    out.write_all(text.as_bytes()).and_then(|()| out.flush()),
                    "standard output".to_owned(),
                )
            }
            Destination::File(path, file) => {
                (file.write_all(text.as_bytes()), path.display().to_string())
            }
            Destination::Held(held) => {
                held.push_str(text);
                return;
            }
            Destination::Nowhere => return,
        };
        match written {
            Ok(()) => {}
            Err(cause) if cause.kind() == ErrorKind::BrokenPipe => self.closed = true,
            Err(cause) => self.failed = Some(Failure::writing(&name, &cause)),
        }
    }

    /// Writes a line.
    pub fn line(&mut self, text: &str) {
        self.write(&format!("{text}\n"));
    }

    /// `true` when the reader has closed the pipe.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        self.closed
    }

    /// The first write that failed.
    ///
    /// # Errors
    /// That failure. A file is synced to its disk first.
    pub fn finish(&mut self) -> Result<(), Failure> {
        if let Destination::Held(held) = &mut self.destination {
            let held = std::mem::take(held);
            self.destination = Destination::Stdout;
            self.write_with_controls(&held);
        }
        if let (None, Destination::File(path, file)) = (&self.failed, &mut self.destination) {
            // Some filesystems report that they are full only when the data is synced.
            if let Err(cause) = file.sync_data()
                && matches!(
                    cause.kind(),
                    ErrorKind::StorageFull | ErrorKind::QuotaExceeded
                )
            {
                self.failed = Some(Failure::writing(&path.display().to_string(), &cause));
            }
        }
        self.failed.take().map_or(Ok(()), Err)
    }
}

/// Writes the answer of a command, to a file where one is named: its lines, and the data where JSON or CSV was asked for.
///
/// # Errors
/// When it cannot be written, or the reader has closed the pipe.
pub fn write_answer(
    path: Option<&Path>,
    lines: &[String],
    data: Option<&str>,
) -> Result<(), Failure> {
    let mut sinks = Sinks::to(path, data.is_some())?;
    for line in lines {
        sinks.text.line(line);
    }
    if let Some(data) = data {
        sinks.data.line(data);
    }
    sinks.finish(data.unwrap_or_default())
}

/// Prints text on standard output.
///
/// # Errors
/// When it cannot be written.
pub fn print(text: &str) -> Result<Exit, Failure> {
    print_to(Path::new("-"), text)
}

/// Writes text to a file, or to standard output for `-`.
///
/// # Errors
/// When it cannot be written.
pub fn print_to(path: &Path, text: &str) -> Result<Exit, Failure> {
    let mut sink = if path.as_os_str() == "-" {
        Sink::stdout()
    } else {
        Sink::file(path)?
    };
    sink.write(text);
    sink.finish()?;
    Ok(Exit::Done)
}

impl TextSink for Sink {
    fn is_terminal(&self) -> bool {
        Self::is_terminal(self)
    }

    fn line_width(&self) -> LineWidth {
        line_width()
    }

    fn terminal_lines(&self) -> usize {
        terminal_lines()
    }

    fn write_with_controls(&mut self, text: &str) {
        Self::write_with_controls(self, text);
    }
}

/// The two sinks of a command: the machine-readable output, and the text for people.
#[derive(Debug)]
pub struct Sinks {
    /// JSON or CSV; discarded when only text was requested.
    pub data: Sink,
    /// Text; discarded when the data goes to standard output.
    pub text: Sink,
    /// Set when the data goes to a file: it is written to standard output if that fails.
    pub data_in_file: bool,
}

impl Sinks {
    /// The sinks that the flags select.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub fn open(output: &crate::args::OutputArgs) -> Result<Self, Failure> {
        let structured = output.json || output.json_stream || output.csv;
        Self::to(output.output.as_deref(), structured)
    }

    /// The sinks of an answer, to a file where one is named; `structured` for one that is JSON or CSV.
    ///
    /// # Errors
    /// When the file cannot be created.
    fn to(path: Option<&Path>, structured: bool) -> Result<Self, Failure> {
        Ok(match (path, structured) {
            (Some(path), true) => Self {
                data: Sink::file(path)?,
                text: Sink::stdout(),
                data_in_file: true,
            },
            (Some(path), false) => Self {
                data: Sink::nowhere(),
                text: Sink::file(path)?,
                data_in_file: false,
            },
            (None, true) => Self {
                data: Sink::stdout(),
                text: Sink::nowhere(),
                data_in_file: false,
            },
            (None, false) => Self {
                data: Sink::nowhere(),
                text: Sink::stdout(),
                data_in_file: false,
            },
        })
    }
}

impl Sinks {
    /// Finishes both; a result that could not be written to its file is written to standard output instead.
    ///
    /// # Errors
    /// The first failure to write, or that the reader has closed the pipe.
    pub fn finish(mut self, result: &str) -> Result<(), Failure> {
        let is_unread = self.data.is_closed() || (self.text.is_closed() && !self.data_in_file);
        let written = self.data.finish().and(self.text.finish());
        finish(written, result, is_unread)
    }
}

/// Finishes the output of a command: a result that could not be written to its file is written to standard output instead.
///
/// # Errors
/// The failure to write, or that the reader has closed the pipe.
pub fn finish(written: Result<(), Failure>, result: &str, is_unread: bool) -> Result<(), Failure> {
    if let Err(failure) = written {
        let mut rescue = Sink::stdout();
        rescue.line(result);
        let _ = rescue.finish();
        return Err(Failure {
            exit: match failure.exit {
                Exit::Done => Exit::Failed,
                exit => exit,
            },
            notice: Notice::Line,
            ..failure
        });
    }
    if is_unread {
        return Err(Failure::unread());
    }
    Ok(())
}

/// Writes one line in the name of the program on standard error. That nobody reads it is no error.
pub fn diagnostic(line: &str) {
    let _ = writeln!(io::stderr(), "caudal: {}", on_one_line(line));
}
