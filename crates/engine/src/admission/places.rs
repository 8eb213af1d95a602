//! Places that clients hold, shared among their sources.

use super::activity::PlaceActivity;
use caudal_flow::ClientSource;
use caudal_sys::clock::monotonic_ns;
use std::net::{IpAddr, Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The limits on the places.
#[derive(Debug, Clone, Copy)]
pub struct PlaceLimits {
    /// The maximum number in use.
    pub(crate) all: usize,
    /// The maximum number in use by one source.
    pub(crate) per_source: usize,
    /// The time a client has to say what it is for before its place may be given to another, ns.
    pub(crate) patience_ns: u64,
}

impl PlaceLimits {
    /// Those of connections that have not said what they are for: each gives way at once.
    pub const PENDING: Self = Self {
        all: 512,
        per_source: 512,
        patience_ns: 0,
    };
}

/// The way in which a client learns that its place was given to another.
#[derive(Debug)]
pub enum Release {
    /// Its connection is shut down.
    Connection(TcpStream),
    /// It looks whether its place was given up.
    Flag,
    /// None: it keeps its place.
    Never,
}

impl Release {
    /// The release of the client at the other end of `stream`.
    pub fn of_connection(stream: &TcpStream) -> Self {
        stream.try_clone().map_or(Self::Never, Self::Connection)
    }
}

/// A place in use.
struct Holder {
    number: u64,
    source: ClientSource,
    activity: Arc<PlaceActivity>,
    release: Release,
}

#[derive(Default)]
struct Holders {
    last: u64,
    /// In the order in which they were taken.
    list: Vec<Holder>,
}

/// The reason why no place was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoPlace {
    /// All are in use.
    #[error("all {0} places are taken; try again later")]
    All(usize),
    /// The source has its share.
    #[error("all {0} places for one source are taken; try again later")]
    Share(usize),
}

/// Places that clients hold.
#[derive(Debug)]
pub struct Places {
    limits: PlaceLimits,
    holders: Mutex<Holders>,
}

impl std::fmt::Debug for Holders {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Holders")
            .field("in_use", &self.list.len())
            .finish_non_exhaustive()
    }
}

/// Chooses among holders, each with its source and the time from which it may give way, the one that does so for a newcomer
/// from `source`: the oldest of those whose source holds more than the newcomer's, otherwise the oldest of that source; where
/// that has its share only the latter.
pub(crate) fn choose_to_give_way(
    holders: &[(ClientSource, Option<u64>)],
    source: ClientSource,
    is_share_taken: bool,
) -> Option<usize> {
    let held = |by: ClientSource| holders.iter().filter(|(source, _)| *source == by).count();
    let own = held(source);
    let candidates = holders
        .iter()
        .enumerate()
        .filter_map(|(nth, (by, from_ns))| Some((nth, *by, (*from_ns)?)));
    candidates
        .filter(|(_, by, _)| *by == source || (!is_share_taken && held(*by) > own))
        .min_by_key(|(nth, by, from_ns)| (*by == source, *from_ns, *nth))
        .map(|(nth, _, _)| nth)
}

