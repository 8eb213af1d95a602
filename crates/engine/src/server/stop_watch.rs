//! The watch of a server over itself during a test: the times in which its program stood still, its clock, its interface and its route.

use crate::own_interface::{InterfaceAccount, OwnInterface};
use crate::own_wait::OwnWait;
use caudal_analysis::episode::{SilenceWatch, WatchReading};
use caudal_core::episode::{ClockStep, Episode, EpisodeKind};
use caudal_sys::clock::monotonic_ns;
use caudal_wire::message::OwnStop;
use std::net::TcpStream;
use std::time::Duration;

/// Maximum number of stops that a client is told of, the longest first.
const MAX_TOLD: usize = 100;
/// Maximum number of stops that are kept in a test.
const MAX_KEPT: usize = 1000;

/// What a server tells of itself.
pub(super) struct OwnAccount {
    /// The stops in order, the longest where there are many.
    pub(super) stops: Vec<OwnStop>,
    /// The steps of its wall clock.
    pub(super) clock_steps: Vec<ClockStep>,
    /// What became of its interface and its route.
    pub(super) interface: InterfaceAccount,
}

/// The watch over the thread of a session.
pub(super) struct StopWatch {
    watch: SilenceWatch,
    wait: OwnWait,
    interface: OwnInterface,
}

impl StopWatch {
    /// The watch over a test with the client of `connection` that starts at `start_ns`; it belongs to the calling thread.
    pub(super) fn start(connection: &TcpStream, start_ns: u64) -> Self {
        Self {
            watch: SilenceWatch::new(start_ns, Duration::ZERO),
            wait: OwnWait::of_this_thread(start_ns),
            interface: OwnInterface::of(connection, start_ns),
        }
    }

    /// Begins to wait: until `until_ns`, or the next look if that is earlier.
    pub(super) fn wait_until_ns(&mut self, until_ns: u64) -> u64 {
        self.wait.wait_until_ns(until_ns)
    }

    /// Takes a look after the wait.
    pub(super) fn look(&mut self) {
        let now_ns = monotonic_ns();
        self.interface.look(now_ns);
        if self.watch.episodes() >= MAX_KEPT {
            return;
        }
        self.watch.read(&WatchReading {
            // The client's silence is the client's to see.
            heard_ns: now_ns,
            ..self.wait.reading(now_ns)
        });
    }

    /// The account of the test, which ends now.
    pub(super) fn finish(self) -> OwnAccount {
        let now_ns = monotonic_ns();
        let clock_steps = self.watch.clock_steps().to_vec();
        let episodes = self.watch.finish(now_ns).into_iter();
        let stops = episodes.filter(Episode::is_stop).filter_map(|episode| {
            Some(OwnStop {
                from_s: episode.from_s,
                to_s: episode.to_s?,
                starved: episode.kind == EpisodeKind::ProgramStarved,
            })
        });
        OwnAccount {
            stops: longest(stops.collect()),
            clock_steps,
            interface: self.interface.finish(now_ns),
        }
    }
}

/// As many of these as are told, the longest ones, in order.
fn longest(mut stops: Vec<OwnStop>) -> Vec<OwnStop> {
    let length_s = |stop: &OwnStop| stop.to_s - stop.from_s;
    stops.sort_by(|one, other| length_s(other).total_cmp(&length_s(one)));
    stops.truncate(MAX_TOLD);
    stops.sort_by(|one, other| one.from_s.total_cmp(&other.from_s));
    stops
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_stops_are_told_in_order() {
        let stop = |nth: u32| OwnStop {
            from_s: f64::from(nth),
            to_s: f64::from(nth) + f64::from(nth % 7 + 1) / 10.0,
            starved: false,
        };
        let told = longest((0..300).map(stop).collect());
        assert_eq!(told.len(), MAX_TOLD);
        assert!(told.is_sorted_by(|one, other| one.from_s < other.from_s));
        assert!(told.iter().all(|one| one.to_s - one.from_s > 0.45));
    }
}
