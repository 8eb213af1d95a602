//! Browsers as clients of a server: a page that measures, and ndt7, on the port that serves caudal and iperf3.
//!
//! [`WebSharedPort`] recognises HTTP by its first bytes. A request is answered and its connection closed, or it becomes a WebSocket
//! (RFC 6455): a flow of payload (`websocket`), the dialogue of a test with the page (`visitor`), or a test of ndt7 (`ndt7`). The
//! receiver of payload counts it, and the limits, places and admission of the server hold as for its other clients.
#![forbid(unsafe_code)]
// Everything that is read here a stranger wrote.
#![warn(clippy::indexing_slicing)]
#![cfg_attr(
    test,
    allow(clippy::indexing_slicing, reason = "a test that fails may panic")
)]
#![cfg_attr(
    test,
    allow(clippy::unwrap_used, reason = "a failed test names the line")
)]

mod assets;
mod http;
mod ndt7;
mod options;
mod shared_port;
mod start_budget;
mod visitor;
mod websocket;

pub use options::{VisitorArchive, WebOptions};
pub use shared_port::WebSharedPort;
