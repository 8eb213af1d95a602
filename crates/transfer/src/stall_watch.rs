//! The watch over a transfer whose peer may stop reading or writing.

use super::failure::TransferFailure;
use super::mover_terms::MoverControl;
use caudal_sys::clock::{monotonic_ns, sleep_until};
use std::io;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Maximum time without progress before the peer counts as gone, ns.
const STALLED_NS: u64 = 30_000_000_000;
/// Maximum time of one read or write without progress between two checks of the watch.
pub(crate) const STEP_TIMEOUT: Duration = Duration::from_millis(50);
/// Maximum sleep between two checks of the watch, ns.
const MAX_SLEEP_NS: u64 = 20_000_000;

/// The watch over a transfer whose peer may stop reading or writing.
pub(crate) struct StallWatch<'a> {
    control: MoverControl<'a>,
    /// The time of the last progress; `None` while the peer need not have begun.
    since_ns: Option<u64>,
    /// The time by which the peer is to begin, and the time that it had; `None` for any.
    begins: Option<(u64, Duration)>,
}

impl<'a> StallWatch<'a> {
    /// The watch over a peer that is expected to read or write at once.
    pub(crate) fn new(control: MoverControl<'a>) -> Self {
        Self {
            control,
            since_ns: Some(monotonic_ns()),
            begins: None,
        }
    }

    /// The watch over a peer that may take a time before it begins, as it may still compute a digest; any time where `within` is `None`.
    pub(crate) fn patient(control: MoverControl<'a>, within: Option<Duration>) -> Self {
        let begins = within.map(|within| {
            let within_ns = u64::try_from(within.as_nanos()).unwrap_or(u64::MAX);
            (monotonic_ns().saturating_add(within_ns), within)
        });
        Self {
            control,
            since_ns: None,
            begins,
        }
    }

    /// Takes note of progress.
    pub(crate) fn advance(&mut self) {
        self.since_ns = Some(monotonic_ns());
    }

    /// Checks that the transfer is to go on.
    ///
    /// # Errors
    /// When it was stopped, or nothing has moved for 30 s, or in the time that the peer had to begin.
    pub(crate) fn check(&self) -> Result<(), TransferFailure> {
        if self.control.stop.load(Relaxed) {
            return Err(TransferFailure::Stopped);
        }
        let is_stalled = self
            .since_ns
            .is_some_and(|since| monotonic_ns().saturating_sub(since) >= STALLED_NS);
        if is_stalled {
            let seconds = STALLED_NS / 1_000_000_000;
            let message = format!("the peer has moved nothing for {seconds} s");
            return Err(TransferFailure::Connection(message));
        }
        if let (None, Some((by_ns, within))) = (self.since_ns, self.begins)
            && monotonic_ns() >= by_ns
        {
            let message = format!("the peer has sent nothing for {} s", within.as_secs());
            return Err(TransferFailure::Connection(message));
        }
        Ok(())
    }

    /// Takes the outcome of a read or a write: the bytes moved, 0 when it is to be tried again; `None` at the end of the stream.
    ///
    /// # Errors
    /// Those of [`Self::check`], and when the connection is broken.
    pub(crate) fn moved(
        &mut self,
        outcome: io::Result<usize>,
    ) -> Result<Option<usize>, TransferFailure> {
        match outcome {
            Ok(0) => Ok(None),
            Ok(count) => {
                self.advance();
                if self.control.stop.load(Relaxed) {
                    return Err(TransferFailure::Stopped);
                }
                Ok(Some(count))
            }
            Err(cause)
                if matches!(
                    cause.kind(),
                    io::ErrorKind::Interrupted
                        | io::ErrorKind::WouldBlock
                        | io::ErrorKind::TimedOut
                ) =>
            {
                self.check()?;
                Ok(Some(0))
            }
            Err(cause) => {
                self.check()?;
                Err(TransferFailure::Connection(format!(
                    "the connection broke: {cause}"
                )))
            }
        }
    }

    /// Sleeps until `until_ns` of the monotonic clock.
    ///
    /// # Errors
    /// When the transfer is stopped meanwhile.
    pub(crate) fn sleep_until(&mut self, until_ns: u64) -> Result<(), TransferFailure> {
        loop {
            let now_ns = monotonic_ns();
            if now_ns >= until_ns {
                return Ok(());
            }
            sleep_until(until_ns.min(now_ns + MAX_SLEEP_NS));
            // This end waits, not the peer.
            if self.since_ns.is_some() {
                self.advance();
            }
            self.check()?;
        }
    }
}
