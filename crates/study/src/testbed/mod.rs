//! The networks that the flows of cases cross.

mod check;
mod flow;
mod host_address;
mod network;
mod path_truth;
mod resolver;
mod testbed;

pub(crate) use flow::{datagram_payload, framing, is_throughput, line_rate, path_of_flow};
pub use flow::{is_echo, offered_rate};
pub use host_address::{HostAddress, parse_hosts};
pub use network::LabNetwork;
pub(crate) use path_truth::{DuplexTruth, narrow_capacity, path, path_duplex, path_links};
pub(crate) use resolver::TestbedResolver;
pub use testbed::{THIS_MACHINE, Testbed};
