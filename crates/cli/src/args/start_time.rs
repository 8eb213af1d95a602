//! The time at which traffic is to begin.

use crate::exit::{Exit, Failure};
use caudal_core::units::parse_duration;
use caudal_sys::signal::Interrupt;
use std::time::Duration;

/// The time at which traffic is to begin, ns since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartTime(pub u64);

impl StartTime {
    /// The time before it at which the server is connected to: enough to open connections, and less than a server waits for the start.
    const LEAD: Duration = Duration::from_secs(3);

    /// Waits until shortly before it.
    ///
    /// # Errors
    /// When the user interrupts the wait.
    pub fn approach(self, interrupt: &Interrupt) -> Result<(), Failure> {
        self.wait_until_before(Self::LEAD, interrupt)
    }

    /// Waits for it.
    ///
    /// # Errors
    /// When the user interrupts the wait.
    pub fn wait(self, interrupt: &Interrupt) -> Result<(), Failure> {
        self.wait_until_before(Duration::ZERO, interrupt)
    }

    fn wait_until_before(self, lead: Duration, interrupt: &Interrupt) -> Result<(), Failure> {
        loop {
            let now = caudal_sys::clock::realtime_ns();
            let left = Duration::from_nanos(self.0.saturating_sub(now)).saturating_sub(lead);
            if left.is_zero() {
                return Ok(());
            }
            let ready = caudal_sys::poll::poll_readable(&[interrupt.fd()], Some(left));
            if interrupt.count() > 0 || ready.is_err() {
                return Err(Failure::new(Exit::Failed, "interrupted", ""));
            }
        }
    }
}

/// Parses a time: seconds since 1970, or from now on with a plus.
///
/// # Errors
/// The forms that are accepted.
pub fn start_time(text: &str) -> Result<StartTime, String> {
    let wrong = || {
        format!(
            "{text:?} is no time; give seconds since 1970 such as 1795295439.5, or from now on such as +2s"
        )
    };
    if let Some(later) = text.strip_prefix('+') {
        let later = parse_duration(later).map_err(|_| wrong())?;
        let later = u64::try_from(later.as_nanos()).map_err(|_| wrong())?;
        let at = caudal_sys::clock::realtime_ns().checked_add(later);
        return at.map(StartTime).ok_or_else(wrong);
    }
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(part) || part.len() > 9 {
        return Err(wrong());
    }
    let seconds: u64 = whole.parse().map_err(|_| wrong())?;
    let nanos: u64 = format!("{part:0<9}").parse().map_err(|_| wrong())?;
    let at = seconds
        .checked_mul(1_000_000_000)
        .and_then(|ns| ns.checked_add(nanos));
    at.map(StartTime).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_to_the_nanosecond() {
        for (text, ns) in [
            ("0", 0),
            ("1795295439.5", 1_795_295_439_500_000_000),
            ("1795295439.000000001", 1_795_295_439_000_000_001),
        ] {
            assert_eq!(start_time(text), Ok(StartTime(ns)), "{text}");
        }
        for bad in [
            "",
            "soon",
            "-1",
            "1.5.5",
            "1e9",
            ".5",
            "+",
            "+x",
            "99999999999999",
            "1.0123456789",
        ] {
            assert!(start_time(bad).is_err(), "{bad}");
        }
    }
}
