//! Duplex told from what the interfaces of the ends report.

use caudal_core::interface::{DuplexMode, InterfaceLink, LinkErrors, LinkModes};
use caudal_core::units::BitRate;
use caudal_probe::Confidence::{High, Low, Medium};
use caudal_probe::duplex::EndLinkFinding::{CannotTell, Full, MatchedHalf, Mismatch};
use caudal_probe::duplex::{
    CableEnd, DuplexFinding, DuplexReadings, DuplexStatement, EachWay, EndErrors, EndLink,
    EndLinkFinding, EndLinkState, EndLinkStatement, LightRuns, LinkSide, RunLoss, SaturatingRuns,
};

const FAST_ETHERNET: [&str; 4] = [
    "10baseT/Half",
    "10baseT/Full",
    "100baseT/Half",
    "100baseT/Full",
];
const NO_ERRORS: EndErrors = EndErrors {
    late_collisions: 0,
    bad_frames_alone: 0,
    bad_frames_together: 0,
};

/// An Ethernet interface that supports and advertises the modes of Fast Ethernet, of whose partner nothing is reported.
fn ethernet(mbps: u32, duplex: DuplexMode, autonegotiation: bool) -> InterfaceLink {
    InterfaceLink {
        interface: "eth0".into(),
        driver: Some("r8169".into()),
        hardware_type: Some(1),
        is_wireless: Some(false),
        link_detected: Some(true),
        speed_mbps: Some(mbps),
        duplex: Some(duplex),
        autonegotiation: Some(autonegotiation),
        autonegotiation_supported: Some(true),
        supported_modes: Some(LinkModes::new(
            FAST_ETHERNET.into_iter().chain(["1000baseT/Full"]),
        )),
        advertised_modes: Some(LinkModes::new(FAST_ETHERNET)),
        ..InterfaceLink::default()
    }
}

/// The same with a partner that advertises these modes.
fn with_partner(link: InterfaceLink, negotiates: bool, modes: &[&str]) -> InterfaceLink {
    InterfaceLink {
        partner_modes: Some(LinkModes::new(modes.iter().copied())),
        partner_autonegotiation: Some(negotiates),
        ..link
    }
}

fn forced_full() -> InterfaceLink {
    ethernet(100, DuplexMode::Full, false)
}

fn forced_half() -> InterfaceLink {
    ethernet(100, DuplexMode::Half, false)
}

fn negotiated_full() -> InterfaceLink {
    with_partner(ethernet(100, DuplexMode::Full, true), true, &FAST_ETHERNET)
}

fn negotiated_half() -> InterfaceLink {
    let half = ["10baseT/Half", "100baseT/Half"];
    with_partner(ethernet(100, DuplexMode::Half, true), true, &half)
}

fn parallel_half() -> InterfaceLink {
    let detected = ["100baseT/Half"];
    with_partner(ethernet(100, DuplexMode::Half, true), false, &detected)
}

fn gigabit() -> InterfaceLink {
    ethernet(1000, DuplexMode::Full, true)
}

fn wireless() -> InterfaceLink {
    InterfaceLink {
        interface: "wlan0".into(),
        driver: Some("iwlwifi".into()),
        hardware_type: Some(1),
        is_wireless: Some(true),
        link_detected: Some(true),
        ..InterfaceLink::default()
    }
}

/// A TAP device as ethtool(8) sets it: `speed 100 duplex half`.
fn tap() -> InterfaceLink {
    InterfaceLink {
        kind: Some("tun".into()),
        driver: Some("tun".into()),
        supported_modes: Some(LinkModes::default()),
        ..forced_half()
    }
}

