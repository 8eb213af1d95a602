//! Events as JSON, one a line.

use super::sink::TextSink;
use caudal_core::event::{Event, View};

/// A view that prints each event that docs/reference/json.md has as a line of JSON.
#[derive(Debug)]
pub struct JsonLines<S> {
    /// Where the lines go.
    pub sink: S,
    /// The last event, the whole run, once it was printed.
    pub result: Option<String>,
}

impl<S: TextSink> JsonLines<S> {
    /// A view on this sink.
    #[must_use]
    pub const fn new(sink: S) -> Self {
        Self { sink, result: None }
    }
}

impl<S: TextSink> View for JsonLines<S> {
    fn event(&mut self, event: &Event) {
        if !event.is_documented() {
            return;
        }
        let line = serde_json::to_string(event).unwrap_or_default();
        self.sink.line(&line);
        if matches!(event, Event::Finished { .. }) {
            self.result = Some(line);
        }
    }
}
