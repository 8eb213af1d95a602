//! What samples, intervals and events add up to: timelines, episodes, summaries, what limited a test, and the window that a path needs.
//! Pure.
#![forbid(unsafe_code)]

pub mod bottleneck;
pub mod check;
pub mod connect;
mod datagram_span;
pub mod delay;
pub mod echo;
pub mod episode;
pub mod framing;
pub mod host_health;
mod interval;
mod level_borders;
pub mod link;
pub mod quality;
pub mod run;
pub mod search;
pub mod sequence;
pub mod stamp;
pub mod summary;
pub mod tcp_proxy;
pub mod timeline;
pub mod transfer;
pub mod window;
