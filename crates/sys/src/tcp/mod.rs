//! TCP: the kernel's account of a connection, its options and queues, and bytes in and out.

mod ecn;
mod info;
mod mptcp;
mod options;
mod queues;
mod spliced;
#[cfg(test)]
mod testing;
mod transfer;

pub use ecn::EcnRequest;
pub use info::{TcpInfo, tcp_info};
pub use mptcp::{is_mptcp_active, mptcp_socket};
pub use options::{
    available_congestion_controls, congestion, max_segment, set_congestion, set_max_segment,
    set_pacing_rate, set_quickack, set_receive_low_water, set_zero_linger,
};
pub use queues::{in_queue, out_queue, unsent_bytes};
pub use spliced::SplicedSource;
pub use transfer::{discard_some, receive_some, send_file_some, send_some, shutdown_write};
