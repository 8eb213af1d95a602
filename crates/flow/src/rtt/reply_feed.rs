//! The replies of one connection as they arrive, for a view of the test that is under way.
//!
//! The thread that measures writes two words for each reply and waits for nobody. Another thread reads them many times
//! a second; replies that it was too late for are missing in its view, and in nothing else.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Maximum number of replies that wait to be read, of all connections together: some hundred ms of the fastest.
const MAX_WAITING: usize = 1 << 17;
/// The same of each connection, at least.
const MIN_WAITING: usize = 1 << 10;

/// The replies of one connection, written by the one thread that receives them.
#[derive(Debug)]
pub struct ReplyFeed {
    times_ns: Box<[AtomicU64]>,
    /// The number of replies so far.
    replies: AtomicU64,
    /// The number of messages that were given up so far.
    lost: AtomicU64,
}

impl ReplyFeed {
    /// The feed of one of `clients` connections.
    #[must_use]
    pub fn new(clients: u32) -> Self {
        let share = MAX_WAITING / clients.max(1) as usize;
        let capacity = share.max(MIN_WAITING).next_power_of_two();
        Self {
            times_ns: (0..capacity).map(|_| AtomicU64::new(0)).collect(),
            replies: AtomicU64::new(0),
            lost: AtomicU64::new(0),
        }
    }

    /// Adds a reply.
    #[inline]
    pub fn reply(&self, rtt_ns: u64) {
        let nth = self.replies.load(Relaxed);
        self.times_ns[self.place(nth)].store(rtt_ns, Relaxed);
        self.replies.store(nth + 1, Release);
    }

    /// Adds a message that was given up.
    #[inline]
    pub fn lost(&self) {
        self.lost.store(self.lost.load(Relaxed) + 1, Relaxed);
    }

    const fn place(&self, nth: u64) -> usize {
        nth as usize & (self.times_ns.len() - 1)
    }
}

/// The end of what was read of one feed.
#[derive(Debug)]
pub struct FeedReader {
    feed: Arc<ReplyFeed>,
    replies: u64,
    lost: u64,
}

impl FeedReader {
    /// A reader of a feed from which nothing was read.
    #[must_use]
    pub const fn new(feed: Arc<ReplyFeed>) -> Self {
        Self {
            feed,
            replies: 0,
            lost: 0,
        }
    }

    /// Appends the round-trip times since the last reading, ns; returns the number of messages given up since then.
    pub fn read(&mut self, times_ns: &mut Vec<u64>) -> u64 {
        let written = self.feed.replies.load(Acquire);
        let oldest = written.saturating_sub(self.feed.times_ns.len() as u64);
        let unread = self.replies.max(oldest)..written;
        times_ns.extend(unread.map(|nth| self.feed.times_ns[self.feed.place(nth)].load(Relaxed)));
        self.replies = written;
        let lost = self.feed.lost.load(Relaxed);
        let new = lost - self.lost;
        self.lost = lost;
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reply_is_read_once() {
        let feed = Arc::new(ReplyFeed::new(1));
        let mut reader = FeedReader::new(Arc::clone(&feed));
        let mut times = Vec::new();
        feed.reply(5);
        feed.reply(6);
        feed.lost();
        assert_eq!(
            (reader.read(&mut times), times.as_slice()),
            (1, &[5, 6][..])
        );
        feed.reply(7);
        times.clear();
        assert_eq!((reader.read(&mut times), times.as_slice()), (0, &[7][..]));
    }

    #[test]
    fn a_late_reader_gets_the_latest_replies() {
        let feed = Arc::new(ReplyFeed::new(u32::MAX));
        let mut reader = FeedReader::new(Arc::clone(&feed));
        for ns in 0..MIN_WAITING as u64 + 10 {
            feed.reply(ns);
        }
        let mut times = Vec::new();
        reader.read(&mut times);
        assert_eq!((times.len(), times[0]), (MIN_WAITING, 10));
    }
}
