//! Text printed to standard output or a file.

use crate::exit::{Exit, Failure};
use crate::output::sink::Sink;
use std::path::Path;

/// Prints text; the exit code reports whether the reader has closed the pipe.
pub(super) fn print(text: &str) -> Result<Exit, Failure> {
    let mut sink = Sink::stdout();
    sink.write(text);
    sink.finish()?;
    Ok(Exit::Done)
}

/// Writes text to a file, or to standard output for `-`.
pub(super) fn print_to(path: &Path, text: &str) -> Result<Exit, Failure> {
    if path.as_os_str() == "-" {
        return print(text);
    }
    let mut sink = Sink::file(path)?;
    sink.write(text);
    sink.finish()?;
    Ok(Exit::Done)
}
