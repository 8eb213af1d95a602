//! Messages that a server sends back whole: the connections that time them at a client, and what a server receives them into.

mod barrier;
mod connection;
mod kernel_account;
mod message_buffer;
mod probe;
mod prober;
mod reply_feed;
mod scheduled;
mod stop_and_wait;

pub use barrier::SizeBarrier;
pub use connection::{ConnectionResult, ConnectionThread, SharedProgress};
pub use message_buffer::MessageBuffer;
pub use probe::send_udp;
pub use prober::Prober;
pub use reply_feed::{FeedReader, ReplyFeed};
