//! The report of a failure: a line on standard error, and JSON where that was asked for.

use crate::args::{Command, OutputArgs};
use crate::exit::{Exit, Failure, Notice};
use crate::output::sink::Sink;
use caudal_core::text::on_one_line;
use serde::Serialize;
use std::path::PathBuf;

/// The name and version of the document.
const SCHEMA: &str = "caudal.error/1";

/// A failure as a JSON document.
#[derive(Debug, Serialize)]
struct FailureDocument {
    schema: &'static str,
    /// The kind of the line among events.
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<&'static str>,
    error: FailureRecord,
}

/// A failure in its document.
#[derive(Debug, Serialize)]
struct FailureRecord {
    code: &'static str,
    exit_code: u8,
    message: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    advice: String,
}

impl FailureDocument {
    fn new(failure: &Failure, event: Option<&'static str>) -> Self {
        Self {
            schema: SCHEMA,
            event,
            error: FailureRecord {
                code: failure.exit.name(),
                exit_code: failure.exit.code(),
                message: on_one_line(&failure.message),
                advice: on_one_line(&failure.advice),
            },
        }
    }
}

/// The form in which a command line asks for its result.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ResultForm {
    structure: Structure,
    /// The file that the result goes to; standard output otherwise.
    file: Option<PathBuf>,
}

/// The structure of a result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Structure {
    /// Text, or values separated by commas.
    #[default]
    Text,
    /// One JSON document.
    Document,
    /// An event a line.
    Events,
}

impl ResultForm {
    /// The form that a command line asks for that could not be parsed.
    pub(crate) fn of_line(line: &[String]) -> Self {
        let mut words = line.iter().take_while(|word| *word != "--");
        let is_json = words.any(|word| word == "--json" || word == "-J");
        let is_stream = line.iter().any(|word| word == "--json-stream");
        Self {
            structure: match (is_json, is_stream) {
                (true, _) => Structure::Document,
                (false, true) => Structure::Events,
                (false, false) => Structure::Text,
            },
            file: None,
        }
    }

    /// The form that a command asks for; `line` is its command line.
    pub(crate) fn of_command(command: &Command, line: &[String]) -> Self {
        match command {
            Command::Tcp(args) => Self::of_output(&args.output),
            Command::Udp(args) => Self::of_output(&args.output),
            Command::Rtt(args) => Self::of_output(&args.output),
            Command::Quality(args) => Self::of_output(&args.output),
            Command::File(args) => Self::of_output(&args.output),
            _ => Self::of_line(line),
        }
    }

    fn of_output(output: &OutputArgs) -> Self {
        Self {
            structure: match (output.json, output.json_stream) {
                (true, _) => Structure::Document,
                (false, true) => Structure::Events,
                (false, false) => Structure::Text,
            },
            file: output.output.clone(),
        }
    }
}

/// Reports a failure.
pub(crate) fn report(failure: &Failure, form: &ResultForm) {
    if failure.notice == Notice::Nowhere {
        return;
    }
    failure.print();
    if failure.notice != Notice::LineAndResult {
        return;
    }
    let text = match form.structure {
        Structure::Text => return,
        Structure::Document => serde_json::to_string_pretty(&FailureDocument::new(failure, None)),
        Structure::Events => serde_json::to_string(&FailureDocument::new(failure, Some("failed"))),
    };
    let text = text.expect("a failure has only names for keys");
    // Bad usage leaves the file as it was: nothing was begun.
    let file = form.file.as_ref().filter(|_| failure.exit != Exit::Usage);
    let mut sink = file
        .and_then(|path| Sink::file(path).ok())
        .unwrap_or_else(Sink::stdout);
    sink.line(&text);
    let _ = sink.finish();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(line: &str) -> Structure {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        ResultForm::of_line(&words).structure
    }

    #[test]
    fn the_form_of_a_result_is_found_without_parsing_the_line() {
        assert_eq!(form("tcp --json --frobnicate"), Structure::Document);
        assert_eq!(form("tcp -J"), Structure::Document);
        assert_eq!(form("tcp --json-stream"), Structure::Events);
        assert_eq!(form("lab run dumbbell -- cat --json"), Structure::Text);
        assert_eq!(form("tcp"), Structure::Text);
    }

    #[test]
    fn the_document_of_a_failure_has_its_code_and_its_message() {
        let failure = Failure::new(Exit::Peer, "cannot connect\nnow", "start it");
        let document = serde_json::to_value(FailureDocument::new(&failure, None)).unwrap();
        assert_eq!(
            document,
            serde_json::json!({
                "schema": "caudal.error/1",
                "error": {
                    "code": "peer",
                    "exit_code": 3,
                    "message": on_one_line("cannot connect\nnow"),
                    "advice": "start it",
                },
            })
        );
    }
}
