//! Threads that serve clients.

use crate::memory::MemoryExhausted;
use std::io;
use std::thread::{self, JoinHandle};

/// Starts a thread that serves a client, with a stack of this size, bytes.
///
/// # Errors
/// When the kernel gives none, or the process has no room for it and what it is going to allocate.
pub fn spawn_client_thread(
    name: String,
    stack_bytes: usize,
    work: impl FnOnce() + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    MemoryExhausted::check_address_space(stack_bytes as u64)?;
    thread::Builder::new()
        .name(name)
        .stack_size(stack_bytes)
        .spawn(work)
}
