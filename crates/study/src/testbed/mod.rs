//! The networks that the flows of cases cross.

mod check;
mod flow;
mod host_address;
mod network;
mod resolver;
#[expect(
    clippy::module_inception,
    reason = "the file is named for its type, Testbed"
)]
mod testbed;

pub(crate) use flow::{datagram_payload, framing, line_rate, path_of_flow};
pub use flow::{is_echo, offered_rate};
pub use host_address::{HostAddress, parse_hosts};
pub use network::LabNetwork;
pub(crate) use resolver::TestbedResolver;
pub use testbed::{THIS_MACHINE, Testbed};
