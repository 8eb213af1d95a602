//! The forms of tests, the command lines that they stand for, and their starts.

use super::error::ApiError;
use super::lab_host::on_lab_host;
use crate::form::FormValue;
use crate::job::{JobKind, JobView, StartError};
use crate::own_program::own_command;
use crate::state::UiState;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use caudal_core::text::command_line;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A filled form.
#[derive(Debug, Deserialize)]
pub(super) struct FilledForm {
    command: String,
    values: BTreeMap<String, FormValue>,
    /// The host of a lab that it is started on.
    lab: Option<LabHost>,
}

/// A host of a lab.
#[derive(Debug, Deserialize)]
struct LabHost {
    name: String,
    host: String,
}

/// What this server is, and its forms.
pub(super) async fn about(State(state): State<UiState>) -> Json<Value> {
    Json(json!({
        "version": state.options.version,
        "forms": state.options.forms,
        "store": state.options.store.as_ref().map(|path| path.display().to_string()),
    }))
}

/// The words of a filled form, checked as the program does.
fn words(state: &UiState, form: &FilledForm) -> Result<Vec<String>, ApiError> {
    let known = state.options.forms.iter();
    let known = known.clone().find(|known| known.name == form.command);
    let known = known.ok_or_else(|| ApiError::unknown("command"))?;
    let words = known.line(&form.values).map_err(ApiError::nonsense)?;
    (state.options.check)(&words).map_err(ApiError::nonsense)?;
    Ok(words)
}

/// The command line of a filled form.
pub(super) async fn line(
    State(state): State<UiState>,
    Json(form): Json<FilledForm>,
) -> Result<Json<Value>, ApiError> {
    let words = words(&state, &form)?;
    let line = command_line(words.iter().map(String::as_str));
    Ok(Json(json!({"line": line})))
}

/// Starts the test of a filled form.
pub(super) async fn start(
    State(state): State<UiState>,
    Json(form): Json<FilledForm>,
) -> Result<(StatusCode, Json<JobView>), ApiError> {
    let words = words(&state, &form)?;
    let mut command = own_command(&state.options.program, state.options.store.as_deref());
    if let Some(lab) = &form.lab {
        command.args(on_lab_host(&state, &lab.name, &lab.host)?);
    }
    command.args(&words).arg("--json-stream");
    // By the server's own thread: the program ends with the thread that started it.
    let job = state
        .jobs
        .start(JobKind::Test, &words, command)
        .map_err(started)?;
    Ok((StatusCode::CREATED, Json(job.view())))
}

/// Why nothing was started.
pub(super) fn started(error: StartError) -> ApiError {
    match error {
        StartError::Busy => ApiError::new(StatusCode::CONFLICT, error.to_string()),
        StartError::Program(_) => ApiError::failed(error),
    }
}
