//! What a server tells of its own time and interface during a test, as episodes. Nothing of it is taken to be true without bounds.

use crate::own_interface::InterfaceAccount;
use crate::peer::PeerInfo;
use caudal_core::episode::{ChangedRoute, ClockStep, Episode, EpisodeKind, InterfaceEvent};
use caudal_core::host::Host;
use caudal_wire::message::{OtherTest, OwnStop};

/// Maximum number of stops, and of events of its interface, that are taken from a server.
const MAX_STOPS: usize = 102;
/// Maximum number of frames that a server may have counted in a second: the shortest ones at 400 Gbit/s.
const MAX_FRAMES_PER_S: f64 = 6e8;
/// Maximum step of a server's clock, s: more than the 584 years that its nanoseconds count.
const MAX_STEP_S: f64 = 2e10;
/// Maximum time between the looks of two ends of one machine at a step of its clock, s.
const SAME_STEP_S: f64 = 1.0;

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

/// The steps of the server's wall clock in a test of `elapsed_s`, without those that this host saw of its own, which may be the same.
pub(super) fn clock_steps(steps: &[ClockStep], known: &[Episode], elapsed_s: f64) -> Vec<Episode> {
    let is_told = |step: &ClockStep| {
        let mut own = known
            .iter()
            .filter(|one| one.kind == EpisodeKind::ClockStepped);
        own.any(|one| (one.from_s - step.at_s).abs() <= SAME_STEP_S)
    };
    let first = steps.iter().take(MAX_STOPS);
    first
        .filter(|step| (0.0..=elapsed_s).contains(&step.at_s) && step.by_s.abs() <= MAX_STEP_S)
        .filter(|step| !is_told(step))
        .map(ClockStep::episode_of_server)
        .collect()
}

/// What became of the interfaces of both ends, and of their routes, in a test of `elapsed_s`.
pub(super) fn of_interface(
    own: &InterfaceAccount,
    servers: &InterfaceAccount,
    info: &PeerInfo,
    elapsed_s: f64,
) -> Vec<Episode> {
    let name = |host: &Host, whose: &str| match &host.interface {
        Some(interface) => format!("{interface} of {whose}"),
        None => format!("the interface of {whose}"),
    };
    let own_name = name(&info.client, "this host");
    let servers_name = name(&info.server, "the server");
    let own_events = own.events.iter().map(|event| event.episode(&own_name));
    let servers_events = within(&servers.events, elapsed_s);
    let servers_events = servers_events
        .iter()
        .map(|event| event.episode(&servers_name));
    let own_routes = own.routes.iter().map(|change| change.episode("this host"));
    let is_possible = |change: &&ChangedRoute| (0.0..=elapsed_s).contains(&change.at_s);
    let servers_routes = servers.routes.iter().take(MAX_STOPS).filter(is_possible);
    let servers_routes = servers_routes.map(|change| change.episode("the server"));
    let routes = own_routes.chain(servers_routes);
    own_events.chain(servers_events).chain(routes).collect()
}

/// The events that are possible in a test of `elapsed_s`.
fn within(events: &[InterfaceEvent], elapsed_s: f64) -> Vec<InterfaceEvent> {
    let bounded = |event: &InterfaceEvent| InterfaceEvent {
        from_s: event.from_s.max(0.0),
        to_s: event.to_s.map(|to_s| to_s.min(elapsed_s)),
        ..*event
    };
    let is_possible = |event: &InterfaceEvent| {
        event.from_s <= event.to_s.unwrap_or(elapsed_s)
            && event.fault.frames() as f64 <= MAX_FRAMES_PER_S * elapsed_s
    };
    let first = events.iter().take(MAX_STOPS);
    first.map(bounded).filter(is_possible).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::episode::InterfaceFault;

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
    fn events_of_a_servers_interface_are_those_that_are_possible() {
        let event = |from_s, to_s, frames| InterfaceEvent {
            from_s,
            to_s,
            fault: InterfaceFault::Errors { frames },
        };
        let each = [
            event(1.0, Some(2.0), 5),
            event(-1e300, Some(1e300), 5),
            event(11.0, None, 5),
            event(3.0, None, 5),
            event(1.0, Some(2.0), u64::MAX),
            event(f64::NAN, Some(f64::NAN), 1),
        ];
        let told: Vec<(f64, Option<f64>)> = within(&each, 10.0)
            .iter()
            .map(|one| (one.from_s, one.to_s))
            .collect();
        let expected = [
            (1.0, Some(2.0)),
            (0.0, Some(10.0)),
            (3.0, None),
            // Not a number counts as the start and the end.
            (0.0, Some(10.0)),
        ];
        assert_eq!(told, expected);
        let many = vec![event(1.0, Some(2.0), 5); 5000];
        assert_eq!(within(&many, 10.0).len(), MAX_STOPS);
    }

    #[test]
    fn steps_of_the_servers_clock_are_told_unless_they_are_those_of_this_host() {
        let step = |at_s, by_s| ClockStep { at_s, by_s };
        let steps = [
            step(2.0, 0.5),
            step(7.0, -3600.0),
            step(-1.0, 1.0),
            step(11.0, 1.0),
            step(3.0, f64::NAN),
            step(4.0, 1e300),
        ];
        let told = |known: &[Episode]| -> Vec<f64> {
            let found = clock_steps(&steps, known, 10.0).into_iter();
            found.map(|one| one.from_s).collect()
        };
        assert_eq!(told(&[]), [2.0, 7.0]);
        assert_eq!(told(&[step(2.1, 0.5).episode()]), [7.0]);
        let many = vec![step(2.0, 0.5); 5000];
        assert_eq!(clock_steps(&many, &[], 10.0).len(), MAX_STOPS);
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
