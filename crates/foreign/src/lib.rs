//! Protocols of other tools, in both roles: the servers of iperf3, iperf 2 and nttcp as peers, and their clients at a server of caudal; STAMP.
//!
//! A protocol is a folder and a line in `list.rs`. iperf3 shares the port of caudal's server ([`iperf3::Iperf3SharedPort`]); the
//! others listen on ports of their own. All of them send and receive with the data path of `caudal-flow`.
#![forbid(unsafe_code)]
// Much of what is read here a peer wrote: no number of its may end a session.
#![warn(clippy::indexing_slicing)]
#![cfg_attr(
    test,
    allow(clippy::indexing_slicing, reason = "a test that fails may panic")
)]

pub mod iperf2;
pub mod iperf3;
mod list;
pub mod nttcp;
mod peer_record;
mod plain_bulk;
pub mod stamp;
mod stream_acceptor;

pub use list::{connect, connect_any};
