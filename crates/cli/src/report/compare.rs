//! `caudal report compare`: two sides compared, the size of a difference first.

use super::unknown_name::{tags_there_are, unknown_id};
use crate::exit::{Exit, Failure};
use crate::output::sink::Sink;
use caudal_report::compare::{
    CompareError, CompareOptions, Comparison, RegressionOutcome, Side, SideError, SidePart,
    compare_sides, comparison_as_html, comparison_as_junit, comparison_as_markdown,
    comparison_lines, difference_figure, side_parts,
};
use caudal_store::Store;
use caudal_views::interval_table::Detail;
use clap::Args;
use std::path::{Path, PathBuf};

/// `caudal report compare`
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
    A side is the id of a run or a study, `last`, `last~1` for the one before it, `tag:NAME` for everything with a tag, `study:NAME` for the \
    newest study of an experiment, a file (the JSON of a run, or a log that `caudal report import` reads), or several of these with commas.\n\
    A run with --repeat counts as so many runs; a study is compared case by case.\n\n\
    With --fail-if-worse the exit code is 0 when B is shown not to be worse than A by more than the margin, 5 when it is shown to be worse, \
    and 6 when neither is shown.\n\n\
    Examples:\n  \
    caudal report compare 1a2b 3c4d\n  \
    caudal report compare last~1 last\n  \
    caudal report compare tag:before tag:after --metric goodput --margin 5%\n  \
    caudal report compare baseline.json new.json --metric goodput --fail-if-worse 5% --junit goodput.xml")]
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
    /// End with exit code 5 when B is worse than A by more than this fraction of A, and with 6 when the results cannot tell; of goodput,
    /// loss, jitter and RTT, or of the metrics of --metric
    #[arg(long, value_name = "PART", value_parser = fraction)]
    pub fail_if_worse: Option<f64>,
    /// The confidence of intervals and verdicts, as 0.95 or 95%
    #[arg(long, value_name = "P", default_value = "0.95", value_parser = fraction)]
    pub confidence: f64,
    /// Print the comparison as JSON
    #[arg(long)]
    pub json: bool,
    /// Show the statistics too: means with their standard deviations, Welch's t, Mann-Whitney, Hodges-Lehmann
    #[arg(short, long)]
    pub verbose: bool,
    /// Draw the differences with their intervals into FILE
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Write a JUnit file for CI into FILE: a test case for each metric that --fail-if-worse decides
    #[arg(long, value_name = "FILE", requires = "fail_if_worse")]
    pub junit: Option<PathBuf>,
    /// Write the comparison as a page into FILE: one file without scripts, for any browser
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write the comparison as Markdown into FILE
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
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

/// Compares two sides, with the exit code of the check for a regression. `open` opens the store, which files do not need.
///
/// # Errors
/// When the store or a file cannot be read, has nothing of those names, or the sides have nothing in common.
pub(super) fn compare(
    open: impl FnOnce() -> Result<Store, Failure>,
    args: &CompareArgs,
) -> Result<Exit, Failure> {
    let is_stored = |given: &str| side_parts(given).iter().any(SidePart::is_stored);
    let store = (is_stored(&args.first) || is_stored(&args.second))
        .then(open)
        .transpose()?;
    let side = |given: &str| {
        let side = Side::load(given, store.as_ref());
        side.map_err(|error| side_failure(store.as_ref(), error))
    };
    let (first, second) = (side(&args.first)?, side(&args.second)?);
    let options = CompareOptions {
        metrics: args.metric.clone(),
        margin: args.margin,
        max_worsening: args.fail_if_worse,
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
    write_files(&comparison, args)?;
    let mut out = Sink::stdout();
    if args.json {
        let json = serde_json::to_string_pretty(&comparison);
        out.line(&json.expect("a comparison has only names for keys"));
    } else {
        let detail = if args.verbose {
            Detail::Every
        } else {
            Detail::Usual
        };
        for line in comparison_lines(&comparison, detail) {
            out.line(&line);
        }
        if let Some(path) = &args.svg {
            out.line(&format!("figure: {}", path.display()));
        }
        if let Some(path) = &args.html {
            out.line(&format!("page: {}", path.display()));
        }
    }
    out.finish()?;
    let outcome = comparison.regression.map(|regression| regression.outcome);
    Ok(match outcome {
        None | Some(RegressionOutcome::NotWorse) => Exit::Done,
        Some(RegressionOutcome::Worse) => Exit::Unmet,
        Some(RegressionOutcome::CannotTell) => Exit::Undecided,
    })
}

/// Writes the files that were asked for.
fn write_files(comparison: &Comparison, args: &CompareArgs) -> Result<(), Failure> {
    let write = |path: &Path, text: &str| {
        let mut file = Sink::file(path)?;
        file.write(text);
        file.finish()
    };
    if let Some(path) = &args.junit {
        let text = comparison_as_junit(comparison);
        write(path, &text.expect("text can be written to memory"))?;
    }
    if let Some(path) = &args.markdown {
        write(path, &comparison_as_markdown(comparison))?;
    }
    if let Some(path) = &args.html {
        write(path, &comparison_as_html(comparison))?;
    }
    if let Some(path) = &args.svg {
        let figure = difference_figure(comparison).ok_or_else(|| {
            Failure::new(
                Exit::Failed,
                "there is no interval to draw",
                "repeat both sides, as with --repeat 5",
            )
        })?;
        write(path, &figure.svg())?;
    }
    Ok(())
}

/// The failure of a side that cannot be read.
fn side_failure(store: Option<&Store>, error: SideError) -> Failure {
    match (error, store) {
        (SideError::Store(error), Some(store)) => {
            unknown_id(store, error, |tag| format!("write tag:{tag}"))
        }
        (SideError::Store(error), None) => error.into(),
        (error @ SideError::Trial(_), _) => Failure::new(
            Exit::Failed,
            error.to_string(),
            "it may be from another version of caudal",
        ),
        (error @ SideError::File { .. }, _) => Failure::new(
            Exit::Failed,
            error.to_string(),
            "give the output of --json, or a log that `caudal report import` reads",
        ),
        (error @ SideError::UnknownTag { .. }, Some(store)) => {
            Failure::usage(error.to_string(), tags_there_are(store))
        }
        (error, _) => Failure::usage(
            error.to_string(),
            "`caudal report list` shows what there is",
        ),
    }
}
