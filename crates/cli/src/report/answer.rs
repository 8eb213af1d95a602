//! The output of the commands that answer from the store.

use crate::args::OutputArgs;
use crate::exit::Failure;
use crate::output::sink::Sinks;
use std::path::PathBuf;

/// The form of an answer.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Output")]
pub struct AnswerArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Write the output to FILE
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

impl AnswerArgs {
    /// Prints the answer: the lines, or the data where there are some.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn print(&self, lines: &[String], data: Option<&str>) -> Result<(), Failure> {
        // Data and text are never printed together, so either is text to the sinks.
        let output = OutputArgs {
            output: self.output.clone(),
            ..OutputArgs::default()
        };
        let mut sinks = Sinks::open(&output)?;
        let all = data.map_or_else(|| lines.join("\n"), str::to_owned);
        if !all.is_empty() {
            sinks.text.line(&all);
        }
        sinks.finish(&all)
    }
}
