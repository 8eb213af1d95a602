//! The bytes that the clients of a server may store in a directory, together and by source.

use caudal_core::units::ByteCount;
use caudal_flow::ClientSource;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// The part of the quota that one source may take: one of so many.
const SHARES: u64 = 2;
/// What a file takes beside its bytes: its inode and its entry, so that empty files are not stored without end.
const FILE_BYTES: u64 = 4096;
/// Maximum number of sources that are told apart; further ones share one share.
const MAX_SOURCES: usize = 65_536;

/// The bytes that the clients of a server may store in a directory.
#[derive(Debug)]
struct QuotaAccount {
    max: u64,
    used: AtomicU64,
    by_source: Mutex<HashMap<ClientSource, Arc<AtomicU64>>>,
    by_others: Arc<AtomicU64>,
}

/// The bytes that clients may store in a directory: all, or those of one source. Clones share them.
#[derive(Debug, Clone)]
pub(super) struct StoreQuota {
    all: Arc<QuotaAccount>,
    own: Option<Arc<AtomicU64>>,
}

/// What was asked for does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct QuotaUsedUp {
    /// The bytes that are left.
    pub(super) left: u64,
}

impl StoreQuota {
    /// A quota of `max`, of which a source may take a half.
    pub(super) fn new(max: ByteCount) -> Self {
        Self {
            all: Arc::new(QuotaAccount {
                max: max.get(),
                used: AtomicU64::new(0),
                by_source: Mutex::default(),
                by_others: Arc::default(),
            }),
            own: None,
        }
    }

    /// The same for the clients of one source.
    pub(super) fn of_source(&self, source: ClientSource) -> Self {
        let known = self.all.by_source.lock();
        let mut known = known.unwrap_or_else(PoisonError::into_inner);
        let own = match known.get(&source) {
            Some(own) => Arc::clone(own),
            None if known.len() >= MAX_SOURCES => Arc::clone(&self.all.by_others),
            None => {
                // Sources that have stored nothing, and are not here, need no account.
                known.retain(|_, one| Arc::strong_count(one) > 1 || one.load(Relaxed) > 0);
                let own = Arc::<AtomicU64>::default();
                known.insert(source, Arc::clone(&own));
                own
            }
        };
        drop(known);
        Self {
            own: Some(own),
            all: Arc::clone(&self.all),
        }
    }

    /// The bytes that are left.
    fn left(&self) -> u64 {
        let left = |max: u64, used: &AtomicU64| max.saturating_sub(used.load(Relaxed));
        let of_all = left(self.all.max, &self.all.used);
        let own = self.own.as_ref();
        own.map_or(of_all, |own| of_all.min(left(self.all.max / SHARES, own)))
    }

    /// The room for a file, of which so many bytes are known to come.
    pub(super) fn room_for_file(&self, bytes: u64) -> Result<StoredBytes, QuotaUsedUp> {
        let left = self.left();
        if bytes.saturating_add(FILE_BYTES) > left {
            return Err(QuotaUsedUp { left });
        }
        let mut room = StoredBytes {
            quota: self.clone(),
            bytes: 0,
        };
        room.grow(FILE_BYTES)?;
        Ok(room)
    }
}

/// Bytes of a quota that a file takes, given back when dropped.
#[derive(Debug)]
pub(super) struct StoredBytes {
    quota: StoreQuota,
    bytes: u64,
}

impl StoredBytes {
    /// Takes `bytes` more.
    pub(super) fn grow(&mut self, bytes: u64) -> Result<(), QuotaUsedUp> {
        let take = |used: &AtomicU64, max: u64| {
            let taken = used.fetch_update(Relaxed, Relaxed, |used| {
                used.checked_add(bytes).filter(|sum| *sum <= max)
            });
            taken.map_err(|used| QuotaUsedUp {
                left: max.saturating_sub(used),
            })
        };
        let all = &self.quota.all;
        if let Some(own) = &self.quota.own {
            take(own, all.max / SHARES)?;
        }
        if let Err(used_up) = take(&all.used, all.max) {
            if let Some(own) = &self.quota.own {
                own.fetch_sub(bytes, Relaxed);
            }
            return Err(used_up);
        }
        self.bytes += bytes;
        Ok(())
    }

    /// Leaves them taken: the file stays.
    pub(super) const fn keep(&mut self) {
        self.bytes = 0;
    }
}

impl Drop for StoredBytes {
    fn drop(&mut self) {
        self.quota.all.used.fetch_sub(self.bytes, Relaxed);
        if let Some(own) = &self.quota.own {
            own.fetch_sub(self.bytes, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::IpAddr;

    fn source(last: u8) -> ClientSource {
        IpAddr::from([192, 0, 2, last]).into()
    }

    #[test]
    fn files_take_what_arrives_and_a_source_leaves_half() {
        let quota = StoreQuota::new(ByteCount::new(40 * FILE_BYTES));
        let first = quota.of_source(source(1));
        let mut room = first.room_for_file(10 * FILE_BYTES).unwrap();
        // What is claimed is not taken.
        assert_eq!(quota.left(), 39 * FILE_BYTES);
        room.grow(19 * FILE_BYTES).unwrap();
        assert_eq!(room.grow(1), Err(QuotaUsedUp { left: 0 }));
        assert!(quota.of_source(source(1)).room_for_file(0).is_err());
        let second = quota.of_source(source(2)).room_for_file(0).unwrap();
        drop(second);
        room.keep();
        drop(room);
        drop(first);
        // The source is known as long as its file is there.
        assert_eq!(quota.of_source(source(1)).left(), 0);
        assert_eq!(quota.left(), 20 * FILE_BYTES);
        assert!(
            quota
                .of_source(source(2))
                .room_for_file(u64::MAX)
                .is_err_and(|used_up| used_up.left == 20 * FILE_BYTES)
        );
    }

    #[test]
    fn what_did_not_stay_is_free_again() {
        let quota = StoreQuota::new(ByteCount::new(4 * FILE_BYTES));
        for _ in 0..100 {
            let mut room = quota.of_source(source(1)).room_for_file(0).unwrap();
            room.grow(FILE_BYTES).unwrap();
        }
        assert_eq!(quota.left(), 4 * FILE_BYTES);
        for last in 0..100 {
            drop(quota.of_source(source(last)));
        }
        assert!(quota.all.by_source.lock().unwrap().len() <= 1);
    }
}
