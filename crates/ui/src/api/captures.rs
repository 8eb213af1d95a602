//! Captures that were dropped onto a page: what is found in them, and one flow as a sequence diagram and as graphs.

use super::error::ApiError;
use super::program::{ask_json, ask_text};
use crate::state::UiState;
use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::PathBuf;

/// The graphs of a flow, as the command line names them.
const GRAPHS: [&str; 5] = ["time-sequence", "throughput", "rtt", "inflight", "window"];

/// The frame with which a sequence diagram begins.
#[derive(Debug, Default, Deserialize)]
pub(super) struct LadderQuery {
    from: Option<u64>,
}

/// The file of a capture; it is this server's own, and no name that a page gives.
fn file(state: &UiState, nth: u64) -> Result<String, ApiError> {
    let path = state.scratch.capture(nth).map(PathBuf::into_os_string);
    let path = path.and_then(|path| path.into_string().ok());
    path.ok_or_else(|| ApiError::unknown("capture (any more): drop it again"))
}

/// What is found in a capture.
pub(super) async fn one(
    State(state): State<UiState>,
    Path(nth): Path<u64>,
) -> Result<Json<Value>, ApiError> {
    let file = file(&state, nth)?;
    let mut document = ask_json(&state, &["pcap", &file, "--json"]).await?;
    if let Some(document) = document.as_object_mut() {
        // Where it stands here is nobody's business.
        document.remove("files");
    }
    Ok(Json(document))
}

/// One flow: its details as text, and its sequence diagram from a frame on.
pub(super) async fn flow(
    State(state): State<UiState>,
    Path((nth, flow)): Path<(u64, u64)>,
    Query(query): Query<LadderQuery>,
) -> Result<Json<Value>, ApiError> {
    let file = file(&state, nth)?;
    let (flow, from) = (flow.to_string(), query.from.unwrap_or(0).to_string());
    let text = ask_text(&state, &["pcap", &file, "--flow", &flow]).await?;
    let ladder = ["--flow", &flow, "--ladder", "--from-frame", &from, "--json"];
    let args: Vec<&str> = ["pcap", &file].into_iter().chain(ladder).collect();
    let document = ask_json(&state, &args).await?;
    Ok(Json(
        json!({"text": text, "ladder": document.get("ladder")}),
    ))
}

/// A graph of a flow.
pub(super) async fn graph(
    State(state): State<UiState>,
    Path((nth, flow, graph)): Path<(u64, u64, String)>,
) -> Result<impl IntoResponse, ApiError> {
    let graph = GRAPHS.iter().find(|known| **known == graph);
    let graph = graph.ok_or_else(|| ApiError::unknown("graph"))?;
    let (file, flow) = (file(&state, nth)?, flow.to_string());
    let args = [
        "pcap",
        &file,
        "--flow",
        &flow,
        "--graph",
        graph,
        "-o",
        "/dev/stdout",
    ];
    let text = ask_text(&state, &args).await?;
    let begin = text.find("<svg").unwrap_or(0);
    let end = text.rfind("</svg>").map_or(0, |at| at + "</svg>".len());
    let svg = text.get(begin..end).unwrap_or_default().to_owned();
    Ok(([(CONTENT_TYPE, "image/svg+xml")], svg))
}
