//! The key that ends the watching of a path, as mtr has it.

use caudal_sys::signal::interrupt_this_process;
use caudal_sys::terminal::KeyInput;
use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Maximum time after which it shows that nobody waits for the key any more.
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
                if matches!(keys.key(LOOK), Some(b'q' | b'Q')) {
                    interrupt_this_process();
                    return;
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
