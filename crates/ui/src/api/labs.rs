//! Labs: networks on this machine, changed while traffic runs.

use super::error::ApiError;
use super::lab_host::{on_lab_host, plain};
use super::program::{ask_json, ask_text};
use super::tests_to_start::started;
use crate::job::{JobKind, JobView};
use crate::own_program::own_command;
use crate::state::UiState;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

/// The presets that a page may build.
const PRESETS: [&str; 7] = [
    "pair",
    "line",
    "dumbbell",
    "star",
    "policed",
    "two-paths",
    "wan",
];

/// A lab to build.
#[derive(Debug, Deserialize)]
pub(super) struct LabRequest {
    preset: String,
    name: String,
}

/// A host that is to serve.
#[derive(Debug, Deserialize)]
pub(super) struct ServeRequest {
    host: String,
}

/// A link to change.
#[derive(Debug, Deserialize)]
pub(super) struct WantedLink {
    link: String,
    #[serde(default)]
    rate: String,
    #[serde(default)]
    delay: String,
    #[serde(default)]
    loss: String,
}

/// The labs that are up.
pub(super) async fn list(State(state): State<UiState>) -> Result<Json<Value>, ApiError> {
    let labs = ask_json(&state, &["lab", "list", "--json"]).await?;
    Ok(Json(json!({"labs": labs, "presets": PRESETS})))
}

/// A lab with its counters.
pub(super) async fn one(
    State(state): State<UiState>,
    Path(name): Path<String>,
) -> Result<Json<Value>, ApiError> {
    let name = plain(&name, "name of a lab")?;
    let drawn = ask_text(&state, &["lab", "show", "--lab", name]).await?;
    let stats = ask_json(&state, &["lab", "stats", "--lab", name, "--json"]).await?;
    Ok(Json(json!({"drawn": drawn, "stats": stats})))
}

/// Builds a lab.
pub(super) async fn up(
    State(state): State<UiState>,
    Json(request): Json<LabRequest>,
) -> Result<StatusCode, ApiError> {
    if !PRESETS.contains(&request.preset.as_str()) {
        return Err(ApiError::unknown("preset"));
    }
    let name = plain(&request.name, "name of a lab")?;
    ask_text(
        &state,
        &["lab", "up", &request.preset, "--name", name, "-q"],
    )
    .await?;
    Ok(StatusCode::CREATED)
}

/// Changes a link.
pub(super) async fn set(
    State(state): State<UiState>,
    Path(name): Path<String>,
    Json(change): Json<WantedLink>,
) -> Result<StatusCode, ApiError> {
    let (name, link) = (
        plain(&name, "name of a lab")?,
        plain(&change.link, "name of a link")?,
    );
    let keys = [
        ("rate", &change.rate),
        ("delay", &change.delay),
        ("loss", &change.loss),
    ];
    let mut args = vec!["lab", "set", "--lab", name, link];
    let given = keys.iter().filter(|(_, value)| !value.is_empty());
    let set: Result<Vec<String>, ApiError> = given
        .map(|(key, value)| Ok(format!("{key}={}", plain(value, "value")?)))
        .collect();
    let set = set?;
    args.extend(set.iter().map(String::as_str));
    ask_text(&state, &args).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Starts a server on a host of a lab.
pub(super) async fn serve(
    State(state): State<UiState>,
    Path(name): Path<String>,
    Json(request): Json<ServeRequest>,
) -> Result<(StatusCode, Json<JobView>), ApiError> {
    let mut words = on_lab_host(&state, &name, &request.host)?;
    words.push("serve".to_owned());
    let mut command = own_command(&state.options.program, state.options.store.as_deref());
    command.args(&words);
    let job = state.jobs.start(JobKind::Text, &words, command);
    Ok((StatusCode::CREATED, Json(job.map_err(started)?.view())))
}

/// Takes a lab down.
pub(super) async fn down(
    State(state): State<UiState>,
    Path(name): Path<String>,
) -> Result<StatusCode, ApiError> {
    ask_text(&state, &["lab", "down", plain(&name, "name of a lab")?]).await?;
    Ok(StatusCode::NO_CONTENT)
}
