//! The file of `caudal watch`: what is measured, how often, within which limits.

use super::quiet_hours::QuietHours;
use super::watched::WatchedPath;
use crate::exit::Failure;
use caudal_core::units::{ByteCount, parse_duration};
use serde::Deserialize;
use std::path::Path;
use std::time::Duration;

/// Maximum size of a file, bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// Maximum number of paths of a file.
const MAX_PATHS: usize = 10_000;

/// The file as it is written.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct WatchDocument {
    every: Option<String>,
    jitter: Option<String>,
    #[serde(default)]
    quiet_hours: Vec<String>,
    max_bytes: Option<String>,
    #[serde(default)]
    path: Vec<PathEntry>,
}

/// One path of the file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct PathEntry {
    name: Option<String>,
    test: String,
    every: Option<String>,
    jitter: Option<String>,
}

/// What a file or the command line asks for.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct WatchPlan {
    pub(super) paths: Vec<WatchedPath>,
    pub(super) quiet_hours: Vec<QuietHours>,
    /// The bytes that all tests of a day may move.
    pub(super) max_bytes: Option<ByteCount>,
}

/// Reads a file; `every` and `jitter` hold where it gives none.
///
/// # Errors
/// When it cannot be read, or something in it is wrong.
pub(super) fn read_watch_file(
    path: &Path,
    every: Duration,
    jitter: Option<Duration>,
) -> Result<WatchPlan, Failure> {
    let shown = path.display();
    let unreadable = |why: &dyn std::fmt::Display| {
        Failure::usage(
            format!("{shown} cannot be read: {why}"),
            "see docs/watch.md for the format",
        )
    };
    let size = std::fs::metadata(path).map_err(|cause| unreadable(&cause))?;
    if size.len() > MAX_FILE_BYTES {
        return Err(unreadable(&"it is larger than 1 MiB"));
    }
    let text = std::fs::read_to_string(path).map_err(|cause| unreadable(&cause))?;
    plan(&text, every, jitter).map_err(|failure| Failure {
        message: format!("{shown}: {}", failure.message),
        ..failure
    })
}

fn plan(text: &str, every: Duration, jitter: Option<Duration>) -> Result<WatchPlan, Failure> {
    let wrong = |message: String| Failure::usage(message, "see docs/watch.md for the format");
    let document: WatchDocument = toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(0, |span| {
            1 + text[..span.start.min(text.len())].matches('\n').count()
        });
        wrong(format!("line {line}: {}", error.message()))
    })?;
    let time = |key: &str, text: &Option<String>| -> Result<Option<Duration>, Failure> {
        text.as_ref()
            .map(|text| parse_duration(text).map_err(|error| wrong(format!("{key}: {error}"))))
            .transpose()
    };
    let every = time("every", &document.every)?.unwrap_or(every);
    let jitter = time("jitter", &document.jitter)?.or(jitter);
    if document.path.len() > MAX_PATHS {
        return Err(wrong(format!("more than {MAX_PATHS} paths")));
    }
    let mut paths: Vec<WatchedPath> = Vec::with_capacity(document.path.len());
    for entry in &document.path {
        let words = entry.test.split_whitespace().map(str::to_owned).collect();
        let every = time("every", &entry.every)?.unwrap_or(every);
        let jitter = time("jitter", &entry.jitter)?.or(jitter);
        let path = WatchedPath::new(entry.name.as_deref(), words, every, jitter)?;
        if paths.iter().any(|known| known.name == path.name) {
            return Err(wrong(format!("two paths are named {:?}", path.name)));
        }
        paths.push(path);
    }
    if paths.is_empty() {
        return Err(wrong("there is no [[path]]".to_owned()));
    }
    let hours = document.quiet_hours.iter().map(|text| {
        text.parse::<QuietHours>()
            .map_err(|error| wrong(format!("`quiet_hours`: {text:?}: {error}")))
    });
    let max_bytes = document
        .max_bytes
        .map(|text| {
            text.parse()
                .map_err(|error| wrong(format!("`max_bytes`: {error}")))
        })
        .transpose()?;
    Ok(WatchPlan {
        paths,
        quiet_hours: hours.collect::<Result<_, _>>()?,
        max_bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<WatchPlan, String> {
        plan(text, Duration::from_secs(300), None).map_err(|failure| failure.message)
    }

    #[test]
    fn each_path_has_its_own_times_or_those_of_the_file() {
        let plan = read(
            "every = \"10m\"\nquiet_hours = [\"22:00-06:00\"]\nmax_bytes = \"2G\"\n\
             [[path]]\ntest = \"rtt far.example\"\n\
             [[path]]\nname = \"backbone\"\ntest = \"tcp far.example -t 5\"\nevery = \"1h\"\njitter = \"0s\"\n",
        )
        .unwrap();
        let times = plan
            .paths
            .iter()
            .map(|path| (path.every.as_secs(), path.jitter.as_secs()));
        assert_eq!(times.collect::<Vec<_>>(), [(600, 60), (3600, 0)]);
        assert_eq!(plan.paths[1].name, "backbone");
        assert_eq!(plan.max_bytes, Some(ByteCount::new(2_000_000_000)));
        assert_eq!(plan.quiet_hours.len(), 1);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line_or_key() {
        for (text, why) in [
            ("", "no [[path]]"),
            ("every = 5\n", "line 1"),
            ("evry = \"5m\"\n", "unknown field"),
            (
                "every = \"5 apples\"\n[[path]]\ntest = \"rtt x\"\n",
                "every",
            ),
            (
                "quiet_hours = [\"22\"]\n[[path]]\ntest = \"rtt x\"\n",
                "quiet_hours",
            ),
            (
                "max_bytes = \"x\"\n[[path]]\ntest = \"rtt x\"\n",
                "max_bytes",
            ),
            ("[[path]]\ntest = \"serve\"\n", "cannot be watched"),
            (
                "[[path]]\ntest = \"rtt x\"\n[[path]]\ntest = \"rtt x\"\n",
                "two paths",
            ),
        ] {
            let message = read(text).unwrap_err();
            assert!(message.contains(why), "{text}: {message}");
        }
    }
}
