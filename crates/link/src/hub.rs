//! A hub: a repeater between half-duplex stations.

use std::time::Duration;

use caudal_core::units::BitRate;

use crate::dice::Dice;
use crate::error::LinkError;
use crate::medium::{Duplex, LateCollision, Medium, MediumSetup, StationSetup};
use crate::queue::Queue;

/// A hub with a cable of each of these lengths, in time, and the same queue in every station.
///
/// All ports are one collision domain. From the first bit in to the first bit out a repeater takes 8 bit times at
/// 10 Mbit/s, and as a class II repeater 23 at 100 (half of what it may take for a signal there and a jam back).
///
/// Source: IEEE 802.3 clauses 9.5.5 and 27.3.1.4.3.
///
/// # Errors
/// With fewer than two cables, or a rate that is no half-duplex Ethernet's.
pub fn hub(
    rate: BitRate,
    cables: &[Duration],
    queue: &Queue,
    dice: Dice,
) -> Result<Medium, LinkError> {
    let station = |distance: &Duration| (*distance, queue.clone());
    with_queues(rate, cables.iter().map(station).collect(), dice)
}

/// A hub whose stations each have a queue of their own, behind a cable of this length, in time.
pub(crate) fn with_queues(
    rate: BitRate,
    stations: Vec<(Duration, Queue)>,
    dice: Dice,
) -> Result<Medium, LinkError> {
    let bits = if rate.bps() > 10_000_000 { 23 } else { 8 };
    let repeater = bits * 1_000_000_000 / rate.bps().max(1);
    let setup = MediumSetup {
        rate,
        repeater: Duration::from_nanos(repeater),
        late: LateCollision::Drop,
    };
    let station = |(distance, queue)| StationSetup {
        duplex: Duplex::Half,
        distance,
        queue,
    };
    Medium::new(setup, stations.into_iter().map(station).collect(), dice)
}
