//! The key that ends the watching of a path, as mtr has it.

use caudal_sys::signal::interrupt_this_process;
use caudal_sys::terminal::KeyInput;
use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The time between two looks for a key.
const LOOK: Duration = Duration::from_millis(100);

/// Waits for `q`, which then does what `^C` does; not any more when this is dropped.
pub(super) struct QuitKey {
    is_over: Arc<AtomicBool>,
    waiting: Option<JoinHandle<()>>,
}

impl QuitKey {
    /// `None` where nobody sits at a terminal.
    pub(super) fn wait() -> Option<Self> {
        let keys = KeyInput::of(io::stdin()).filter(|_| io::stdout().is_terminal())?;
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&is_over);
        let wait = move || {
            while !ends.load(Ordering::Relaxed) {
                // A terminal that is gone, or that another job has, is looked at no more often than one without a key.
                match keys.key(Duration::ZERO) {
                    Some(b'q' | b'Q') => return interrupt_this_process(),
                    Some(_) => {}
                    None => thread::sleep(LOOK),
                }
            }
        };
        let waiting = thread::Builder::new().name("quit key".to_owned());
        Some(Self {
            is_over,
            waiting: Some(waiting.spawn(wait).ok()?),
        })
    }
}

impl Drop for QuitKey {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(waiting) = self.waiting.take() {
            let _ = waiting.join();
        }
    }
}
