//! Requirements of half-duplex Ethernet (IEEE 802.3 clause 4).

use std::time::Duration;

use caudal_core::units::{BitRate, format_duration};

use crate::error::{Location, Result, TopologyError};
use crate::file::ReadinessFile;
use crate::impairments::Impairments;

/// Checks a half-duplex link called `name`; `hub` is the rate of the hub at one of its ends.
pub(super) fn check_half_duplex(
    name: &str,
    directions: &[Impairments; 2],
    hub: Option<BitRate>,
    at: &Location,
) -> Result<()> {
    let [forward, backward] = directions;
    let Some(rate) = forward.constant_rate() else {
        return Err(TopologyError::new(
            at,
            format!("half-duplex link {name} has no constant rate"),
            "give it rate = \"10M\"",
        ));
    };
    check_half_duplex_rate(rate, &at.key("rate"))?;
    if hub.is_some_and(|hub| hub != rate) {
        return Err(TopologyError::new(
            &at.key("rate"),
            "a hub has one rate for all its links",
            "give the rate at the hub",
        ));
    }
    // A signal and the collision it causes must fit into the slot of 512 bit times (IEEE 802.3 clause 4.2.3.2.3).
    let max_delay = Duration::from_nanos(256 * 1_000_000_000 / rate.bps().max(1));
    if forward.delay > max_delay {
        return Err(TopologyError::new(
            &at.key("delay"),
            format!(
                "a half-duplex link at {rate} has a delay of at most {}",
                format_duration(max_delay)
            ),
            "put a longer delay on another link",
        ));
    }
    let is_symmetric = forward.rate == backward.rate && forward.delay == backward.delay;
    let is_supported = |impairments: &Impairments| {
        impairments.jitter.is_none()
            && impairments.shaper.is_none()
            && impairments.policer.is_none()
            && impairments.reorder.is_none()
            && impairments.paths.is_empty()
    };
    if !is_symmetric || !directions.iter().all(is_supported) {
        return Err(TopologyError::new(
            at,
            "a half-duplex link has one rate and one delay both ways, and no jitter, shaper, policer, reordering or paths",
            "put those on another link",
        ));
    }
    Ok(())
}

/// Checks the readiness of stations.
pub(super) fn check_readiness(readiness: ReadinessFile, at: &Location) -> Result<()> {
    // A second at 10 Mbit/s.
    const MAX_BITS: u32 = 10_000_000;
    if readiness.constant > MAX_BITS || readiness.random > MAX_BITS {
        return Err(TopologyError::new(
            at,
            format!("a readiness of more than {MAX_BITS} bit times is out of range"),
            "give bit times, of which one takes 100 ns at 10 Mbit/s",
        ));
    }
    Ok(())
}

pub(super) fn check_half_duplex_rate(rate: BitRate, at: &Location) -> Result<()> {
    if [10_000_000, 100_000_000].contains(&rate.bps()) {
        return Ok(());
    }
    Err(TopologyError::new(
        at,
        format!("half-duplex Ethernet has no rate of {rate}"),
        "choose 10M or 100M",
    ))
}
