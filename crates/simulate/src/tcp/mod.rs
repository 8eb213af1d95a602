//! TCP, segment by segment, after Linux.

mod congestion;
mod connection;
mod cubic;
mod receiver;
mod reno;
mod rtt;
mod scoreboard;
mod segment;
mod sender;
mod settings;
mod window;

pub(crate) use connection::TcpConnection;
pub(crate) use segment::{SackBlocks, TcpSegment};
pub use settings::{ApplicationHandshake, CongestionControl, TcpSettings};
