//! The server at the other end of a path.

use super::super::args::NetworkPathArgs;
use super::super::target::ResolvedTarget;
use crate::args::{HostArg, TargetArgs};
use crate::exit::Failure;
use crate::peer::CommandPeer;
use caudal_core::plan::{Plan, PlannedTrains, TrainsPlan};
use caudal_sys::signal::Interrupt;

/// Connects to the server at the address that was probed.
///
/// # Errors
/// When no server of caudal answers there, or one of a version that sends no trains.
pub fn connect(
    args: &NetworkPathArgs,
    target: &ResolvedTarget,
    interrupt: &'static Interrupt,
) -> Result<CommandPeer, Failure> {
    let mut peer = CommandPeer::connect(
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
    )?;
    peer.peer_mut().check_support(&Plan::Trains(TrainsPlan {
        series: PlannedTrains {
            up: None,
            down: None,
        },
        dscp: None,
    }))?;
    Ok(peer)
}
