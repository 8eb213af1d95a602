//! Stopping a server: requested once, seen by all its threads, whose ends are then waited for.

use crate::wakeup::Wakeup;
use caudal_sys::clock::{monotonic_ns, sleep_until};
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// The request that a server stop.
pub struct StopSignal {
    requested: AtomicBool,
    wakeup: Wakeup,
}

impl StopSignal {
    /// A stop that has not been requested.
    ///
    /// # Errors
    /// When the kernel gives no pipe.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            requested: AtomicBool::new(false),
            wakeup: Wakeup::new()?,
        })
    }

    /// Requests the stop.
    pub fn request(&self) {
        if !self.requested.swap(true, Ordering::Relaxed) {
            self.wakeup.wake();
        }
    }

    /// `true` once the stop was requested.
    pub fn is_requested(&self) -> bool {
        self.requested.load(Ordering::Relaxed)
    }

    /// Readable once the stop was requested; never emptied, so that all threads see it.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.wakeup.fd()
    }
}

/// Joins the threads that have ended.
pub fn join_finished(threads: &mut Vec<JoinHandle<()>>) {
    let mut nth = 0;
    while nth < threads.len() {
        if threads[nth].is_finished() {
            let _ = threads.swap_remove(nth).join();
        } else {
            nth += 1;
        }
    }
}

/// Waits until all threads have ended, for at most `patience`.
pub fn join_within(mut threads: Vec<JoinHandle<()>>, patience: Duration) {
    let until_ns = monotonic_ns() + patience.as_nanos() as u64;
    loop {
        join_finished(&mut threads);
        if threads.is_empty() || monotonic_ns() >= until_ns {
            return;
        }
        sleep_until(monotonic_ns() + 1_000_000);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_sys::poll::poll_readable;
    use std::sync::Arc;
    use std::thread;

    #[test]
    fn a_stop_is_seen_by_all_threads_and_they_are_joined() {
        let stop = Arc::new(StopSignal::new().unwrap());
        let threads = (0..3)
            .map(|_| {
                let stop = Arc::clone(&stop);
                thread::spawn(move || {
                    poll_readable(&[stop.fd()], None).unwrap();
                    assert!(stop.is_requested());
                })
            })
            .collect();
        assert!(!stop.is_requested());
        stop.request();
        stop.request();
        join_within(threads, Duration::from_secs(60));
        assert_eq!(Arc::strong_count(&stop), 1, "all have ended");
    }
}
