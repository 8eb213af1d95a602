//! `caudal report compare`: two sides compared, the size of a difference first.

use super::unknown_name::{tags_there_are, unknown_id};
use crate::exit::{Exit, Failure};
use crate::output::sink::Sink;
use caudal_report::compare::{
    CompareError, CompareOptions, Side, SideError, compare_sides, comparison_lines,
    difference_figure,
};
use caudal_store::Store;
use clap::Args;
use std::path::PathBuf;

/// `caudal report compare`
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
    A side is the id of a run or a study, `last`, `tag:NAME` for everything with a tag, or several of these with commas.\n\
    A run with --repeat counts as so many runs; a study is compared case by case.\n\n\
    Examples:\n  \
    caudal report compare 1a2b 3c4d\n  \
    caudal report compare tag:before tag:after --metric goodput --margin 5%")]
pub struct CompareArgs {
    /// The first side, the reference
    #[arg(value_name = "A")]
    pub first: String,
    /// The second side
    #[arg(value_name = "B")]
    pub second: String,
    /// Only this metric, by its full name or the last part of it; may be given several times
    #[arg(long, value_name = "NAME")]
    pub metric: Vec<String>,
    /// Test as well whether B is within this fraction of A, as 5%: only this can show that nothing differs
    #[arg(long, value_name = "PART", value_parser = fraction)]
    pub margin: Option<f64>,
    /// The confidence of intervals and verdicts, as 0.95 or 95%
    #[arg(long, value_name = "P", default_value = "0.95", value_parser = fraction)]
    pub confidence: f64,
    /// Print the comparison as JSON
    #[arg(long)]
    pub json: bool,
    /// Draw the differences with their intervals into FILE
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}

/// Parses a fraction between 0 and 1.
fn fraction(text: &str) -> Result<f64, String> {
    let fraction = caudal_core::units::parse_fraction(text).map_err(|error| error.to_string())?;
    if fraction > 0.0 && fraction < 1.0 {
        Ok(fraction)
    } else {
        Err("it must lie between 0 and 1".to_owned())
    }
}

/// Compares two sides.
///
/// # Errors
/// When the store cannot be read, has nothing of those names, or the sides have nothing in common.
pub(super) fn compare(store: &Store, args: &CompareArgs) -> Result<(), Failure> {
    let load = |given: &str| Side::load(given, store).map_err(|error| side_failure(store, error));
    let (first, second) = (load(&args.first)?, load(&args.second)?);
    let options = CompareOptions {
        metrics: args.metric.clone(),
        margin: args.margin,
        confidence: args.confidence,
    };
    let comparison = compare_sides(&first, &second, &options).map_err(|error| match error {
        CompareError::NoSuchMetric { .. } => Failure::usage(
            error.to_string(),
            "give --metric one of these, or leave it out",
        ),
        CompareError::NothingInCommon { .. } => {
            Failure::new(Exit::Failed, error.to_string(), "compare runs of one kind")
        }
    })?;
    let mut out = Sink::stdout();
    if let Some(path) = &args.svg {
        let figure = difference_figure(&comparison).ok_or_else(|| {
            Failure::new(
                Exit::Failed,
                "there is no interval to draw",
                "repeat both sides, as with --repeat 5",
            )
        })?;
        let mut file = Sink::file(path)?;
        file.write(&figure.svg());
        file.finish()?;
    }
    if args.json {
        let json = serde_json::to_string_pretty(&comparison);
        out.line(&json.expect("a comparison has only names for keys"));
    } else {
        for line in comparison_lines(&comparison) {
            out.line(&line);
        }
        if let Some(path) = &args.svg {
            out.line(&format!("figure: {}", path.display()));
        }
    }
    out.finish()
}

/// The failure of a side that cannot be read.
fn side_failure(store: &Store, error: SideError) -> Failure {
    match error {
        SideError::Store(error) => unknown_id(store, error, |tag| format!("write tag:{tag}")),
        SideError::Trial(_) => Failure::new(
            Exit::Failed,
            error.to_string(),
            "it may be from another version of caudal",
        ),
        SideError::Empty { ref given } if given.contains("tag:") => {
            Failure::usage(error.to_string(), tags_there_are(store))
        }
        SideError::Empty { .. } => Failure::usage(
            error.to_string(),
            "`caudal report list` shows what there is",
        ),
    }
}
