//! The protocol of iperf3, as traced from versions 3.1 to 3.21.
//!
//! A control connection carries a cookie, then single state bytes and JSON blocks with a length before
//! them; every TCP data connection repeats the cookie, every UDP stream begins with four bytes each way.
//! Source: the iperf3 manual, and the behaviour of the programs.

pub mod cookie;
pub mod datagram;
pub mod error;
mod json;
pub mod parameters;
pub mod results;
pub mod state;

pub use cookie::Cookie;
pub use error::Iperf3ErrorCode;
pub use json::{MAX_PARAMETERS_BYTES, MAX_RESULTS_BYTES, MAX_SERVER_RESULTS_BYTES, frame};
pub use parameters::{MAX_STREAMS, Parameters, TransportProtocol};
pub use results::{Results, StreamResult, stream_id};
pub use state::ControlState;
