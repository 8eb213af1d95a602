//! Text on standard output.

use crate::exit::{Exit, Failure};
use crate::output::sink::Sink;

/// Prints text on standard output.
pub(super) fn print(text: &str) -> Result<Exit, Failure> {
    let mut sink = Sink::stdout();
    sink.write(text);
    sink.finish()?;
    Ok(Exit::Done)
}
