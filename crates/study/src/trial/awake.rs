//! Threads that keep the processors from going idle.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, available_parallelism};

use caudal_sys::schedule::lower_thread_priority;

/// Threads that keep the processors from going idle and give way to any other, until this is dropped.
///
/// A virtual machine that goes idle wakes the emulator's thread up to milliseconds late, and delays on emulated links are then
/// longer than they should be.
pub(super) struct AwakeProcessors {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl AwakeProcessors {
    /// Keeps as many processors awake as this process may use.
    pub(super) fn keep() -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let processors = available_parallelism().map_or(1, usize::from);
        let threads = (0..processors).map(|_| {
            let is_over = Arc::clone(&is_over);
            std::thread::spawn(move || {
                // At an ordinary priority they would take the processors from what is measured.
                if lower_thread_priority().is_ok() {
                    while !is_over.load(Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                }
            })
        });
        Self {
            threads: threads.collect(),
            is_over,
        }
    }
}

impl Drop for AwakeProcessors {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
