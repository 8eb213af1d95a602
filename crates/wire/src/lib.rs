//! The bytes caudal exchanges: preambles, framed control messages and datagram headers.
//!
//! Pure: bytes in, values out. `spec/protocol.md` describes the dialogue.
#![forbid(unsafe_code)]
// A peer wrote what is read here: no number of its may end a session, or wrap around unseen.
#![warn(clippy::indexing_slicing, clippy::arithmetic_side_effects)]
#![cfg_attr(
    test,
    allow(
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        reason = "a test that fails may panic"
    )
)]

pub mod acceptance;
pub mod access_token;
pub mod authentication;
pub mod datagram;
pub mod echo;
pub mod final_report;
pub mod frame;
pub mod iperf2;
pub mod iperf3;
pub mod message;
pub mod mtu_probe;
pub mod nttcp;
pub mod offered;
pub mod preamble;
pub mod protocol;
pub mod server_instance;
pub mod stamp;
pub mod trains;