#[test]
fn an_end_is_judged_by_its_own_report() {
    let suspected = |half| EndLinkFinding::SuspectedMismatch { half };
    let unreported = |duplex| ethernet(100, duplex, true);
    let loopback = InterfaceLink {
        hardware_type: Some(772),
        ..InterfaceLink::default()
    };
    let unplugged = InterfaceLink {
        link_detected: Some(false),
        ..negotiated_full()
    };
    let silent = InterfaceLink {
        speed_mbps: None,
        duplex: None,
        ..negotiated_full()
    };
    let table = [
        (negotiated_full(), Full, High, "advertises full duplex"),
        (
            unreported(DuplexMode::Full),
            Full,
            Medium,
            "takes a partner",
        ),
        (gigabit(), Full, High, "1 Gbit/s"),
        (negotiated_half(), MatchedHalf, High, "negotiates as well"),
        (
            parallel_half(),
            suspected(CableEnd::Own),
            Medium,
            "fell back",
        ),
        (
            unreported(DuplexMode::Half),
            suspected(CableEnd::Own),
            Low,
            "reports no modes of its partner",
        ),
        (
            forced_full(),
            suspected(CableEnd::Partner),
            Low,
            "without autonegotiation",
        ),
        (
            forced_half(),
            CannotTell,
            Low,
            "falls back to half duplex too",
        ),
        (wireless(), EndLinkFinding::Radio, High, "wireless"),
        (tap(), EndLinkFinding::Virtual, High, "(tun)"),
        (loopback, EndLinkFinding::NotEthernet, High, "no Ethernet"),
        (unplugged, CannotTell, Low, "no link"),
        (silent, CannotTell, Low, "does not report"),
        (InterfaceLink::default(), CannotTell, Low, "does not report"),
    ];
    for (link, finding, confidence, reason) in table {
        for errors in [None, Some(NO_ERRORS)] {
            let statement = EndLinkStatement::from_report(&link, errors);
            assert_eq!(
                (statement.finding, statement.confidence),
                (finding, confidence),
                "{statement:?}"
            );
            assert!(statement.reason.contains(reason), "{statement:?}");
        }
    }
}

#[test]
fn a_report_that_cannot_be_true_tells_nothing() {
    // Half duplex, although both ends advertise 100baseT/Full.
    let better = with_partner(ethernet(100, DuplexMode::Half, true), true, &FAST_ETHERNET);
    // Full duplex with a partner that does not negotiate, or that advertises half duplex only.
    let detected = with_partner(
        ethernet(100, DuplexMode::Full, true),
        false,
        &["100baseT/Half"],
    );
    let half = ["10baseT/Half", "100baseT/Half"];
    let only_half = with_partner(ethernet(100, DuplexMode::Full, true), true, &half);
    let half_gigabit = InterfaceLink {
        supported_modes: None,
        ..ethernet(1000, DuplexMode::Half, true)
    };
    // Drivers of USB network functions know no modes and leave the duplex mode at zero.
    let without_modes = InterfaceLink {
        supported_modes: Some(LinkModes::default()),
        ..forced_half()
    };
    let fast_without_modes = InterfaceLink {
        supported_modes: Some(LinkModes::default()),
        ..ethernet(5000, DuplexMode::Full, false)
    };
    let later = InterfaceLink {
        hardware_type: None,
        ..negotiated_full()
    };
    for link in [
        better,
        detected,
        only_half,
        half_gigabit,
        without_modes,
        fast_without_modes,
        later,
    ] {
        let statement = EndLinkStatement::from_report(&link, None);
        assert_eq!(statement.finding, CannotTell, "{link:?}");
        assert!(statement.reason.starts_with("cannot tell, because "));
    }
}

#[test]
fn modes_decide_by_speed_and_by_what_both_advertise() {
    // 100baseT/Half has priority over 10baseT/Full, which both advertise.
    let slower = ["10baseT/Half", "10baseT/Full", "100baseT/Half"];
    let link = with_partner(ethernet(100, DuplexMode::Half, true), true, &slower);
    let state = |link: &InterfaceLink| EndLink::from(link).state;
    assert_eq!(state(&link), EndLinkState::NegotiatedHalf);
    // A driver that reports modes and not that the partner negotiates.
    let unsaid = InterfaceLink {
        partner_autonegotiation: Some(false),
        ..negotiated_half()
    };
    assert_eq!(state(&unsaid), EndLinkState::NegotiatedHalf);
    // Fibre is not able to negotiate.
    let fibre = InterfaceLink {
        autonegotiation_supported: Some(false),
        ..forced_full()
    };
    assert_eq!(state(&fibre), EndLinkState::Full);
    let legacy = InterfaceLink {
        supported_modes: None,
        autonegotiation_supported: None,
        ..forced_full()
    };
    assert_eq!(state(&legacy), EndLinkState::ForcedFull);
}

