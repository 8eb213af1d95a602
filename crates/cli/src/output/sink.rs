//! Where output goes: a file or standard output, with every failed write noticed.

use crate::exit::{Exit, Failure};
use std::fs::File;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};

/// A place output goes to.
#[derive(Debug)]
pub struct Sink {
    place: Place,
    failed: Option<Failure>,
    closed: bool,
}

#[derive(Debug)]
enum Place {
    Stdout,
    File(PathBuf, File),
    Nowhere,
}

impl Sink {
    /// Standard output.
    #[must_use]
    pub const fn stdout() -> Self {
        Self {
            place: Place::Stdout,
            failed: None,
            closed: false,
        }
    }

    /// Nothing is shown.
    #[must_use]
    pub const fn nowhere() -> Self {
        Self {
            place: Place::Nowhere,
            failed: None,
            closed: false,
        }
    }

    /// A file, created anew. Opened before anything is measured, so that a name that cannot be written
    /// costs no measurement.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub fn file(path: &Path) -> Result<Self, Failure> {
        let file = File::create(path)
            .map_err(|cause| Failure::writing(&path.display().to_string(), &cause))?;
        Ok(Self {
            place: Place::File(path.to_owned(), file),
            failed: None,
            closed: false,
        })
    }

    /// Whether it is a terminal that can be rewritten.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        matches!(self.place, Place::Stdout)
            && io::stdout().is_terminal()
            && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
    }

    /// Writes text as it is. The first failure is kept for [`finish`](Self::finish); that a reader has
    /// closed its end of a pipe is for [`is_closed`](Self::is_closed) to tell.
    pub fn write(&mut self, text: &str) {
        if self.failed.is_some() || self.closed {
            return;
        }
        let (written, name) = match &mut self.place {
            Place::Stdout => {
                let mut out = io::stdout().lock();
                (
                    out.write_all(text.as_bytes()).and_then(|()| out.flush()),
                    "standard output".to_owned(),
                )
            }
            Place::File(path, file) => {
                (file.write_all(text.as_bytes()), path.display().to_string())
            }
            Place::Nowhere => return,
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

    /// Whether nobody reads any more.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        self.closed
    }

    /// The first write that failed.
    ///
    /// # Errors
    /// That failure; a file is also flushed to the disk's judgement first.
    pub fn finish(&mut self) -> Result<(), Failure> {
        if let (None, Place::File(path, file)) = (&self.failed, &mut self.place) {
            // Some filesystems only say that they are full when they are asked to keep their word.
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

/// The two places of a command: the program-readable output, and the text beside it.
#[derive(Debug)]
pub struct Sinks {
    /// JSON or CSV; nowhere when only text was asked for.
    pub data: Sink,
    /// Text; nowhere when the data goes to standard output.
    pub text: Sink,
    /// Where the data is meant for a file: written to standard output if that fails.
    pub data_in_file: bool,
}

impl Sinks {
    /// The places that the flags ask for.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub fn open(output: &crate::args::OutputArgs) -> Result<Self, Failure> {
        let structured = output.json || output.json_stream || output.csv;
        Ok(match (&output.output, structured) {
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
    /// Ends both; a result that could not be written to its file is put on standard output instead.
    ///
    /// # Errors
    /// The first failure to write, or that nobody reads any more.
    pub fn finish(mut self, result: &str) -> Result<(), Failure> {
        let is_unread = self.data.is_closed() || (self.text.is_closed() && !self.data_in_file);
        let written = self.data.finish().and(self.text.finish());
        finish(written, result, is_unread)
    }
}

/// Ends the output of a command: a result that could not be written to its file is put on standard output instead.
///
/// # Errors
/// The failure to write, or that nobody reads any more.
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
            ..failure
        });
    }
    if is_unread {
        return Err(Failure::unread("the result was not printed"));
    }
    Ok(())
}
