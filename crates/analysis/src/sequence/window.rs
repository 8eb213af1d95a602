//! The window of sequence numbers that are tracked one by one, a bit each.

/// The number of sequence numbers behind the highest that are still tracked one by one.
///
/// The window moves by whole words of 64, so a datagram is late once it is between 65 473 and 65 536 behind.
pub const WINDOW: u64 = 65_536;
/// The words of 64 bits in the window.
pub(super) const WORDS: usize = (WINDOW / 64) as usize;

/// The oldest word inside the window when `top` is the newest.
pub(super) fn oldest_word(top: u64) -> u64 {
    (top + 1).saturating_sub(WORDS as u64)
}

/// The index of a word in the ring of the window.
pub(super) fn slot(word: u64) -> usize {
    (word % WORDS as u64) as usize
}