#[test]
fn counters_are_conclusive_where_the_interface_can_be_an_end_of_a_mismatch() {
    let late = EndErrors {
        late_collisions: 3,
        ..NO_ERRORS
    };
    let broken = EndErrors {
        bad_frames_together: 40,
        ..NO_ERRORS
    };
    let few = EndErrors {
        bad_frames_together: 3,
        ..NO_ERRORS
    };
    let own = Mismatch {
        half: CableEnd::Own,
    };
    let partner = Mismatch {
        half: CableEnd::Partner,
    };
    let suspected = EndLinkFinding::SuspectedMismatch {
        half: CableEnd::Partner,
    };
    let table = [
        (parallel_half(), late, own, High),
        (forced_half(), late, own, High),
        (forced_full(), broken, partner, High),
        (forced_full(), few, suspected, Low),
        // Both ends know the mode: a network too long, or a bad cable.
        (negotiated_half(), late, CannotTell, Low),
        (negotiated_full(), late, CannotTell, Low),
        (negotiated_full(), broken, Full, Medium),
        // The counters mean something else.
        (gigabit(), late, Full, High),
        (wireless(), late, EndLinkFinding::Radio, High),
        (tap(), late, EndLinkFinding::Virtual, High),
    ];
    for (link, errors, finding, confidence) in table {
        let statement = EndLinkStatement::from_report(&link, Some(errors));
        assert_eq!(
            (statement.finding, statement.confidence),
            (finding, confidence),
            "{statement:?}"
        );
    }
    let cable = EndErrors {
        bad_frames_alone: 5,
        ..broken
    };
    let statement = EndLinkStatement::from_report(&negotiated_full(), Some(cable));
    assert_eq!((statement.finding, statement.confidence), (Full, High));
    assert!(statement.remedy.unwrap().contains("cable"));
}

#[test]
fn what_a_peer_names_its_interface_does_not_steer_a_terminal() {
    let link = InterfaceLink {
        interface: "\u{1b}[2J".into(),
        kind: Some("\u{1b}]0;x\u{7}".into()),
        ..tap()
    };
    let reason = EndLinkStatement::from_report(&link, None).reason;
    assert!(!reason.contains(char::is_control), "{reason:?}");
}

fn rates(forward: f64, back: f64) -> EachWay<BitRate> {
    let rate = |mbps: f64| BitRate::from_bps((mbps * 1e6) as u64);
    EachWay {
        forward: rate(forward),
        back: rate(back),
    }
}

fn light(lost_together: u64) -> Option<LightRuns> {
    let runs = |lost| {
        let run = RunLoss { sent: 2000, lost };
        EachWay {
            forward: run,
            back: run,
        }
    };
    Some(LightRuns {
        load: 0.1,
        alone: runs(0),
        together: runs(lost_together),
    })
}

fn saturating(together: f64) -> Option<SaturatingRuns> {
    Some(SaturatingRuns {
        alone: rates(95.0, 95.0),
        together: rates(together, together),
    })
}

/// Readings of a path of 95 Mbit/s between these interfaces.
fn between(near: &InterfaceLink, far: &InterfaceLink) -> DuplexReadings {
    DuplexReadings {
        near_link: Some(near.into()),
        far_link: Some(far.into()),
        capacity: Some(BitRate::from_bps(95_000_000)),
        ..DuplexReadings::default()
    }
}

#[track_caller]
fn assert_said(
    readings: &DuplexReadings,
    finding: DuplexFinding,
    confidence: caudal_probe::Confidence,
    reason: &str,
) {
    let statement = DuplexStatement::from_readings(readings);
    assert_eq!(
        (statement.finding, statement.confidence),
        (finding, confidence),
        "{statement:?}"
    );
    assert!(statement.reason.contains(reason), "{statement:?}");
}