impl Places {
    /// Places within these limits, all of them free.
    pub fn new(limits: PlaceLimits) -> Arc<Self> {
        Arc::new(Self {
            limits,
            holders: Mutex::default(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Holders> {
        self.holders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) const fn limits(&self) -> PlaceLimits {
        self.limits
    }

    /// The number of places in use.
    pub(crate) fn in_use(&self) -> usize {
        self.lock().list.len()
    }

    /// Takes a place for a client at `address`.
    pub fn take_any(
        self: &Arc<Self>,
        address: IpAddr,
        release: impl FnOnce() -> Release,
    ) -> Result<Place, NoPlace> {
        self.take(address.into(), self.limits.all, release)
    }

    /// Takes a place for a client of `source` while fewer than `all` are in use, or one gives way.
    pub(crate) fn take(
        self: &Arc<Self>,
        source: ClientSource,
        all: usize,
        release: impl FnOnce() -> Release,
    ) -> Result<Place, NoPlace> {
        let now_ns = monotonic_ns();
        let mut holders = self.lock();
        let own = holders.list.iter().filter(|one| one.source == source);
        let PlaceLimits {
            per_source,
            patience_ns,
            ..
        } = self.limits;
        let is_share_taken = per_source < all && own.count() >= per_source;
        if is_share_taken || holders.list.len() >= all {
            let known: Vec<_> = holders
                .list
                .iter()
                .map(|one| (one.source, one.gives_way_ns(now_ns)))
                .collect();
            let chosen = choose_to_give_way(&known, source, is_share_taken);
            let Some(nth) = chosen.or_else(|| holders.slow_test(source, now_ns)) else {
                return Err(match is_share_taken {
                    true => NoPlace::Share(per_source),
                    false => NoPlace::All(holders.list.len()),
                });
            };
            holders.list.remove(nth).give_up();
        }
        holders.last += 1;
        let number = holders.last;
        let activity = Arc::new(PlaceActivity::opening(patience_ns));
        holders.list.push(Holder {
            number,
            source,
            activity: Arc::clone(&activity),
            release: release(),
        });
        Ok(Place {
            places: Arc::clone(self),
            number,
            activity,
        })
    }
}

impl Places {
    /// Ends the test that has moved next to nothing for longest, unless it is of `source`: what it holds is needed.
    pub(crate) fn end_slow_test(&self, source: ClientSource) {
        let now_ns = monotonic_ns();
        let mut holders = self.lock();
        if let Some(nth) = holders.slowest_test(|by| by != source, now_ns) {
            holders.list.remove(nth).give_up();
        }
    }
}

impl Holders {
    /// The test that has moved next to nothing for longest, for a newcomer from `source`; `None` where that holds a place already.
    fn slow_test(&self, source: ClientSource, now_ns: u64) -> Option<usize> {
        if self.list.iter().any(|one| one.source == source) {
            return None;
        }
        self.slowest_test(|_| true, now_ns)
    }

    /// The test that has moved next to nothing for longest, of the sources that `is_meant` names.
    fn slowest_test(&self, is_meant: impl Fn(ClientSource) -> bool, now_ns: u64) -> Option<usize> {
        let slow = self.list.iter().enumerate().filter_map(|(nth, one)| {
            let may_end = !matches!(one.release, Release::Never) && is_meant(one.source);
            let since_ns = one.activity.slow_since_ns(now_ns).filter(|_| may_end);
            Some((since_ns?, nth))
        });
        slow.min().map(|(_, nth)| nth)
    }
}

impl Holder {
    /// Tells the client that its place is another's.
    fn give_up(&self) {
        self.activity.give_up();
        if let Release::Connection(stream) = &self.release {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn gives_way_ns(&self, now_ns: u64) -> Option<u64> {
        match self.release {
            Release::Never => None,
            Release::Connection(_) | Release::Flag => self.activity.gives_way_ns(now_ns),
        }
    }
}

/// A place in use, free again when dropped.
#[derive(Debug)]
pub struct Place {
    places: Arc<Places>,
    number: u64,
    activity: Arc<PlaceActivity>,
}

impl Place {
    pub(crate) fn activity(&self) -> &PlaceActivity {
        &self.activity
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let number = self.number;
        self.places.lock().list.retain(|one| one.number != number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::Relaxed;

    fn source(host: u8) -> ClientSource {
        IpAddr::from([192, 0, 2, host]).into()
    }

    fn places(all: usize, per_source: usize) -> Arc<Places> {
        Places::new(PlaceLimits {
            all,
            per_source,
            patience_ns: 0,
        })
    }

    fn take(places: &Arc<Places>, host: u8) -> Result<Place, NoPlace> {
        places.take(source(host), places.limits().all, || Release::Flag)
    }

    fn is_given_up(place: &Place) -> bool {
        place.activity().given_up().load(Relaxed)
    }

    #[test]
    fn one_source_cannot_take_all_places() {
        let places = places(4, 2);
        let held: Vec<Place> = (0..2).map(|_| take(&places, 1).unwrap()).collect();
        held.iter().for_each(|place| place.activity().test_begins());
        assert_eq!(take(&places, 1).unwrap_err(), NoPlace::Share(2));
        let others: Vec<Place> = (2..4).map(|host| take(&places, host).unwrap()).collect();
        others
            .iter()
            .for_each(|place| place.activity().test_begins());
        assert_eq!(take(&places, 5).unwrap_err(), NoPlace::All(4));
        drop(held);
        assert!(take(&places, 5).is_ok());
    }

    #[test]
    fn a_test_that_moves_next_to_nothing_gives_way_to_a_new_source() {
        let places = places(2, 2);
        let held: Vec<Place> = (0..2).map(|_| take(&places, 1).unwrap()).collect();
        held.iter().for_each(|place| place.activity().test_begins());
        // One moves, and one has not since long ago.
        held[0].activity().test_moves(0, 1, monotonic_ns());
        held[1].activity().test_moves(0, 1, 1);
        assert_eq!(take(&places, 1).unwrap_err(), NoPlace::All(2));
        let newcomer = take(&places, 2).unwrap();
        let given_up: Vec<bool> = held.iter().map(is_given_up).collect();
        assert_eq!(given_up, [false, true]);
        // Who has a place gets none of another's.
        newcomer.activity().test_begins();
        held[0].activity().test_moves(0, 1, 1);
        assert!(take(&places, 2).is_err());
    }

    #[test]
    fn a_test_of_another_source_that_moves_next_to_nothing_ends_when_memory_is_short() {
        let places = places(4, 4);
        let held: Vec<Place> = [1, 2, 3].map(|by| take(&places, by).unwrap()).into();
        held.iter().for_each(|place| place.activity().test_begins());
        held[0].activity().test_moves(0, 1, 1);
        held[1].activity().test_moves(0, 1, 2);
        held[2].activity().test_moves(0, 1, monotonic_ns());
        let given_up = || held.iter().map(is_given_up).collect::<Vec<bool>>();
        places.end_slow_test(IpAddr::from([192, 0, 2, 1]).into());
        assert_eq!(given_up(), [false, true, false]);
        places.end_slow_test(IpAddr::from([192, 0, 2, 3]).into());
        assert_eq!(given_up(), [true, true, false]);
        places.end_slow_test(IpAddr::from([192, 0, 2, 4]).into());
        assert_eq!(given_up(), [true, true, false]);
    }

    #[test]
    fn the_oldest_opening_of_the_greediest_gives_way_to_a_new_source() {
        let places = places(3, 3);
        let held: Vec<Place> = (0..3).map(|_| take(&places, 1).unwrap()).collect();
        held[0].activity().test_begins();
        let newcomer = take(&places, 2).unwrap();
        let given_up: Vec<bool> = held.iter().map(is_given_up).collect();
        assert_eq!(given_up, [false, true, false]);
        drop(held);
        assert_eq!(places.in_use(), 1);
        drop(newcomer);
        assert_eq!(places.in_use(), 0);
    }

    #[test]
    fn a_source_displaces_others_only_while_they_hold_more() {
        let places = places(2, 2);
        let first = take(&places, 1).unwrap();
        let second = take(&places, 2).unwrap();
        let third = take(&places, 2).unwrap();
        assert!(is_given_up(&second), "its own oldest");
        assert!(!is_given_up(&first) && !is_given_up(&third));
    }
}
