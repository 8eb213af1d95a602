//! Hubs: repeaters between half-duplex stations.

use std::time::Duration;

use caudal_core::units::BitRate;
use caudal_topology::{LateCollision, Readiness, StationDuplex};

use crate::error::LinkError;
use crate::medium::{Medium, MediumSetup, StationSetup};
use crate::queue::Queue;
use crate::random::Rng;

/// A hub with a station for each of these cables, given by their propagation delays, and the same queue in every station.
///
/// All ports are one collision domain. The delay of the repeater, from the first bit in to the first bit out, is 8 bit
/// times at 10 Mbit/s and 23 at 100, as of a class II repeater (half of what it may take for a signal and the jam back).
///
/// Source: IEEE 802.3 clauses 9.5.5 and 27.3.1.4.3.
///
/// # Errors
/// With fewer than two cables, or a rate without half-duplex Ethernet.
pub fn hub(
    rate: BitRate,
    cables: &[Duration],
    queue: &Queue,
    rng: Rng,
) -> Result<Medium, LinkError> {
    let station = |delay: &Duration| StationSetup {
        duplex: StationDuplex::Half,
        delay: *delay,
        readiness: Readiness::default(),
        queue: queue.clone(),
    };
    hub_of_stations(rate, cables.iter().map(station).collect(), rng)
}

/// A hub with these stations.
pub(crate) fn hub_of_stations(
    rate: BitRate,
    stations: Vec<StationSetup>,
    rng: Rng,
) -> Result<Medium, LinkError> {
    let bits = if rate.bps() > 10_000_000 { 23 } else { 8 };
    let repeater_ns = bits * 1_000_000_000 / rate.bps().max(1);
    let setup = MediumSetup {
        rate,
        repeater_delay: Duration::from_nanos(repeater_ns),
        late_collision: LateCollision::Drop,
    };
    Medium::new(setup, stations, rng)
}