const MISMATCH_NEAR: DuplexFinding = DuplexFinding::Mismatch {
    half: Some(LinkSide::Near),
};
const MISMATCH_FAR: DuplexFinding = DuplexFinding::Mismatch {
    half: Some(LinkSide::Far),
};

#[test]
fn interfaces_alone_tell_what_both_of_their_ends_agree_on() {
    let one_hop = |near: &InterfaceLink, far: &InterfaceLink| DuplexReadings {
        is_one_hop: true,
        ..between(near, far)
    };
    let (full, forced) = (negotiated_full(), forced_full());
    assert_said(
        &one_hop(&full, &full),
        DuplexFinding::Full,
        Medium,
        "no router",
    );
    assert_said(&one_hop(&full, &gigabit()), DuplexFinding::Full, Medium, "");
    // Links between routers are not seen.
    let cannot_tell = DuplexFinding::CannotTell;
    assert_said(
        &between(&full, &full),
        cannot_tell,
        Low,
        "there were no runs between both ends",
    );
    // One cable, as it looks: the one fell back because the other does not negotiate.
    assert_said(
        &one_hop(&parallel_half(), &forced),
        MISMATCH_NEAR,
        Medium,
        "the near end runs half duplex",
    );
    assert_said(
        &one_hop(&forced, &forced_half()),
        MISMATCH_FAR,
        Medium,
        "both at 100",
    );
    // Of different rates it is not one cable, and with routers between neither.
    let slow = ethernet(10, DuplexMode::Half, false);
    assert_said(
        &one_hop(&slow, &forced),
        cannot_tell,
        Low,
        "near end's interface runs half",
    );
    assert_said(
        &between(&parallel_half(), &forced),
        cannot_tell,
        Low,
        "fell back",
    );
    // A switch between two links, each of them matched.
    let switched = one_hop(&negotiated_half(), &full);
    assert_said(
        &switched,
        DuplexFinding::MatchedHalf,
        Medium,
        "runs half duplex",
    );
    assert_said(
        &between(&full, &forced),
        cannot_tell,
        Low,
        "far end's interface is set",
    );
    assert_said(
        &between(&full, &wireless()),
        DuplexFinding::MatchedHalf,
        Medium,
        "radio",
    );
    assert_said(
        &one_hop(&tap(), &tap()),
        cannot_tell,
        Low,
        "there were no runs between both ends",
    );
}

#[test]
fn a_radio_shares_its_channel_and_explains_losses_but_not_the_other_ends_counters() {
    let readings = |light, saturating| DuplexReadings {
        light,
        saturating,
        ..between(&wireless(), &negotiated_full())
    };
    let half = DuplexFinding::MatchedHalf;
    assert_said(&readings(light(0), saturating(47.0)), half, High, "a radio");
    assert_said(&readings(None, saturating(47.0)), half, Medium, "a radio");
    assert_said(
        &readings(light(0), saturating(60.0)),
        half,
        Medium,
        "a radio",
    );
    // The path is slower than the radio.
    assert_said(
        &readings(light(0), saturating(90.0)),
        half,
        High,
        "not what limits the path",
    );
    let cannot_tell = DuplexFinding::CannotTell;
    assert_said(
        &readings(light(0), saturating(10.0)),
        cannot_tell,
        Low,
        "less than",
    );
    // Collisions of a mismatch would look the same.
    assert_said(&readings(light(180), None), cannot_tell, Low, "a radio");
    let fast = DuplexReadings {
        interface_rates: Some(rates(1200.0, 1000.0)),
        capacity: Some(BitRate::from_bps(600_000_000)),
        ..readings(None, None)
    };
    assert_said(&fast, half, Medium, "a radio");
    let late = EndErrors {
        late_collisions: 12,
        ..NO_ERRORS
    };
    let wired = DuplexReadings {
        far_link: Some((&forced_half()).into()),
        far_errors: Some(late),
        ..readings(None, saturating(47.0))
    };
    assert_said(&wired, MISMATCH_FAR, High, "12 late collisions");
    let of_radio = DuplexReadings {
        near_errors: Some(late),
        ..readings(None, None)
    };
    assert_said(&of_radio, half, Medium, "a radio");
}

