//! The list of peers.

use super::iperf2::Iperf2Peer;
use super::iperf3::Iperf3Peer;
use super::nttcp::NttcpPeer;
use caudal_engine::peer::{NativePeer, Peer};
use caudal_flow::{RunError, Target, Unsupported};
use caudal_sys::signal::Interrupt;
use caudal_wire::protocol::Protocol;
use std::thread;
use std::time::Duration;

/// The time a server of iperf3 may take for its first answer.
const IPERF3_TIMEOUT: Duration = Duration::from_secs(10);
/// The same of a server that may not be one.
const RECOGNITION_TIMEOUT: Duration = Duration::from_secs(2);
/// The number of attempts to recognise a server of iperf3.
const RECOGNITION_ATTEMPTS: u32 = 5;
/// The time between them.
const RECOGNITION_PAUSE: Duration = Duration::from_millis(200);

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
        Protocol::Iperf3 => {
            let peer = Iperf3Peer::connect(target, tool, IPERF3_TIMEOUT, interrupt)?;
            Box::new(peer)
        }
        Protocol::Iperf2 => Box::new(Iperf2Peer::connect(target, tool, interrupt)?),
        Protocol::Nttcp => Box::new(NttcpPeer::connect(target, tool, interrupt)?),
        Protocol::Web => {
            let what = Unsupported::Workload("tests from a client of caudal");
            return Err(RunError::Unsupported { protocol, what });
        }
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
    match connect(Protocol::Native, target, tool, interrupt) {
        // A name may have several addresses: it is the server at this one that is of iperf3.
        Err(RunError::Foreign { peer, found }) => {
            match recognise_iperf3(&target.at(peer), tool, interrupt) {
                Some(peer) => Ok(Box::new(peer)),
                None => Err(RunError::Foreign { peer, found }),
            }
        }
        outcome => outcome,
    }
}

/// Connects to a server of iperf3 that has answered something else than a server of caudal would; `None` when it is none.
fn recognise_iperf3(
    target: &Target,
    tool: &str,
    interrupt: Option<&'static Interrupt>,
) -> Option<Iperf3Peer> {
    // A server of iperf3 takes a while to listen again after what it took for a client.
    for _ in 0..RECOGNITION_ATTEMPTS {
        match Iperf3Peer::connect(target, tool, RECOGNITION_TIMEOUT, interrupt) {
            Ok(peer) => return Some(peer),
            Err(RunError::Connect { .. } | RunError::Lost { .. }) => {}
            Err(_) => return None,
        }
        if interrupt.is_some_and(|interrupt| interrupt.count() > 0) {
            return None;
        }
        thread::sleep(RECOGNITION_PAUSE);
    }
    None
}
