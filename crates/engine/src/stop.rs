//! How a server is stopped: asked for once, seen by all its threads, which then have a moment to end.

use crate::bell::Bell;
use caudal_sys::clock::{monotonic_ns, sleep_until};
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Whether a server is to stop.
pub(crate) struct Stop {
    asked: AtomicBool,
    bell: Bell,
}

impl Stop {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            asked: AtomicBool::new(false),
            bell: Bell::new()?,
        })
    }

    pub(crate) fn ask(&self) {
        if !self.asked.swap(true, Ordering::Relaxed) {
            self.bell.ring();
        }
    }

    pub(crate) fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// Readable once it has been asked for; never emptied, so all threads see it.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.bell.fd()
    }
}

/// Joins the sessions that have ended.
pub(crate) fn reap(sessions: &mut Vec<JoinHandle<()>>) {
    let mut nth = 0;
    while nth < sessions.len() {
        if sessions[nth].is_finished() {
            let _ = sessions.swap_remove(nth).join();
        } else {
            nth += 1;
        }
    }
}

/// Waits for the sessions of a server that is stopped; for those that take longer than `patience` no more.
pub(crate) fn see_out(mut sessions: Vec<JoinHandle<()>>, patience: Duration) {
    let until = monotonic_ns() + patience.as_nanos() as u64;
    loop {
        reap(&mut sessions);
        if sessions.is_empty() || monotonic_ns() >= until {
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
    fn a_stop_is_seen_by_all_and_its_sessions_are_seen_out() {
        let stop = Arc::new(Stop::new().unwrap());
        let sessions = (0..3)
            .map(|_| {
                let stop = Arc::clone(&stop);
                thread::spawn(move || {
                    poll_readable(&[stop.fd()], None).unwrap();
                    assert!(stop.is_asked());
                })
            })
            .collect();
        assert!(!stop.is_asked());
        stop.ask();
        stop.ask();
        see_out(sessions, Duration::from_secs(60));
        assert_eq!(Arc::strong_count(&stop), 1, "all have ended");
    }
}
