//! What was recorded.

use super::error::ApiError;
use super::program::{ask_json, ask_text};
use crate::state::UiState;
use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use caudal_store::{Filter, Store, StoreEntry};
use serde::Deserialize;
use serde_json::{Value, json};

/// The number of runs given at once unless asked for more, and the most.
const USUAL_LIMIT: usize = 50;
const MAX_LIMIT: usize = 500;

/// Which runs are asked for.
#[derive(Debug, Default, Deserialize)]
pub(super) struct RunQuery {
    words: Option<String>,
    kind: Option<String>,
    tag: Option<String>,
    limit: Option<usize>,
    offset: Option<usize>,
}

/// Two runs, studies or tags to compare.
#[derive(Debug, Deserialize)]
pub(super) struct CompareQuery {
    a: String,
    b: String,
}

/// Tags to put and to take away.
#[derive(Debug, Deserialize)]
pub(super) struct TagChange {
    #[serde(default)]
    add: Vec<String>,
    #[serde(default)]
    remove: Vec<String>,
}

/// Does something with the store, where it may wait for the disk.
async fn in_store<T: Send + 'static>(
    state: &UiState,
    work: impl FnOnce(&std::path::Path) -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let Some(path) = state.options.store.clone() else {
        let why = "nothing is recorded here: CAUDAL_STORE says so";
        return Err(ApiError::new(StatusCode::CONFLICT, why));
    };
    tokio::task::spawn_blocking(move || work(&path))
        .await
        .map_err(ApiError::failed)?
}

/// A whole id.
fn id(text: &str) -> Result<&str, ApiError> {
    let is_digit = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    match text.len() == 32 && text.chars().all(is_digit) {
        true => Ok(text),
        false => Err(ApiError::unknown("run")),
    }
}

/// The runs that are asked for, the newest first.
pub(super) async fn list(
    State(state): State<UiState>,
    Query(query): Query<RunQuery>,
) -> Result<Json<Value>, ApiError> {
    let limit = query.limit.unwrap_or(USUAL_LIMIT).min(MAX_LIMIT);
    let offset = query.offset.unwrap_or(0);
    let given = |text: Option<String>| text.filter(|text| !text.is_empty());
    let words = given(query.words).unwrap_or_default();
    let filter = Filter {
        kind: given(query.kind),
        tag: given(query.tag),
        words: words.split_whitespace().map(str::to_owned).collect(),
        // One more shows whether there are more.
        limit: Some(offset.saturating_add(limit).saturating_add(1)),
        ..Filter::default()
    };
    let (entries, tags) = in_store(&state, move |path| {
        if !path.exists() {
            return Ok((Vec::new(), Vec::new()));
        }
        let store = Store::open_to_read(path).map_err(ApiError::failed)?;
        let entries = store.list(&filter).map_err(ApiError::failed)?;
        let tags = store.known_tags().map_err(ApiError::failed)?;
        Ok((entries, tags))
    })
    .await?;
    let has_more = entries.len() > offset.saturating_add(limit);
    let shown: Vec<&StoreEntry> = entries.iter().skip(offset).take(limit).collect();
    Ok(Json(
        json!({"entries": shown, "has_more": has_more, "tags": tags}),
    ))
}

/// The document of a run, or the findings of a study, with the tags.
pub(super) async fn one(
    State(state): State<UiState>,
    Path(text): Path<String>,
) -> Result<Json<Value>, ApiError> {
    let id = id(&text)?.to_owned();
    let tags = {
        let id = id.clone();
        in_store(&state, move |path| {
            let store = Store::open_to_read(path).map_err(ApiError::failed)?;
            store.tags(&id).map_err(|_| ApiError::unknown("run"))
        })
        .await?
    };
    let document = ask_json(&state, &["report", "export", &id, "--json"]).await?;
    Ok(Json(json!({"document": document, "tags": tags})))
}

