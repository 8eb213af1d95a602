//! What was started.

use super::error::ApiError;
use crate::job::{Job, JobView};
use crate::state::UiState;
use axum::Json;
use axum::extract::{Path, State};
use std::sync::Arc;

/// All jobs, the newest first.
pub(super) async fn list(State(state): State<UiState>) -> Json<Vec<JobView>> {
    Json(state.jobs.views())
}

/// The job of this number.
pub(super) fn find(state: &UiState, id: u64) -> Result<Arc<Job>, ApiError> {
    state.jobs.find(id).ok_or_else(|| ApiError::unknown("test"))
}

/// One job.
pub(super) async fn one(
    State(state): State<UiState>,
    Path(id): Path<u64>,
) -> Result<Json<JobView>, ApiError> {
    Ok(Json(find(&state, id)?.view()))
}

/// Asks a job to end.
pub(super) async fn stop(
    State(state): State<UiState>,
    Path(id): Path<u64>,
) -> Result<Json<JobView>, ApiError> {
    let job = find(&state, id)?;
    job.stop();
    Ok(Json(job.view()))
}
