//! Logs and captures that are dropped onto a page.

use super::error::ApiError;
use super::program::ask;
use crate::state::UiState;
use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Value, json};
use std::sync::Arc;

/// What captures begin with: pcap in either order of bytes, with µs and ns, pcapng, and what compresses them.
const CAPTURES: [&[u8]; 7] = [
    &[0xD4, 0xC3, 0xB2, 0xA1],
    &[0xA1, 0xB2, 0xC3, 0xD4],
    &[0x4D, 0x3C, 0xB2, 0xA1],
    &[0xA1, 0xB2, 0x3C, 0x4D],
    &[0x0A, 0x0D, 0x0D, 0x0A],
    // Compressed: gzip and zstd.
    &[0x1F, 0x8B],
    &[0x28, 0xB5, 0x2F, 0xFD],
];

/// Takes a log, which is recorded, or a capture, which is kept for as long as its pages are looked at, and explained.
pub(super) async fn import(
    State(state): State<UiState>,
    content: Bytes,
) -> Result<Json<Value>, ApiError> {
    let is_capture = CAPTURES.iter().any(|first| content.starts_with(first));
    let args: &[&str] = match is_capture {
        true => &["pcap", "-"],
        false => &["report", "import", "-"],
    };
    let args = args.iter().map(|arg| (*arg).to_owned()).collect();
    let answer = ask(&state, args, content.to_vec()).await?;
    match answer.code {
        Some(0) if is_capture => {
            let scratch = Arc::clone(&state.scratch);
            let written = tokio::task::spawn_blocking(move || scratch.write_capture(&content));
            let nth = written.await.map_err(ApiError::failed)?;
            let nth = nth.map_err(ApiError::failed)?;
            Ok(Json(json!({"capture": nth, "text": answer.text})))
        }
        Some(0) => Ok(Json(json!({"text": answer.text}))),
        _ => Err(ApiError::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            answer.why(),
        )),
    }
}
