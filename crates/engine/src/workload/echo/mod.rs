//! Round-trip tests: messages that the server sends back whole.

mod barrier;
mod client;
mod connection;
mod kernel_account;
mod live_rows;
mod message_buffer;
mod outcome;
mod probe;
mod prober;
mod reply_feed;
mod scheduled;
mod server;
mod stop_and_wait;
mod workload;

pub use outcome::{EchoConnection, EchoOutcome};
pub(crate) use workload::EchoWorkload;
