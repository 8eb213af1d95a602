//! Answers of this program.

use super::error::ApiError;
use crate::own_program::{ProgramAnswer, answer, own_command};
use crate::state::UiState;
use axum::http::StatusCode;
use serde_json::Value;

/// Runs this program with these arguments, and `input` at its standard input.
///
/// # Errors
/// When it cannot be started.
pub(super) async fn ask(
    state: &UiState,
    args: Vec<String>,
    input: Vec<u8>,
) -> Result<ProgramAnswer, ApiError> {
    let options = state.options.clone();
    let asked = tokio::task::spawn_blocking(move || {
        let command = own_command(&options.program, options.store.as_deref());
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        answer(command, &args, &input)
    });
    asked
        .await
        .map_err(ApiError::failed)?
        .map_err(ApiError::failed)
}

/// The text that this program prints for these arguments.
///
/// # Errors
/// When it fails, with what it says.
pub(super) async fn ask_text(state: &UiState, args: &[&str]) -> Result<String, ApiError> {
    let args = args.iter().map(|arg| (*arg).to_owned()).collect();
    let answer = ask(state, args, Vec::new()).await?;
    match answer.code {
        Some(0) => Ok(answer.text),
        _ => Err(ApiError::new(StatusCode::CONFLICT, answer.why())),
    }
}

/// The JSON that it prints.
///
/// # Errors
/// As [`ask_text`].
pub(super) async fn ask_json(state: &UiState, args: &[&str]) -> Result<Value, ApiError> {
    let text = ask_text(state, args).await?;
    serde_json::from_str(&text).map_err(ApiError::failed)
}
