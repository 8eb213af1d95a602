//! The places that captures come from.

use crate::exit::{Exit, Failure};
use std::fmt;
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

/// A place that a capture is read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CaptureSource {
    /// Standard input, written `-`.
    Standard,
    /// A file.
    File(PathBuf),
}

/// A source that was opened.
#[derive(Debug)]
pub(super) enum OpenSource {
    Standard(io::Stdin),
    File(File),
}

impl From<&PathBuf> for CaptureSource {
    fn from(path: &PathBuf) -> Self {
        if path.as_os_str() == "-" {
            Self::Standard
        } else {
            Self::File(path.clone())
        }
    }
}

impl fmt::Display for CaptureSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Standard => f.pad("standard input"),
            Self::File(path) => f.pad(&path.display().to_string()),
        }
    }
}

impl CaptureSource {
    /// The sources that the arguments name.
    ///
    /// # Errors
    /// When standard input is named twice, or the output would overwrite one of them.
    pub(super) fn from_arguments<'a>(
        files: impl IntoIterator<Item = &'a PathBuf>,
        output: Option<&Path>,
    ) -> Result<Vec<Self>, Failure> {
        let sources: Vec<Self> = files.into_iter().map(Self::from).collect();
        let standard = |source: &&Self| **source == Self::Standard;
        if sources.iter().filter(standard).count() > 1 {
            return Err(Failure::usage(
                "standard input can be read once",
                "give - once, and files for the others",
            ));
        }
        let written = output.and_then(|path| path.canonicalize().ok());
        for source in &sources {
            let Self::File(path) = source else { continue };
            if written.is_some() && path.canonicalize().ok() == written {
                return Err(Failure::usage(
                    format!("the output would overwrite {source}"),
                    "name another file with -o",
                ));
            }
        }
        Ok(sources)
    }

    /// Opens it.
    ///
    /// # Errors
    /// When there is no such file, it may not be read, or standard input is a terminal.
    pub(super) fn open(&self) -> Result<OpenSource, Failure> {
        match self {
            Self::Standard if io::stdin().is_terminal() => Err(Failure::usage(
                "standard input is a terminal, not a capture",
                "pipe a capture into it, as tcpdump -w - writes one",
            )),
            Self::Standard => Ok(OpenSource::Standard(io::stdin())),
            Self::File(path) => match File::open(path) {
                Ok(file) => Ok(OpenSource::File(file)),
                Err(cause) => Err(self.unreadable(&cause)),
            },
        }
    }

    /// `true` for a file that gives the same bytes when it is read again.
    pub(super) fn can_be_read_again(&self) -> bool {
        match self {
            Self::Standard => false,
            Self::File(path) => path.metadata().is_ok_and(|metadata| metadata.is_file()),
        }
    }

    /// The failure to read it.
    pub(super) fn unreadable(&self, cause: &io::Error) -> Failure {
        let advice = match cause.kind() {
            io::ErrorKind::NotFound => "check the name",
            io::ErrorKind::IsADirectory => "give a file in it",
            io::ErrorKind::PermissionDenied => "ask its owner, or read it as root",
            _ => "",
        };
        Failure::new(Exit::Failed, format!("cannot read {self}: {cause}"), advice)
    }
}

impl OpenSource {
    /// What becomes readable when there are bytes.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Standard(input) => input.as_fd(),
            Self::File(file) => file.as_fd(),
        }
    }

    /// Reads bytes into a piece; 0 at the end.
    ///
    /// # Errors
    /// The error of read(2).
    pub(super) fn read(&mut self, piece: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Standard(input) => input.lock().read(piece),
            Self::File(file) => file.read(piece),
        }
    }
}
