//! `caudal report export`: a recorded run or study as a file for others.

use super::unknown_name::{list_tagged, unknown_id};
use crate::exit::{Exit, Failure};
use crate::output::sink::Sink;
use caudal_report::export::{ExportError, ExportFormat, StoredSubject};
use caudal_store::Store;
use clap::Args;
use std::path::{Path, PathBuf};

/// Exports a run or a study.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Without -o the text goes to standard output; --svg then puts all figures on one sheet. \
                  A directory gets the report with its data, or every figure as a file.\n\
                  Examples:\n  \
                  caudal report export 3f2a91c4 --html -o report.html\n  \
                  caudal report export last --svg -o figures/\n  \
                  caudal report export 3f2a91c4 --csv | head"
)]
pub struct ExportArgs {
    /// The run or study: its id, or the beginning of it; `last` is the newest
    #[arg(value_name = "ID")]
    pub id: String,
    /// The format
    #[command(flatten)]
    pub format: FormatArgs,
    /// Write to this file, or into this directory if there is one or the name ends in /
    #[arg(short, long, value_name = "FILE|DIR")]
    pub output: Option<PathBuf>,
}

/// The format.
#[derive(Debug, Clone, Copy, Args)]
#[group(required = true, multiple = false)]
pub struct FormatArgs {
    /// A report as one HTML file: no scripts, nothing to fetch, fit for print
    #[arg(long)]
    pub html: bool,
    /// A report as Markdown
    #[arg(long)]
    pub md: bool,
    /// Every value as comma-separated values, a row each
    #[arg(long)]
    pub csv: bool,
    /// The run (caudal.run/1) or the findings of a study (caudal.study/1) as JSON
    #[arg(long)]
    pub json: bool,
    /// The figures as SVG
    #[arg(long)]
    pub svg: bool,
}

impl From<FormatArgs> for ExportFormat {
    fn from(args: FormatArgs) -> Self {
        if args.html {
            Self::Html
        } else if args.md {
            Self::Markdown
        } else if args.csv {
            Self::Csv
        } else if args.svg {
            Self::Svg
        } else {
            Self::Json
        }
    }
}

/// Exports a run or a study.
///
/// # Errors
/// When the store has nothing of that id, or the export cannot be written.
pub(super) fn export(store: &Store, args: &ExportArgs) -> Result<Exit, Failure> {
    let format = ExportFormat::from(args.format);
    let stored = StoredSubject::load(store, &args.id).map_err(|error| match error {
        ExportError::Store(error) => unknown_id(store, error, list_tagged),
        error => error.into(),
    })?;
    let subject = stored.as_subject();
    let samples = |id: &str| store.series(id).unwrap_or_default();
    let output = args.output.as_deref();
    let Some(directory) = output.filter(|path| is_directory(path)) else {
        return write_text(&subject.text(&samples, format), output);
    };
    std::fs::create_dir_all(directory).map_err(|cause| {
        Failure::writing(&format!("the directory {}", directory.display()), &cause)
    })?;
    for file in subject.files(&samples, format) {
        let path = directory.join(&file.path);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)
                .map_err(|cause| Failure::writing(&parent.display().to_string(), &cause))?;
        }
        let mut sink = Sink::file(&path)?;
        sink.write(&file.text);
        sink.finish()?;
    }
    Ok(Exit::Done)
}

impl From<ExportError> for Failure {
    fn from(error: ExportError) -> Self {
        let advice = match error {
            ExportError::Store(error) => return error.into(),
            ExportError::Trial(_) | ExportError::UnreadableFindings { .. } => {
                "it may be from another version of caudal".to_owned()
            }
            ExportError::NoFindings { ref id } => {
                format!(
                    "finish it with `caudal study resume {}`",
                    caudal_store::short_id(id)
                )
            }
        };
        Self::new(Exit::Failed, error.to_string(), advice)
    }
}

/// `true` when the path is a directory, or its name ends in `/`.
fn is_directory(path: &Path) -> bool {
    let has_slash = path.as_os_str().to_string_lossy().ends_with('/');
    has_slash || path.is_dir()
}

/// Writes one text. One that cannot be written to its file goes to standard output instead.
fn write_text(text: &str, output: Option<&Path>) -> Result<Exit, Failure> {
    let Some(path) = output else {
        let mut sink = Sink::stdout();
        sink.write(text);
        sink.finish()?;
        return if sink.is_closed() {
            Err(Failure::unread())
        } else {
            Ok(Exit::Done)
        };
    };
    // When the file cannot be opened, nothing is lost: the export can be repeated.
    let mut sink = Sink::file(path)?;
    sink.write(text);
    if let Err(failure) = sink.finish() {
        // A part of the file could be taken for the whole; devices and pipes are left alone.
        if path.is_file() {
            let _ = std::fs::remove_file(path);
        }
        let mut rescue = Sink::stdout();
        rescue.write(text);
        let _ = rescue.finish();
        return Err(Failure {
            advice: "the export is on standard output; name another place with -o".to_owned(),
            ..failure
        });
    }
    Ok(Exit::Done)
}
