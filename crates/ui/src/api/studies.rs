//! Experiments: those that come with the program, edited ones, and their studies.

use super::error::ApiError;
use super::program::{ask, ask_json, ask_text};
use super::tests_to_start::started;
use crate::job::{JobKind, JobView};
use crate::own_program::own_command;
use crate::state::UiState;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

/// An experiment: one that comes with the program, or an edited text.
#[derive(Debug, Deserialize)]
pub(super) struct StudyRequest {
    name: Option<String>,
    text: Option<String>,
    #[serde(default)]
    quick: bool,
}

/// The experiments that come with the program.
pub(super) async fn list(State(state): State<UiState>) -> Result<Json<Value>, ApiError> {
    ask_json(&state, &["study", "list", "--json"])
        .await
        .map(Json)
}

/// The text of one of them.
pub(super) async fn text(
    State(state): State<UiState>,
    Path(name): Path<String>,
) -> Result<String, ApiError> {
    ask_text(&state, &["study", "show", experiment(&name)?]).await
}

/// The name of an experiment that comes with the program: no path, and no flag.
fn experiment(name: &str) -> Result<&str, ApiError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    match !name.is_empty() && !name.starts_with('-') && name.chars().all(is_plain) {
        true => Ok(name),
        false => Err(ApiError::unknown("experiment")),
    }
}

/// The experiment of a request as the program is told it; an edited text is in a file of this user's.
fn subject(state: &UiState, request: &StudyRequest) -> Result<String, ApiError> {
    match (&request.name, &request.text) {
        (_, Some(text)) => {
            let path = state.scratch.write(text).map_err(ApiError::failed)?;
            Ok(path.display().to_string())
        }
        (Some(name), None) => experiment(name).map(str::to_owned),
        (None, None) => Err(ApiError::nonsense("name an experiment, or give its text")),
    }
}

/// Checks an experiment, and says what it would take.
pub(super) async fn check(
    State(state): State<UiState>,
    Json(request): Json<StudyRequest>,
) -> Result<Json<Value>, ApiError> {
    let subject = subject(&state, &request)?;
    let args = ["study", "check", &subject].map(str::to_owned).to_vec();
    let answer = ask(&state, args, Vec::new()).await?;
    Ok(Json(json!({
        "is_right": answer.code == Some(0),
        "text": answer.text,
        "why": answer.complaint,
    })))
}

/// Starts a study.
pub(super) async fn run(
    State(state): State<UiState>,
    Json(request): Json<StudyRequest>,
) -> Result<(StatusCode, Json<JobView>), ApiError> {
    let mut words = vec![
        "study".to_owned(),
        "run".to_owned(),
        subject(&state, &request)?,
    ];
    if request.quick {
        words.push("--quick".to_owned());
    }
    start(&state, &words)
}

/// Goes on with a study that was stopped.
pub(super) async fn resume(
    State(state): State<UiState>,
    Path(id): Path<String>,
) -> Result<(StatusCode, Json<JobView>), ApiError> {
    if id.len() != 32 || !id.chars().all(|c| c.is_ascii_hexdigit()) {
        return Err(ApiError::unknown("study"));
    }
    let words = ["study", "resume", id.as_str()].map(str::to_owned);
    start(&state, &words)
}

fn start(state: &UiState, words: &[String]) -> Result<(StatusCode, Json<JobView>), ApiError> {
    let mut command = own_command(&state.options.program, state.options.store.as_deref());
    command.args(words);
    let job = state.jobs.start(JobKind::Text, words, command);
    Ok((StatusCode::CREATED, Json(job.map_err(started)?.view())))
}