#[test]
fn an_interface_confirms_or_weakens_what_runs_show() {
    let readings = |near: &InterfaceLink, far: &InterfaceLink, light, saturating| DuplexReadings {
        light,
        saturating,
        ..between(near, far)
    };
    let (full, half) = (negotiated_full(), DuplexFinding::MatchedHalf);
    let loss = light(180);
    // Losses of both directions at once, and an interface that may be an end of a mismatch.
    assert_said(
        &readings(&parallel_half(), &full, loss, None),
        MISMATCH_NEAR,
        High,
        "near end's interface fell back",
    );
    assert_said(
        &readings(&forced_full(), &full, loss, None),
        MISMATCH_FAR,
        High,
        "",
    );
    assert_said(
        &readings(&forced_half(), &forced_half(), loss, None),
        DuplexFinding::Mismatch { half: None },
        Medium,
        "does not show",
    );
    // Links between switches are left, on which only the losses by size show a mismatch.
    let between_switches = |small| DuplexReadings {
        is_one_hop: true,
        doubled: Some(LightRuns {
            load: 0.2,
            ..light(360).unwrap()
        }),
        small,
        ..readings(&full, &full, loss, None)
    };
    let cannot_tell = DuplexFinding::CannotTell;
    assert_said(&between_switches(None), cannot_tell, Low, "are full duplex");
    let mut small = light(180).unwrap();
    small.together.forward.lost = 10;
    assert_said(
        &between_switches(Some(small)),
        MISMATCH_NEAR,
        Medium,
        "a link between",
    );
    // Runs that load the link exclude a mismatch, and a half-duplex interface is then half at both ends.
    let clean = light(0);
    assert_said(
        &readings(&forced_half(), &full, clean, saturating(47.0)),
        half,
        High,
        "near end",
    );
    assert_said(
        &readings(&negotiated_half(), &full, None, saturating(47.0)),
        half,
        Medium,
        "",
    );
    assert_said(
        &readings(&forced_full(), &full, clean, saturating(94.0)),
        DuplexFinding::Full,
        High,
        "",
    );
    assert_said(
        &readings(&forced_half(), &full, None, saturating(47.0)),
        cannot_tell,
        Low,
        "a mismatch is not excluded",
    );
    // One direction at a time carries no more than the rate.
    assert_said(
        &readings(&negotiated_half(), &full, clean, saturating(94.0)),
        cannot_tell,
        Low,
        "half duplex at 100 Mbit/s, and both directions at once carry 188 Mbit/s",
    );
    // A slow path does not test a fast link.
    let slow = |light| DuplexReadings {
        capacity: Some(BitRate::from_bps(10_000_000)),
        ..readings(&forced_full(), &full, light, saturating(94.0))
    };
    assert_said(&slow(clean), cannot_tell, Low, "too fast for these runs");
    let shared = DuplexReadings {
        saturating: saturating(47.0),
        ..slow(clean)
    };
    assert_said(&shared, half, Medium, "may have fallen back");
}

