//! Traffic: the threads and sockets that carry out a plan.
#![forbid(unsafe_code)]

pub mod allow;
mod bell;
pub mod carrier;
pub mod client;
mod conversation;
mod counters;
mod echo_client;
mod echo_prober;
mod echo_server;
mod environment;
mod error;
pub mod guests;
mod identity;
pub mod iperf2;
pub mod iperf3;
mod layout;
pub mod machine;
pub mod nttcp;
pub mod pacer;
mod random;
mod reception;
pub mod server;
mod session;
mod socket;
mod stop;
mod tcp;
mod udp_receiver;
mod udp_sender;

pub use carrier::Manner;
pub use client::{Client, CutShort, Family, Target, TrafficRun};
pub use echo_client::{EchoConnection, EchoManner, EchoRun};
pub use environment::describe;
pub use error::RunError;
pub use identity::{StartedRun, TOOL, new_run_id, this_tool};
pub use server::{PORT, Server, ServerEvent, ServerOptions};
pub use socket::Origin;
