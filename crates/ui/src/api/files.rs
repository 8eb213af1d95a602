//! Logs and captures that are dropped onto a page.

use super::error::ApiError;
use super::program::ask;
use crate::state::UiState;
use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Value, json};

/// What captures begin with: pcap in either order of bytes, with µs and ns, and pcapng.
const CAPTURES: [[u8; 4]; 5] = [
    [0xD4, 0xC3, 0xB2, 0xA1],
    [0xA1, 0xB2, 0xC3, 0xD4],
    [0x4D, 0x3C, 0xB2, 0xA1],
    [0xA1, 0xB2, 0x3C, 0x4D],
    [0x0A, 0x0D, 0x0D, 0x0A],
];

/// Takes a log, which is recorded, or a capture, which is explained.
pub(super) async fn import(
    State(state): State<UiState>,
    content: Bytes,
) -> Result<Json<Value>, ApiError> {
    let is_capture = content
        .first_chunk()
        .is_some_and(|first| CAPTURES.contains(first));
    let args: &[&str] = match is_capture {
        true => &["pcap", "-"],
        false => &["report", "import", "-"],
    };
    let args = args.iter().map(|arg| (*arg).to_owned()).collect();
    let answer = ask(&state, args, content.to_vec()).await?;
    match answer.code {
        Some(0) => Ok(Json(json!({"is_capture": is_capture, "text": answer.text}))),
        _ => Err(ApiError::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            answer.why(),
        )),
    }
}
