//! The paths.

use super::{captures, events, files, jobs, labs, login, runs, studies, tests_to_start};
use crate::access::{Access, guard};
use crate::assets::asset;
use crate::state::UiState;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::Uri;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};

/// Maximum length of what a page sends, bytes: a form, or the file of an experiment.
const MAX_BODY: usize = 64 << 10;
/// The same of a log or capture that is dropped onto a page.
const MAX_FILE: usize = 64 << 20;

/// All paths, each behind the check of who asks.
pub(crate) fn router(state: UiState, access: Access) -> Router {
    let files = Router::new()
        .route("/api/import", post(files::import))
        .layer(DefaultBodyLimit::max(MAX_FILE));
    Router::new()
        .route("/api/login", post(login::login))
        .route("/api/about", get(tests_to_start::about))
        .route("/api/line", post(tests_to_start::line))
        .route("/api/tests", post(tests_to_start::start))
        .route("/api/jobs", get(jobs::list))
        .route("/api/jobs/{id}", get(jobs::one))
        .route("/api/jobs/{id}/stop", post(jobs::stop))
        .route("/api/jobs/{id}/events", get(events::events))
        .route("/api/runs", get(runs::list))
        .route("/api/runs/{id}", get(runs::one).delete(runs::remove))
        .route("/api/runs/{id}/tags", post(runs::tag))
        .route("/api/runs/{id}/text", get(runs::text))
        .route("/api/runs/{id}/export/{format}", get(runs::export))
        .route("/api/watched/{name}", get(runs::watched))
        .route("/api/compare", get(runs::compare))
        .route("/api/captures/{nth}", get(captures::one))
        .route("/api/captures/{nth}/{flow}", get(captures::flow))
        .route(
            "/api/captures/{nth}/{flow}/graph/{graph}",
            get(captures::graph),
        )
        .route("/api/studies", get(studies::list))
        .route("/api/studies/check", post(studies::check))
        .route("/api/studies/run", post(studies::run))
        .route("/api/studies/resume/{id}", post(studies::resume))
        .route("/api/studies/text/{name}", get(studies::text))
        .route("/api/labs", get(labs::list))
        .route("/api/labs/up", post(labs::up))
        .route("/api/labs/{name}", get(labs::one))
        .route("/api/labs/{name}/set", post(labs::set))
        .route("/api/labs/{name}/serve", post(labs::serve))
        .route("/api/labs/{name}/down", post(labs::down))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .merge(files)
        .fallback(|uri: Uri| async move { asset(uri.path()) })
        .layer(from_fn_with_state(access, guard))
        .with_state(state)
}
