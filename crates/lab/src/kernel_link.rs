//! Links of the kernel: a veth pair, with a token bucket if there is a rate.

use std::time::Duration;

use caudal_core::units::BitRate;
use caudal_sys::netlink::TbfSettings;
use caudal_topology::{Impairments, Link, QueueLimit, RateSetup};

/// The bytes of a frame on the wire that the kernel does not count: preamble, start delimiter, check sequence and gap.
const OVERHEAD_BYTES: u16 = 24;
/// The bytes of the shortest frame on the wire.
const MIN_WIRE_BYTES: u16 = 84;

/// The token bucket of one direction; `None` without a rate.
///
/// It holds 500 µs of the rate, so that a timer that fires late does not reduce the rate, and at least two full frames.
/// Packets count with their bytes on the wire.
pub(crate) fn bucket(link: &Link, impairments: &Impairments) -> Option<TbfSettings> {
    let rate = impairments.constant_rate()?;
    let frame = link.mtu + 14 + u32::from(OVERHEAD_BYTES);
    let burst = rate.during(Duration::from_micros(500)).get();
    let burst = u32::try_from(burst).unwrap_or(u32::MAX).max(2 * frame);
    Some(TbfSettings {
        rate: rate.bps() / 8,
        burst,
        limit: limit_bytes(impairments, link.mtu),
        overhead: OVERHEAD_BYTES,
        mpu: MIN_WIRE_BYTES,
    })
}

/// The token bucket of one direction at another rate; `None` if the direction has no rate.
pub(crate) fn bucket_at_rate(
    link: &Link,
    impairments: &Impairments,
    rate: BitRate,
) -> Option<TbfSettings> {
    let mut changed = impairments.clone();
    *changed.rate.as_mut()? = RateSetup::from(rate);
    bucket(link, &changed)
}

/// The capacity of the queue in bytes as the kernel counts them, without check sequence.
fn limit_bytes(impairments: &Impairments, mtu: u32) -> u32 {
    let bytes = match impairments.queue.limit {
        QueueLimit::Frames(frames) => frames.saturating_mul(u64::from(mtu) + 14),
        QueueLimit::Bytes(bytes) => bytes.get(),
        QueueLimit::None => u64::from(u32::MAX),
    };
    u32::try_from(bytes).unwrap_or(u32::MAX).max(mtu + 14)
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_topology::{Topology, TopologyFile};

    fn link(keys: &str) -> Link {
        let text = format!(
            "host = [{{ name = \"a\" }}, {{ name = \"b\" }}]\nlink = [{{ between = [\"a\", \"b\"] {keys} }}]"
        );
        let file: TopologyFile = toml::from_str(&text).unwrap();
        Topology::resolve(&file).unwrap().links.remove(0)
    }

    #[test]
    fn a_bucket_holds_half_a_millisecond_and_at_least_two_frames() {
        let fast = link(", rate = \"1G\"");
        let made = bucket(&fast, &fast.directions[0]).unwrap();
        assert_eq!(
            (made.rate, made.burst, made.limit),
            (125_000_000, 62_500, 6_250_000)
        );
        let slow = link(", rate = \"1M\", queue = { frames = 10 }");
        let made = bucket(&slow, &slow.directions[0]).unwrap();
        assert_eq!((made.burst, made.limit), (2 * 1538, 15_140));
        assert_eq!(bucket(&link(""), &link("").directions[0]), None);
        let changed =
            bucket_at_rate(&fast, &fast.directions[0], BitRate::from_bps(8_000_000)).unwrap();
        assert_eq!((changed.rate, changed.limit), (1_000_000, 6_250_000));
    }
}
