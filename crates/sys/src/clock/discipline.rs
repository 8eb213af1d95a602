//! What the kernel knows of the error of its wall clock: adjtimex(2).

use std::mem;

use crate::raw::number;

/// The error of the wall clock, as the kernel knows it from the program that disciplines it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockDiscipline {
    /// `true` where a program synchronizes the clock: the kernel would else have set `STA_UNSYNC`, as it does when nobody has told it of
    /// the clock's error for long.
    pub is_synchronized: bool,
    /// The maximum error, ns: it grows by 0.5 ms a second from one adjustment to the next, to 16 s where there is none.
    pub max_error_ns: u64,
}

/// The error of the wall clock; `None` where the kernel does not tell, as in a sandbox that forbids the call.
#[must_use]
pub fn clock_discipline() -> Option<ClockDiscipline> {
    // SAFETY: every field is a number, for which all zero bits are a value; no mode is set, so the call changes nothing.
    let mut state: libc::timex = unsafe { mem::zeroed() };
    // SAFETY: `state` is live and writable.
    let outcome = number(unsafe { libc::adjtimex(&mut state) }).ok()?;
    Some(ClockDiscipline {
        is_synchronized: outcome != libc::TIME_ERROR && state.status & libc::STA_UNSYNC == 0,
        max_error_ns: u64::try_from(state.maxerror)
            .unwrap_or(0)
            .saturating_mul(1000),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_nothing_synchronizes_says_so() {
        let Some(clock) = clock_discipline() else {
            return;
        };
        // 16 s is the error that the kernel gives up at (NTP_PHASE_LIMIT).
        assert!(clock.max_error_ns <= 16_000_000_000, "{clock:?}");
        assert!(clock.is_synchronized || clock.max_error_ns > 0, "{clock:?}");
    }
}
