//! What the thread that moves a content shares with the one that started it.

use std::sync::atomic::{AtomicBool, AtomicU64};

/// What the thread that moves a content shares with the one that started it.
#[derive(Debug, Clone, Copy)]
pub struct MoverControl<'a> {
    /// Set to end the transfer early.
    pub stop: &'a AtomicBool,
    /// File bytes that were acknowledged or sent, or have arrived in order, without those that the receiver had before.
    pub bytes: &'a AtomicU64,
}
