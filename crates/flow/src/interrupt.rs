//! Waiting that ends when the user interrupts the program.

use crate::error::RunError;
use caudal_sys::clock::monotonic_ns;
use caudal_sys::poll::poll_readable;
use caudal_sys::signal::Interrupt;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// The user's interrupt, where the program listens for one.
#[derive(Debug, Clone, Copy, Default)]
pub struct UserInterrupt(pub Option<&'static Interrupt>);

impl UserInterrupt {
    /// The descriptor to poll, readable once the user interrupted the program.
    pub fn fds(self) -> Vec<BorrowedFd<'static>> {
        self.0.map(Interrupt::fd).into_iter().collect()
    }

    /// The number of interrupts so far.
    pub fn count(self) -> u32 {
        self.0.map_or(0, Interrupt::count)
    }

    /// `true` once the user interrupted the program.
    pub fn is_set(self) -> bool {
        self.count() > 0
    }

    /// Waits until one of `fds` is readable, for at most `patience`: which of them are.
    ///
    /// # Errors
    /// When the user interrupts the program while none is, or the kernel's wait fails.
    pub fn wait_readable(
        self,
        fds: &[BorrowedFd<'_>],
        patience: Duration,
    ) -> Result<Vec<bool>, RunError> {
        let until_ns = monotonic_ns() + patience.as_nanos() as u64;
        let mut all = fds.to_vec();
        all.extend(self.fds());
        loop {
            let left = Duration::from_nanos(until_ns.saturating_sub(monotonic_ns()));
            match poll_readable(&all, Some(left)) {
                Ok(ready) if self.is_set() && !ready[..fds.len()].contains(&true) => {
                    return Err(RunError::Interrupted);
                }
                Ok(ready) => return Ok(ready[..fds.len()].to_vec()),
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
                Err(cause) => {
                    return Err(RunError::Lost {
                        doing: "waiting",
                        cause,
                    });
                }
            }
        }
    }
}
