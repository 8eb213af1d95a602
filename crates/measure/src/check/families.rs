//! Whether a host answers over each of its address families.

use caudal_core::check::CheckFamily;
use caudal_engine::Target;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// Connections over each family; the shortest time counts.
const ATTEMPTS: u32 = 3;
/// Maximum time for a connection to open.
const TIMEOUT: Duration = Duration::from_secs(3);

/// The time to connect over each family; empty where the host does not have both, or one was asked for.
pub(super) fn families(target: &Target) -> Vec<CheckFamily> {
    let addresses = target.resolve().unwrap_or_default();
    let first = |is_ipv4: bool| {
        let mut all = addresses.iter();
        all.find(|address| address.is_ipv4() == is_ipv4).copied()
    };
    match (first(true), first(false)) {
        (Some(v4), Some(v6)) => vec![family(v4), family(v6)],
        _ => Vec::new(),
    }
}

fn family(address: SocketAddr) -> CheckFamily {
    let mut best: Option<Duration> = None;
    let mut error = None;
    for _ in 0..ATTEMPTS {
        let start = Instant::now();
        match TcpStream::connect_timeout(&address, TIMEOUT) {
            Ok(_) => {
                let took = start.elapsed();
                best = Some(best.map_or(took, |best| best.min(took)));
            }
            Err(cause) => {
                error = Some(cause.to_string().into());
                break;
            }
        }
    }
    CheckFamily {
        address: address.ip(),
        connect_us: best.map(|best| best.as_secs_f64() * 1e6),
        error: error.filter(|_| best.is_none()),
    }
}
