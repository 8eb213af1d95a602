//! The password of a server that is reached from elsewhere, for its token.

use super::error::ApiError;
use crate::password::Attempt;
use crate::server::BrowserAddress;
use crate::state::UiState;
use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json};
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

/// A password.
#[derive(Deserialize)]
pub(super) struct Login {
    password: String,
}

/// Gives the token for the password.
pub(super) async fn login(
    State(state): State<UiState>,
    Extension(BrowserAddress(from)): Extension<BrowserAddress>,
    Json(given): Json<Login>,
) -> Result<Json<Value>, ApiError> {
    let Some(login) = state.login.clone() else {
        return Err(ApiError::unknown("page"));
    };
    let tried = tokio::task::spawn_blocking(move || {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now_ns = now.map_or(0, |now| now.as_nanos() as u64);
        let attempt = login.password.attempt(&given.password, from, now_ns);
        (attempt, login.token.as_str().to_owned())
    });
    match tried.await.map_err(ApiError::failed)? {
        (Attempt::Right, token) => Ok(Json(json!({"token": token}))),
        (Attempt::Wrong, _) => {
            let why = "this is not the password";
            Err(ApiError::new(StatusCode::FORBIDDEN, why))
        }
        (Attempt::TooMany, _) => {
            let why = "too many passwords were wrong; try again in a minute";
            Err(ApiError::new(StatusCode::TOO_MANY_REQUESTS, why))
        }
    }
}
