//! The list of peers.

use super::native::NativePeer;
use super::peer::Peer;
use crate::error::RunError;
use crate::protocol::Protocol;
use crate::target::Target;
use caudal_sys::signal::Interrupt;

/// Connects to a server that speaks this protocol; `tool` is the name and version of this program.
///
/// # Errors
/// When no connection can be made, or the server speaks another protocol or refuses.
pub fn connect(
    protocol: Protocol,
    target: &Target,
    tool: &str,
    interrupt: Option<&'static Interrupt>,
) -> Result<Box<dyn Peer>, RunError> {
    Ok(match protocol {
        Protocol::Native => Box::new(NativePeer::connect(target, tool, interrupt)?),
        Protocol::Iperf3 | Protocol::Iperf2 | Protocol::Nttcp => todo!(),
    })
}

/// Connects to a server of caudal, or to one of iperf3 where that answers instead.
///
/// # Errors
/// Those of connecting to a server of caudal.
pub fn connect_any(
    target: &Target,
    tool: &str,
    interrupt: Option<&'static Interrupt>,
) -> Result<Box<dyn Peer>, RunError> {
    connect(Protocol::Native, target, tool, interrupt)
}
