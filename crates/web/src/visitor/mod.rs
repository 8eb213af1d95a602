//! A test with the page: latency under load, its flows WebSockets, its probes pings that the browser answers by itself.
//!
//! The page opens a dialogue (`/test`); the server tells it which connections to make, and when. Downloads are counted by the page and
//! uploads by the server: the receiver counts. The result is a run of `quality`.

mod dialogue;
mod message;
mod page_counts;
mod phase;
mod prober;
mod registry;
mod report;
mod session;

pub(crate) use registry::VisitorRegistry;
pub(crate) use session::{VisitorTest, serve};
