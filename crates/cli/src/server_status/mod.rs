//! The state of a running server, for `caudal top --serve`: over a socket in a directory of this user, never over the network.

mod directory;
mod reader;
mod sessions;
mod socket;
mod status;

pub use reader::{LocalServer, find_servers};

pub use socket::StatusSocket;
pub use status::{ServerStatus, SessionStatus};
