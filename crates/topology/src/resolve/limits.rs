//! Limits of single values.

use std::time::Duration;

use caudal_core::units::{BitRate, format_duration};

use crate::error::{Location, Result, TopologyError};

const MIN_RATE: BitRate = BitRate::from_bps(1_000);
const MAX_RATE: BitRate = BitRate::from_bps(100_000_000_000);
const MAX_TIME: Duration = Duration::from_secs(3600);

/// The length in bytes, from destination address to check sequence, of a frame with a packet of `mtu` bytes.
pub(super) fn full_frame(mtu: u32) -> u64 {
    const HEADER_AND_CHECK_SEQUENCE: u64 = 18;
    u64::from(mtu) + HEADER_AND_CHECK_SEQUENCE
}

pub(super) fn check_rate(rate: BitRate, at: &Location) -> Result<BitRate> {
    if (MIN_RATE..=MAX_RATE).contains(&rate) {
        return Ok(rate);
    }
    Err(TopologyError::new(
        at,
        format!("a rate of {rate} cannot be emulated"),
        format!("choose {MIN_RATE} to {MAX_RATE}"),
    ))
}

pub(super) fn check_time(time: Duration, at: &Location) -> Result<Duration> {
    if time <= MAX_TIME {
        return Ok(time);
    }
    Err(TopologyError::new(
        at,
        format!("{} is too long", format_duration(time)),
        "choose at most 1h",
    ))
}

/// Checks that `name` can be a host name (RFC 1123 section 2.1), because hosts resolve one another by name.
pub(super) fn check_name(name: &str, at: &Location) -> Result<()> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let is_valid = (1..=32).contains(&name.len())
        && name.chars().all(is_allowed)
        && !name.starts_with('-')
        && !name.ends_with('-')
        && name != "localhost";
    if is_valid {
        return Ok(());
    }
    Err(TopologyError::new(
        at,
        format!("{name:?} is not a valid name"),
        "use 1 to 32 letters, digits and inner dashes, and not localhost",
    ))
}

/// Checks that the kernel accepts `name` for an interface.
pub(super) fn check_interface_name(name: &str, at: &Location) -> Result<()> {
    let is_allowed = |c: char| c.is_ascii_graphic() && c != '/' && c != ':' && c != '%';
    let is_valid = (1..=15).contains(&name.len())
        && name.chars().all(is_allowed)
        && !matches!(name, "." | ".." | "lo" | "all" | "default");
    if is_valid {
        return Ok(());
    }
    Err(TopologyError::new(
        at,
        format!("{name:?} is not a valid interface name"),
        "use 1 to 15 characters without / : %, and not lo, which exists already",
    ))
}
