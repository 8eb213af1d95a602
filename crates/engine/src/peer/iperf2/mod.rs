//! iperf 2, both roles, on our own engines.
//!
//! A test is some legs, a leg being one direction of one connection. Both roles make legs, an attendant
//! watches over them and tells what they moved; who shows it need not know which role it was.

mod attend;
mod back;
mod client;
mod guise;
mod leg;
mod listen;
mod server;
mod tcp;
mod udp;
mod visit;
mod visit_tcp;
mod visit_udp;

pub use client::{Client, ClientOptions, Outcome, Source};
pub use guise::Guise;
pub use leg::{Figures, Latency, LegInfo, Opened, UdpFigures};
pub use server::{Server, ServerOptions};

use caudal_core::sample::Role;
use std::net::SocketAddr;
use std::sync::Arc;

/// What happens in a test, as it happens.
#[derive(Debug, Clone)]
pub enum Event {
    /// A server listens: one of our own, for a client that is connected back to.
    Listening {
        /// Whether over UDP.
        udp: bool,
        /// The port.
        port: u16,
        /// Its receive buffer, bytes.
        buffer: u32,
    },
    /// A client's first socket is there.
    Ready {
        /// Its buffer, bytes.
        buffer: u32,
    },
    /// A connection is set up; told once, by its first leg.
    Connected(Arc<LegInfo>),
    /// The server starts a client of its own, to connect back.
    ConnectingBack {
        /// Where to.
        peer: SocketAddr,
        /// Whether over UDP.
        udp: bool,
        /// Bytes in a datagram, and the rate.
        length: u32,
        /// Bit/s.
        rate: u64,
        /// The buffer of the socket, bytes.
        buffer: u32,
    },
    /// An interval of a leg is over.
    Interval(Arc<LegInfo>, Figures),
    /// A leg is over.
    Ended(Arc<LegInfo>, Figures),
    /// The other end of a sender's UDP leg has reported.
    Reported(Arc<LegInfo>, Figures),
    /// The other end did not report: tries made.
    Unreported(Arc<LegInfo>, u32),
    /// A peer was turned away, or something did not go as it should.
    Trouble {
        /// Whom it is about.
        peer: Option<SocketAddr>,
        /// What happened.
        what: String,
    },
}

/// Takes events.
pub type Tell = Arc<dyn Fn(Event) + Send + Sync>;

/// The clock that goes into headers: seconds and microseconds of the wall clock.
fn wall() -> (u32, u32) {
    seconds(caudal_sys::clock::realtime_ns())
}

fn seconds(ns: u64) -> (u32, u32) {
    ((ns / 1_000_000_000) as u32, (ns / 1000 % 1_000_000) as u32)
}

/// Whether a leg's role is the sender's.
const fn sends(role: Role) -> bool {
    matches!(role, Role::Sender)
}
