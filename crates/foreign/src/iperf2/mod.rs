//! iperf 2: its servers as peers, its clients' tests, and a server for its clients.

mod bounceback;
mod burst_reader;
mod client;
mod client_flows;
mod client_sockets;
mod connect_back;
mod cut_off;
mod datagram_format;
mod datagram_reader;
mod datagram_sender;
mod end_reports;
mod handshakes;
#[expect(
    clippy::module_inception,
    reason = "the file is named for its type, Iperf2Peer"
)]
mod iperf2;
mod listeners;
mod opening_turns;
mod request;
mod server;
mod server_loss;
mod server_options;
mod server_state;
mod session;
mod session_groups;
mod session_numbers;
mod session_view;
mod tcp;
mod tcp_session;
mod transit_histogram;
mod udp_acceptor;
mod udp_session;
mod wall_clock;

pub use bounceback::BouncebackTest;
pub use client::{Iperf2Client, Iperf2Failure, Iperf2Outcome};
pub use iperf2::Iperf2Peer;
pub use request::{Iperf2Request, PeriodicBurst, ServerPorts};
pub use server::{Iperf2Server, ReceiveBuffers};
pub use server_loss::ServerLoss;
pub use server_options::{Iperf2Options, OwnMachine};
pub use session_numbers::SessionNumbers;
pub use session_view::Iperf2Session;
pub use transit_histogram::{FlowHistograms, HistogramBins, HistogramCounts};
