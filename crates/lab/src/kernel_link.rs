//! Links in the kernel's hands: a veth pair, and a token bucket where there is a rate.

use std::time::Duration;

use caudal_core::units::BitRate;
use caudal_sys::netlink::TokenBucket;
use caudal_topology::{Course, Link, QueueLimit};

/// Preamble, start delimiter, check sequence and gap: what a frame takes of the wire beside what the kernel counts.
const BESIDE: u16 = 24;
/// The least frame with all that.
const LEAST: u16 = 84;

/// The bucket for one direction; `None` without a rate.
///
/// It holds 500 µs of the rate, so that a timer that fires late costs no rate, and two full frames at least. Every packet
/// counts what it takes of the wire.
pub(crate) fn bucket(link: &Link, course: &Course) -> Option<TokenBucket> {
    let rate = course.rate()?;
    let frame = link.mtu + 14 + u32::from(BESIDE);
    let burst = rate.during(Duration::from_micros(500)).get();
    let burst = u32::try_from(burst).unwrap_or(u32::MAX).max(2 * frame);
    Some(TokenBucket {
        rate: rate.bps() / 8,
        burst,
        limit: limit(course, link.mtu),
        overhead: BESIDE,
        least: LEAST,
    })
}

/// The same bucket at another rate.
pub(crate) fn at_rate(link: &Link, course: &Course, rate: BitRate) -> Option<TokenBucket> {
    let mut changed = course.clone();
    changed.rate.as_mut()?.steps = vec![(Duration::ZERO, rate)];
    bucket(link, &changed)
}

/// The bytes that may wait, as the kernel counts them: without the check sequence.
fn limit(course: &Course, mtu: u32) -> u32 {
    let bytes = match course.queue.limit {
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
    fn a_bucket_holds_half_a_millisecond_and_two_frames_at_least() {
        let fast = link(", rate = \"1G\"");
        let made = bucket(&fast, &fast.courses[0]).unwrap();
        assert_eq!(
            (made.rate, made.burst, made.limit),
            (125_000_000, 62_500, 6_250_000)
        );
        let slow = link(", rate = \"1M\", queue = { frames = 10 }");
        let made = bucket(&slow, &slow.courses[0]).unwrap();
        assert_eq!((made.burst, made.limit), (2 * 1538, 15_140));
        assert_eq!(bucket(&link(""), &link("").courses[0]), None);
        let changed = at_rate(&fast, &fast.courses[0], BitRate::from_bps(8_000_000)).unwrap();
        assert_eq!((changed.rate, changed.limit), (1_000_000, 6_250_000));
    }
}
