//! The lines of a job as server-sent events: an array of them at a time, at most ten times a second.

use super::error::ApiError;
use super::jobs::find;
use crate::job::Job;
use crate::state::UiState;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::IntoResponse;
use axum::response::sse::{Event, KeepAlive, Sse};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{Sender, channel};
use tokio_stream::wrappers::ReceiverStream;

/// The time between two messages.
const PERIOD: Duration = Duration::from_millis(100);
/// The time after which an idle stream says that it is there.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// The lines of a job from the number that `Last-Event-ID` names, until it has ended.
///
/// A browser that falls behind takes more lines at a time; nothing is kept for it.
pub(super) async fn events(
    State(state): State<UiState>,
    Path(id): Path<u64>,
    headers: HeaderMap,
) -> Result<impl IntoResponse, ApiError> {
    let job = find(&state, id)?;
    let last = headers.get("last-event-id");
    let from = last.and_then(|value| value.to_str().ok()?.parse().ok());
    let (sender, receiver) = channel(1);
    tokio::spawn(send(job, from.unwrap_or(0), sender));
    let keep_alive = KeepAlive::new().interval(KEEP_ALIVE);
    Ok(Sse::new(ReceiverStream::new(receiver)).keep_alive(keep_alive))
}

/// Sends lines until the job has ended or the browser has gone.
async fn send(job: Arc<Job>, mut from: u64, sender: Sender<Result<Event, Infallible>>) {
    let mut changes = job.changes();
    loop {
        let (lines, next, is_over) = job.lines(from);
        if let Some(lines) = lines {
            let event = Event::default().event("lines").id(next.to_string());
            if sender.send(Ok(event.data(lines))).await.is_err() {
                return;
            }
            from = next;
            tokio::time::sleep(PERIOD).await;
            continue;
        }
        if is_over {
            let state = serde_json::to_string(&job.view()).unwrap_or_default();
            let _ = sender
                .send(Ok(Event::default().event("over").data(state)))
                .await;
            return;
        }
        tokio::select! {
            changed = changes.changed() => if changed.is_err() { return },
            () = sender.closed() => return,
        }
    }
}