#[test]
fn counters_of_a_link_that_cannot_be_mismatched_decide_nothing() {
    let late = EndErrors {
        late_collisions: 12,
        ..NO_ERRORS
    };
    let broken = EndErrors {
        bad_frames_together: 40,
        ..NO_ERRORS
    };
    let readings = |near: &InterfaceLink, errors| DuplexReadings {
        near_errors: Some(errors),
        ..between(near, &negotiated_full())
    };
    for (link, errors) in [
        (tap(), late),
        (gigabit(), late),
        (negotiated_full(), late),
        (negotiated_full(), broken),
    ] {
        let statement = DuplexStatement::from_readings(&readings(&link, errors));
        assert_eq!(statement.finding, DuplexFinding::CannotTell, "{link:?}");
    }
    assert_said(
        &readings(&forced_half(), late),
        MISMATCH_NEAR,
        High,
        "12 late",
    );
    assert_said(
        &readings(&forced_full(), broken),
        MISMATCH_FAR,
        High,
        "40 CRC (FCS) errors",
    );
    let both = DuplexReadings {
        far_link: Some((&forced_full()).into()),
        far_errors: Some(broken),
        ..readings(&parallel_half(), late)
    };
    assert_said(&both, MISMATCH_NEAR, High, "12 late collisions");
    let two = DuplexReadings {
        far_link: Some((&forced_half()).into()),
        far_errors: Some(late),
        ..readings(&forced_half(), late)
    };
    assert_said(
        &two,
        DuplexFinding::Mismatch { half: None },
        High,
        "12 late collisions",
    );
    // A mismatch on a link that the light runs loaded would have lost some of them.
    let clean = DuplexReadings {
        light: light(0),
        ..readings(&forced_half(), late)
    };
    assert_said(
        &clean,
        DuplexFinding::CannotTell,
        Low,
        "lose nothing at a light load",
    );
}

#[test]
fn crc_errors_by_chance_are_no_mismatch() {
    let errors = |bad_frames_together| DuplexReadings {
        near_errors: Some(EndErrors {
            bad_frames_together,
            ..NO_ERRORS
        }),
        ..DuplexReadings::default()
    };
    assert_said(
        &errors(9),
        DuplexFinding::CannotTell,
        Low,
        "there were no runs between both ends",
    );
    assert_said(&errors(10), MISMATCH_FAR, Medium, "10 CRC (FCS) errors");
}

#[test]
fn an_invented_rate_is_no_gigabit_ethernet() {
    let veth = InterfaceLink {
        kind: Some("veth".into()),
        ..ethernet(10_000, DuplexMode::Full, false)
    };
    let readings = |link: &InterfaceLink| DuplexReadings {
        capacity: Some(BitRate::from_bps(940_000_000)),
        interface_rates: Some(rates(10_000.0, 10_000.0)),
        ..between(link, link)
    };
    let cannot_tell = DuplexFinding::CannotTell;
    assert_said(
        &readings(&veth),
        cannot_tell,
        Low,
        "there were no runs between both ends",
    );
    let own = DuplexReadings {
        interface_rates: None,
        ..readings(&gigabit())
    };
    assert_said(&own, DuplexFinding::Full, High, "1 Gbit/s or more");
}

#[test]
fn growth_of_counters_becomes_the_errors_of_an_end() {
    let earlier = LinkErrors {
        late_collisions: Some(100),
        rx_crc_errors: Some(7),
        ..LinkErrors::default()
    };
    let later = LinkErrors {
        late_collisions: Some(112),
        rx_crc_errors: Some(47),
        ..earlier
    };
    let alone = earlier.since(&earlier);
    let errors = EndErrors::from_growth(&alone, &later.since(&earlier));
    let expected = EndErrors {
        late_collisions: 12,
        bad_frames_alone: 0,
        bad_frames_together: 40,
    };
    assert_eq!(errors, expected);
}

#[test]
fn an_interface_that_says_nothing_changes_nothing() {
    let silent = [
        tap(),
        InterfaceLink::default(),
        InterfaceLink {
            link_detected: Some(false),
            ..forced_half()
        },
        InterfaceLink {
            hardware_type: Some(772),
            ..forced_half()
        },
    ];
    let lights = [None, light(0), light(180), light(1999)];
    for light in lights {
        for saturating in [None, saturating(94.0), saturating(60.0), saturating(47.0)] {
            let without = DuplexReadings {
                light,
                saturating,
                capacity: Some(BitRate::from_bps(95_000_000)),
                ..DuplexReadings::default()
            };
            for link in &silent {
                let with = DuplexReadings {
                    near_link: Some(link.into()),
                    far_link: Some((&tap()).into()),
                    is_one_hop: true,
                    ..without
                };
                assert_eq!(
                    DuplexStatement::from_readings(&with),
                    DuplexStatement::from_readings(&without)
                );
            }
        }
    }
}
