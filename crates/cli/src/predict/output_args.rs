//! The output flags of the predictions.

use clap::Args;
use std::path::PathBuf;

/// The formats of the output, and its destination.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub struct PredictOutputArgs {
    /// Show the arithmetic with the numbers filled in, the assumptions, and the sources
    #[arg(long)]
    pub explain: bool,
    /// Draw the sweep as an SVG figure into FILE
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Print one JSON object (schema caudal.predict/1)
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,
    /// Print comma-separated values: a row for each prediction
    #[arg(long)]
    pub csv: bool,
    /// Write the output to FILE; with --json or --csv the text is still shown
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}
