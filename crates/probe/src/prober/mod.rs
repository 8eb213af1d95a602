//! Probing a path from one end: hops, routes, path MTU and the capacity of each link.
//!
//! Probes are UDP datagrams whose TTL ends at each hop, all of one flow; what carries them is a [`ProbeChannel`], so that everything but
//! [`UdpChannel`] is told the time and runs in simulations as well.

mod answer_limit;
mod capacity;
mod capacity_readings;
mod channel;
mod exchange;
mod hop_table;
mod hops;
mod mtu;
mod outcome;
mod path_prober;
mod probe;
mod report;
mod routes;
mod routing_loop;
mod settings;
mod udp_channel;
mod watch;

pub use channel::{ChannelEvent, ProbeChannel, SentProbe};
pub use outcome::{ProbeError, ProbedPath};
pub use path_prober::{PathObserver, probe_path};
pub use probe::{AnswerKind, MEASURED_FLOW, ProbeAnswer, ProbeFate, ProbeOutcome, ProbeRequest};
pub use settings::PathSettings;
pub use udp_channel::{PROBE_PORT, UdpChannel};
