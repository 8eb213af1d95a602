//! The command line: every flag with its default, as `--help`, the man page and the reference show it.

mod cli;
mod host;
mod local_address;
mod output;
mod protocol;
mod serve;
mod start_time;
mod target;
mod tcp;
mod traffic;
mod udp;

pub use cli::{Cli, Command, CompletionsArgs, ForeignArgs};
pub use host::HostArg;
pub use local_address::LocalAddressArg;
pub(crate) use local_address::missing_zone;
pub use output::{OutputArgs, StoreArgs, confidence, tag_name};
pub(crate) use protocol::PROTOCOLS;
pub use protocol::{ProtocolArg, protocol_name};
pub use serve::ServeArgs;
pub use start_time::{StartTime, start_time};
pub use target::TargetArgs;
pub use tcp::TcpArgs;
pub use traffic::{OmitArg, RateArg, TrafficArgs, rate};
pub use udp::UdpArgs;
