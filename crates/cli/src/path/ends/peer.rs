//! The server at the other end of a path.

use super::super::args::NetworkPathArgs;
use super::super::target::ResolvedTarget;
use crate::args::{HostArg, TargetArgs};
use crate::exit::Failure;
use crate::peer::CommandPeer;
use caudal_sys::signal::Interrupt;

/// Connects to the server at the address that was probed.
///
/// # Errors
/// When no server of caudal answers there.
pub fn connect(
    args: &NetworkPathArgs,
    target: &ResolvedTarget,
    interrupt: &'static Interrupt,
) -> Result<CommandPeer, Failure> {
    CommandPeer::connect(
        &TargetArgs {
            // A name may have several addresses, and one of them was probed.
            host: Some(HostArg {
                host: target.address.to_string(),
                port: args.host.port,
            }),
            port: args.port,
            ipv4: false,
            ipv6: false,
            token_file: args.token_file.clone(),
            bind: args.bind,
            device: None,
        },
        interrupt,
    )
}
