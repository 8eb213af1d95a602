//! A server of caudal.

mod answer;
mod client_channel;
pub(crate) mod control;
mod data_sockets;
mod dialogue;
mod greeting;
#[expect(
    clippy::module_inception,
    reason = "the file is named for its type, NativePeer"
)]
mod native;

pub use native::NativePeer;
