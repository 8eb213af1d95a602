//! What a server tells of its own time during a test, as episodes. Nothing of it is taken to be true without bounds.

use caudal_core::episode::{Episode, EpisodeKind};
use caudal_wire::message::{OtherTest, OwnStop};

/// Maximum number of stops that are taken from a server.
const MAX_STOPS: usize = 100;

/// The other tests of the server during one of `elapsed_s` as one episode; `None` without any that overlaps it.
pub(super) fn other_tests(tests: &[OtherTest], elapsed_s: f64) -> Option<Episode> {
    let overlapping = tests
        .iter()
        .map(|test| (test.from_s.max(0.0), test.to_s.min(elapsed_s)))
        .filter(|(from_s, to_s)| from_s < to_s);
    let (from_s, to_s, count) = overlapping.fold(
        (f64::INFINITY, 0.0_f64, 0_u32),
        |(first_s, last_s, count), (from_s, to_s)| {
            (
                first_s.min(from_s),
                last_s.max(to_s),
                count.saturating_add(1),
            )
        },
    );
    let evidence = match count {
        0 => return None,
        1 => "the server carried out both at once".to_owned(),
        count => format!("the server carried out {count} others between these times"),
    };
    Some(Episode {
        kind: EpisodeKind::AnotherTest,
        from_s,
        to_s: Some(to_s),
        direction: None,
        evidence,
    })
}

/// The stops of the server's program in a test of `elapsed_s`, without those in a time that an episode here tells of already.
pub(super) fn stopped(stops: &[OwnStop], known: &[Episode], elapsed_s: f64) -> Vec<Episode> {
    let within = stops.iter().take(MAX_STOPS).map(|stop| OwnStop {
        from_s: stop.from_s.max(0.0),
        to_s: stop.to_s.min(elapsed_s),
        ..*stop
    });
    let is_told = |stop: &OwnStop| {
        let mut others = known.iter().filter(|one| !one.kind.is_own());
        others.any(|one| one.overlap_s(stop.from_s, stop.to_s) > 0.0)
    };
    within
        .filter(|stop| stop.from_s < stop.to_s && !is_told(stop))
        .map(|stop| Episode {
            kind: if stop.starved {
                EpisodeKind::PeerStarved
            } else {
                EpisodeKind::PeerStopped
            },
            from_s: stop.from_s,
            to_s: Some(stop.to_s),
            direction: None,
            evidence: if stop.starved {
                "its own timer was late".to_owned()
            } else {
                "its own timer was late, and it did not wait for a processor".to_owned()
            },
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_other_tests_of_a_server_are_one_episode_within_this_one() {
        let test = |from_s, to_s| OtherTest { from_s, to_s };
        let one = other_tests(&[test(2.0, 3.0)], 10.0).unwrap();
        assert_eq!((one.from_s, one.to_s), (2.0, Some(3.0)));
        let many = [
            test(-1e300, 1.0),
            test(4.0, 1e300),
            test(7.0, 5.0),
            test(20.0, 30.0),
        ];
        let many = other_tests(&many, 10.0).unwrap();
        assert_eq!((many.from_s, many.to_s), (0.0, Some(10.0)));
        assert!(many.evidence.contains(" 2 others "), "{}", many.evidence);
        assert_eq!(other_tests(&[test(20.0, 30.0)], 10.0), None);
        assert_eq!(other_tests(&[], 10.0), None);
    }

    #[test]
    fn stops_are_told_once_and_within_the_test() {
        let stop = |from_s, to_s| OwnStop {
            from_s,
            to_s,
            starved: false,
        };
        let told = |stops: &[OwnStop], known: &[Episode]| -> Vec<(f64, Option<f64>)> {
            let found = stopped(stops, known, 10.0).into_iter();
            found.map(|one| (one.from_s, one.to_s)).collect()
        };
        let each = [
            stop(1.0, 1.5),
            stop(-3.0, 0.4),
            stop(9.0, f64::INFINITY),
            stop(f64::NAN, 3.0),
            stop(7.0, 6.0),
            stop(20.0, 30.0),
        ];
        let expected = [
            (1.0, Some(1.5)),
            (0.0, Some(0.4)),
            (9.0, Some(10.0)),
            // Not a number counts as the start.
            (0.0, Some(3.0)),
        ];
        assert_eq!(told(&each, &[]), expected);
        let known = Episode {
            kind: EpisodeKind::PathSilent,
            from_s: 0.9,
            to_s: Some(2.0),
            direction: None,
            evidence: String::new(),
        };
        assert_eq!(told(&each[..1], std::slice::from_ref(&known)), []);
        let own = Episode {
            kind: EpisodeKind::ProgramStopped,
            ..known
        };
        assert_eq!(told(&each[..1], &[own]), [(1.0, Some(1.5))]);
        assert_eq!(told(&vec![stop(1.0, 2.0); 5000], &[]).len(), MAX_STOPS);
    }
}
