//! iperf3: its servers as peers, and its clients at a server of caudal.

mod client;
mod client_control;
mod client_streams;
mod control;
mod datagrams;
mod error;
mod iperf3;
mod plan;
mod readings;
mod registration;
mod registry;
mod request;
mod results;
mod reverse_amount;
mod server;
mod server_options;
mod server_state;
mod session;
mod session_error;
mod session_parameters;
mod session_streams;
mod shared_port;
mod streams;
mod test_client;
mod test_session;
mod trailing;

pub use client::{Iperf3Client, Iperf3Outcome};
pub use error::Iperf3Error;
pub use iperf3::Iperf3Peer;
pub use request::Iperf3Request;
pub use server_options::{Iperf3Options, Iperf3Session, LoginCheck};
pub use shared_port::Iperf3SharedPort;