/// Removes a run or a study.
pub(super) async fn remove(
    State(state): State<UiState>,
    Path(text): Path<String>,
) -> Result<StatusCode, ApiError> {
    let ids = [id(&text)?.to_owned()];
    in_store(&state, move |path| {
        let mut store = Store::open(path).map_err(ApiError::failed)?;
        store.remove(&ids).map_err(ApiError::failed)
    })
    .await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Changes the tags of a run.
pub(super) async fn tag(
    State(state): State<UiState>,
    Path(text): Path<String>,
    Json(change): Json<TagChange>,
) -> Result<Json<Value>, ApiError> {
    let id = id(&text)?.to_owned();
    let tags = in_store(&state, move |path| {
        let mut store = Store::open(path).map_err(ApiError::failed)?;
        for tag in &change.add {
            store
                .tag(&id, tag)
                .map_err(|error| ApiError::nonsense(error.to_string()))?;
        }
        for tag in &change.remove {
            store
                .untag(&id, tag)
                .map_err(|error| ApiError::nonsense(error.to_string()))?;
        }
        store.tags(&id).map_err(ApiError::failed)
    })
    .await?;
    Ok(Json(json!({"tags": tags})))
}

/// What a terminal would show of a run.
pub(super) async fn text(
    State(state): State<UiState>,
    Path(text): Path<String>,
) -> Result<String, ApiError> {
    ask_text(&state, &["report", "show", id(&text)?]).await
}

/// A run or a study for others.
pub(super) async fn export(
    State(state): State<UiState>,
    Path((text, format)): Path<(String, String)>,
) -> Result<impl IntoResponse, ApiError> {
    let (flag, kind) = match format.as_str() {
        "html" => ("--html", "text/html; charset=utf-8"),
        "md" => ("--md", "text/markdown; charset=utf-8"),
        "csv" => ("--csv", "text/csv; charset=utf-8"),
        "json" => ("--json", "application/json"),
        "svg" => ("--svg", "image/svg+xml"),
        _ => return Err(ApiError::unknown("format")),
    };
    let text = ask_text(&state, &["report", "export", id(&text)?, flag]).await?;
    Ok(([(CONTENT_TYPE, kind)], text))
}

/// The tests of a watched path over days, with the times at which their results changed.
pub(super) async fn watched(
    State(state): State<UiState>,
    Path(name): Path<String>,
) -> Result<Json<Value>, ApiError> {
    let tests = std::sync::Arc::clone(&state.options.watched);
    let found = in_store(&state, move |path| {
        tests(path, &name).map_err(ApiError::failed)
    });
    found.await.map(Json)
}

/// The comparison of two sides: ids of runs or studies, or tags.
pub(super) async fn compare(
    State(state): State<UiState>,
    Query(query): Query<CompareQuery>,
) -> Result<Json<Value>, ApiError> {
    let (a, b) = (side(&query.a)?, side(&query.b)?);
    let document = ask_json(&state, &["report", "compare", a, b, "--json"]).await?;
    let text = ask_text(&state, &["report", "compare", a, b]).await?;
    let figure = ask_text(&state, &["report", "compare", a, b, "--svg", "/dev/stdout"]).await;
    let figure = figure.ok().and_then(|text| {
        let begin = text.find("<svg")?;
        let end = text.rfind("</svg>")? + "</svg>".len();
        text.get(begin..end).map(str::to_owned)
    });
    Ok(Json(
        json!({"comparison": document, "text": text, "figure": figure}),
    ))
}

/// A side of a comparison: no path.
fn side(text: &str) -> Result<&str, ApiError> {
    let name = text
        .strip_prefix("tag:")
        .or_else(|| text.strip_prefix("study:"));
    match name {
        Some(name) if !name.is_empty() && !name.contains([',', '/']) => Ok(text),
        _ => id(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_is_an_id_or_a_tag_and_no_path() {
        let run = "0123456789abcdef0123456789abcdef";
        for right in [run, "tag:before", "study:echo-capacity"] {
            assert_eq!(side(right).unwrap(), right);
        }
        for wrong in [
            "/etc/passwd",
            "run.json",
            "last",
            "tag:",
            "tag:../x",
            "--output=x",
            &format!("{run},{run}"),
        ] {
            assert!(side(wrong).is_err(), "{wrong}");
        }
    }
}
