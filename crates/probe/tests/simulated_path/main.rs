//! Whole paths, probed in virtual time.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod network;

use caudal_core::path::{
    HopAnswering, HostAnswer, MtuEvidence, PathLinkClass, PathReport, PathRound,
    StatementConfidence,
};
use caudal_core::warning::WarningCode;
use caudal_probe::prober::{PathObserver, PathSettings, ProbeError, ProbedPath, probe_path};
use std::time::Duration;

use network::{HOST, SimulatedHop, SimulatedNetwork};

/// An observer that counts rounds and ends probing after some.
struct Watch {
    rounds: usize,
    max_rounds: usize,
}

impl PathObserver for Watch {
    fn round(&mut self, round: PathRound) {
        assert!(round.at_s >= 0.0);
        self.rounds += 1;
    }

    fn is_stopped(&self) -> bool {
        self.rounds >= self.max_rounds
    }
}

fn probed(network: &mut SimulatedNetwork, settings: &PathSettings) -> ProbedPath {
    let mut watch = Watch {
        rounds: 0,
        max_rounds: usize::MAX,
    };
    let probed = probe_path(network, settings, &mut watch).unwrap();
    assert!(watch.rounds > 3);
    probed
}

fn settings(seed: u64) -> PathSettings {
    PathSettings::new(HOST, 1500, seed)
}

fn rates(rates: &[u64]) -> Vec<SimulatedHop> {
    rates.iter().map(|rate| SimulatedHop::of(*rate)).collect()
}

/// The capacity of the link to this hop is within `part` of `rate`.
fn assert_capacity(report: &PathReport, ttl: u8, rate: f64, part: f64) {
    let link = report.link(ttl).unwrap();
    let capacity = link.capacity_bps.unwrap_or_else(|| panic!("{link:#?}"));
    let off = capacity.mean / rate - 1.0;
    assert!(off.abs() <= part, "hop {ttl}: {off:+.3}: {capacity:?}");
}

fn codes(probed: &ProbedPath) -> Vec<WarningCode> {
    probed.warnings.iter().map(|one| one.code.clone()).collect()
}

#[test]
fn each_link_of_a_path_has_its_capacity() {
    for seed in 1..=5 {
        let mut network = SimulatedNetwork::of(rates(&[100_000_000, 10_000_000, 50_000_000]), seed);
        let probed = probed(&mut network, &settings(seed));
        let report = &probed.report;
        assert_eq!(report.hops.len(), 3);
        assert_eq!(report.host_answer, HostAnswer::PortUnreachable);
        assert_capacity(report, 1, 100e6, 0.06);
        assert_capacity(report, 2, 10e6, 0.06);
        assert_capacity(report, 3, 50e6, 0.1);
        assert_eq!(report.narrow.as_ref().unwrap().ttl, 2);
        assert!(report.cost.elapsed_s < 60.0, "{:?}", report.cost);
        let most = report.hops.iter().map(|hop| hop.probes).max().unwrap();
        assert!(most as f64 <= 20.0 * report.cost.elapsed_s + 20.0);
        assert_eq!(codes(&probed), []);
    }
}

#[test]
fn a_shaped_chain_is_told_from_links_that_serialise() {
    let hops = [100_000_000, 10_000_000, 50_000_000];
    let hops = hops.iter().map(|rate| SimulatedHop::shaped(*rate, 1600));
    let mut network = SimulatedNetwork::of(hops.collect(), 7);
    let report = probed(&mut network, &settings(7)).report;
    for ttl in 1..=2 {
        let link = report.link(ttl).unwrap();
        assert_eq!(link.class, PathLinkClass::Shaped, "{link:#?}");
    }
    assert_capacity(&report, 1, 100e6, 0.05);
    assert_capacity(&report, 2, 10e6, 0.05);
    // Behind it a faster one does not show, and the reason says so with the rate up to there.
    let behind = report.link(3).unwrap();
    assert_eq!(behind.class, PathLinkClass::TooFast);
    let reason = behind.reason.to_string();
    let is_up_to_there = ["faster than 10.", "faster than 9.9"]
        .iter()
        .any(|words| reason.contains(words));
    assert!(is_up_to_there, "{reason}");
}

#[test]
fn probes_that_leave_late_behind_their_primers_hide_no_shaper() {
    for seed in 1..=3 {
        let hops = [20_000_000, 5_000_000].map(|rate| SimulatedHop::shaped(rate, 1600));
        let mut network = SimulatedNetwork::of(hops.to_vec(), seed);
        network.late_behind_primers = 20;
        let report = probed(&mut network, &settings(seed)).report;
        for (ttl, rate) in [(1, 20e6), (2, 5e6)] {
            let link = report.link(ttl).unwrap();
            assert_eq!(link.class, PathLinkClass::Shaped, "{link:#?}");
            assert_capacity(&report, ttl, rate, 0.05);
        }
    }
}

/// What ICMPv6 quotes of a packet: as much as leaves a message of 1280 bytes (RFC 4443 section 2.4).
const QUOTE_V6: u64 = 1232;

#[test]
fn answers_that_grow_with_probes_are_told_from_the_probes() {
    for seed in 1..=3 {
        let shaped = [100_000_000, 10_000_000].map(|rate| {
            let mut hop = SimulatedHop::shaped(rate, 1600);
            hop.max_quote = QUOTE_V6;
            hop
        });
        let mut network = SimulatedNetwork::of(shaped.to_vec(), seed);
        let report = probed(&mut network, &settings(seed)).report;
        assert_capacity(&report, 1, 100e6, 0.05);
        assert_capacity(&report, 2, 10e6, 0.05);
        let serialising = [100_000_000, 10_000_000].map(|rate| {
            let mut hop = SimulatedHop::of(rate);
            hop.max_quote = QUOTE_V6;
            hop
        });
        let mut network = SimulatedNetwork::of(serialising.to_vec(), seed);
        let report = probed(&mut network, &settings(seed)).report;
        assert_capacity(&report, 1, 100e6, 0.06);
        assert_capacity(&report, 2, 10e6, 0.06);
        let link = report.link(2).unwrap();
        assert_eq!(link.class, PathLinkClass::Serialising);
        assert_eq!(link.confidence, StatementConfidence::Medium);
    }
}

#[test]
fn a_limit_on_answers_is_no_loss_and_neither_wrong_nor_longer() {
    for seed in 1..=4 {
        let hops = rates(&[100_000_000, 10_000_000, 50_000_000]);
        let hops = hops.into_iter().map(|hop| hop.with_limit(1.0, 6.0));
        let mut network = SimulatedNetwork::of(hops.collect(), seed);
        let probed = probed(&mut network, &settings(seed));
        let report = &probed.report;
        assert_capacity(report, 2, 10e6, 0.06);
        for (ttl, rate) in [(1, 100e6), (2, 10e6), (3, 50e6)] {
            let link = report.link(ttl).unwrap();
            if let Some(capacity) = link.capacity_bps {
                let (low, high) = (capacity.low / 1.2, capacity.high * 1.2);
                assert!((low..=high).contains(&rate), "{seed}: {link:#?}");
            }
        }
        assert!(report.cost.elapsed_s < 61.0, "{:?}", report.cost);
        for hop in &report.hops {
            assert_eq!(hop.answering, HopAnswering::RateLimited);
            assert_eq!(hop.answer_interval_ms, Some(1000.0), "{hop:?}");
            assert_eq!(hop.loss(), None);
        }
        assert_eq!(codes(&probed), [WarningCode::HopRateLimited]);
    }
}

#[test]
fn without_capacities_a_limit_is_no_loss_either() {
    for seed in 1..=10 {
        let hops = rates(&[100_000_000, 10_000_000, 50_000_000]);
        let hops = hops.into_iter().map(|hop| hop.with_limit(1.0, 6.0));
        let mut network = SimulatedNetwork::of(hops.collect(), seed);
        let mut settings = settings(seed);
        settings.capacity = false;
        let report = probed(&mut network, &settings).report;
        assert!(report.cost.elapsed_s < 20.0, "{:?}", report.cost);
        for hop in &report.hops {
            assert!(hop.loss().is_none_or(|loss| loss == 0.0), "{seed}: {hop:?}");
        }
    }
}

#[test]
fn where_a_limit_leaves_too_few_answers_that_is_the_reason() {
    let hops = rates(&[1_000_000_000, 1_000_000_000]);
    let hops = hops.into_iter().map(|hop| hop.with_limit(0.2, 3.0));
    let mut network = SimulatedNetwork::of(hops.collect(), 5);
    let mut settings = settings(5);
    settings.time = std::time::Duration::from_secs(15);
    let probed = probed(&mut network, &settings);
    let report = &probed.report;
    assert!(report.cost.elapsed_s < 16.0, "{:?}", report.cost);
    let why = report.narrow_unknown.as_ref().unwrap().to_string();
    assert!(
        why.starts_with("hops answer one probe in") && why.contains("in 15 s"),
        "{why}"
    );
}

#[test]
fn a_routing_loop_is_named_soon() {
    for (limit, turn) in [(1.0, 2), (1000.0, 3)] {
        let hops = rates(&[100_000_000; 5]);
        let hops = hops.into_iter().map(|hop| hop.with_limit(limit, 6.0));
        let mut network = SimulatedNetwork::of(hops.collect(), 16);
        network.routing_loop = Some((1, turn));
        let probed = probed(&mut network, &settings(16));
        let report = &probed.report;
        let found = report.routing_loop.as_ref().unwrap();
        assert_eq!((found.first_ttl, usize::from(found.hops)), (2, turn));
        assert_eq!(report.hops.len(), 1 + turn, "{report:#?}");
        assert_eq!(codes(&probed)[0], WarningCode::RoutingLoop);
        assert!(!codes(&probed).contains(&WarningCode::HostSilent));
        assert!(report.cost.elapsed_s < 30.0, "{:?}", report.cost);
    }
}

#[test]
fn a_router_without_a_route_has_its_hop_whatever_probe_it_answers_first() {
    for seed in 1..=10 {
        for first in [0, 1] {
            let hops = rates(&[100_000_000; 3]);
            let hops = hops.into_iter().map(|hop| hop.with_limit(1.0, 6.0));
            let mut hops: Vec<SimulatedHop> = hops.collect();
            hops[first].has_no_route = true;
            // What it has answered before leaves it two.
            hops[first] = hops[first].clone().with_limit(1.0, 2.0);
            let mut network = SimulatedNetwork::of(hops, seed);
            let probed = probed(&mut network, &settings(seed));
            let report = &probed.report;
            assert_eq!(report.host_answer, HostAnswer::Refused);
            let refusal = report.refusal.as_ref().unwrap();
            let ttl = first as u8 + 1;
            assert_eq!((refusal.ttl, refusal.icmp_code), (Some(ttl), 1), "{seed}");
            assert_eq!(report.hops.len(), first + 1, "{seed}: {report:#?}");
            assert!(report.hops.iter().all(|hop| hop.address.is_some()));
            assert_eq!(codes(&probed)[0], WarningCode::HostSilent);
            assert!(report.cost.elapsed_s < 61.0, "{:?}", report.cost);
        }
    }
}

#[test]
fn losses_are_not_taken_for_a_limit() {
    let mut hops = rates(&[100_000_000, 10_000_000, 50_000_000]);
    hops[1].answer_loss = 60;
    let mut network = SimulatedNetwork::of(hops, 15);
    let probed = probed(&mut network, &settings(15));
    let hop = probed.report.hop(2).unwrap();
    assert_eq!(hop.answering, HopAnswering::Answers, "{hop:?}");
    assert!((hop.loss().unwrap() - 0.6).abs() < 0.15, "{hop:?}");
    assert!(!codes(&probed).contains(&WarningCode::HopRateLimited));
}

#[test]
fn a_silent_hop_does_not_hide_the_next() {
    let mut hops = rates(&[100_000_000, 10_000_000, 50_000_000, 100_000_000]);
    hops[1].is_silent = true;
    let mut network = SimulatedNetwork::of(hops, 4);
    let report = probed(&mut network, &settings(4)).report;
    assert_eq!(report.hop(2).unwrap().answering, HopAnswering::Silent);
    assert_eq!(report.hop(3).unwrap().answering, HopAnswering::Answers);
    let link = report.link(3).unwrap();
    assert_eq!(link.from_ttl, 1);
    // Both links in series.
    assert_capacity(&report, 3, 1e9 / (100.0 + 20.0), 0.1);
    assert!(report.link(2).is_none());
}

#[test]
fn answers_that_quote_the_header_only_are_matched_by_their_address() {
    let mut hops = rates(&[100_000_000, 10_000_000, 50_000_000]);
    for hop in &mut hops {
        hop.max_quote = 28;
    }
    let mut network = SimulatedNetwork::of(hops, 5);
    let mut settings = settings(5);
    settings.routes = false;
    let report = probed(&mut network, &settings).report;
    assert_capacity(&report, 2, 10e6, 0.06);
    assert_capacity(&report, 3, 50e6, 0.1);
}

#[test]
fn routes_are_counted() {
    for (routers, expected) in [(1, 1), (2, 2), (4, 4)] {
        let mut hops = rates(&[100_000_000; 4]);
        hops[1].routers = routers;
        let mut network = SimulatedNetwork::of(hops, routers);
        let mut settings = settings(routers);
        settings.capacity = false;
        let report = probed(&mut network, &settings).report;
        let routes = report.routes.unwrap();
        assert_eq!(routes.routes, expected, "{routes:?}");
        assert!(routes.is_complete);
        let others = report.hop(2).unwrap().other_addresses.len() as u64;
        assert_eq!(others, routers - 1);
    }
}

#[test]
fn the_path_mtu_is_found_with_and_without_icmp() {
    for drops_large in [false, true] {
        let mut hops = rates(&[100_000_000; 4]);
        hops[2].mtu = 1400;
        hops[2].drops_large = drops_large;
        let mut network = SimulatedNetwork::of(hops, 6);
        let mut settings = settings(6);
        settings.capacity = false;
        let probed = probed(&mut network, &settings);
        let mtu = probed.report.mtu.clone().unwrap();
        assert_eq!((mtu.bytes.get(), mtu.shrinks_before_ttl), (1400, Some(3)));
        let (evidence, warnings) = if drops_large {
            (MtuEvidence::Unanswered, vec![WarningCode::PathMtuBlackHole])
        } else {
            (MtuEvidence::Icmp, Vec::new())
        };
        assert_eq!((mtu.evidence, codes(&probed)), (evidence, warnings));
    }
    let mut network = SimulatedNetwork::of(rates(&[100_000_000; 3]), 6);
    let mtu = probed(&mut network, &settings(6)).report.mtu.unwrap();
    assert_eq!(
        (mtu.bytes.get(), mtu.evidence),
        (1500, MtuEvidence::WholeMtu)
    );
}

#[test]
fn a_hidden_switch_is_suspected() {
    let mut hops = rates(&[1_000_000_000, 100_000_000]);
    hops[1].has_switch = true;
    let mut network = SimulatedNetwork::of(hops, 8);
    let report = probed(&mut network, &settings(8)).report;
    let link = report.link(2).unwrap();
    assert_eq!(link.class, PathLinkClass::PerhapsHiddenSwitch, "{link:#?}");
}

#[test]
fn a_route_that_changes_is_reported_and_not_mixed_up() {
    let mut network = SimulatedNetwork::of(rates(&[100_000_000, 10_000_000, 50_000_000]), 9);
    network.later = Some((4_000_000_000, 1));
    let probed = probed(&mut network, &settings(9));
    let change = probed.report.changes.first().unwrap();
    assert_eq!(change.ttl, 2);
    assert!(change.at_s > 4.0 && change.at_s < 6.0);
    assert!(codes(&probed).contains(&WarningCode::PathChanged));
    assert_capacity(&probed.report, 2, 10e6, 0.06);
}

fn watched(seed: u64, time: u64) -> PathSettings {
    PathSettings {
        time: Duration::from_secs(time),
        watch: Some(Duration::from_secs(1)),
        ..settings(seed)
    }
}

#[test]
fn a_path_that_is_watched_is_asked_once_a_period_until_the_end() {
    let mut hops = rates(&[100_000_000, 10_000_000, 50_000_000]);
    hops[1].answer_loss = 10;
    let mut network = SimulatedNetwork::of(hops, 3);
    let probed = probed(&mut network, &watched(3, 600));
    let report = &probed.report;
    assert_eq!(report.cut_short, None);
    assert!(report.links.is_empty() && report.narrow_unknown.is_none());
    for hop in &report.hops {
        // A hop is not asked again while an answer is waited for.
        assert!((540..=601).contains(&hop.probes), "{hop:#?}");
        assert!(hop.rtt_ms.is_some() && hop.reported_rtt_ms.is_none());
    }
    let loss = report.hops[1].loss().unwrap();
    assert!((0.05..0.15).contains(&loss), "{loss}");
    assert_eq!(report.hops[2].loss(), Some(0.0));
}

#[test]
fn a_watched_path_that_changes_or_becomes_longer_is_followed() {
    let mut network = SimulatedNetwork::of(rates(&[100_000_000, 10_000_000, 50_000_000]), 9);
    network.later = Some((20_000_000_000, 1));
    let probed_path = probed(&mut network, &watched(9, 60));
    let change = probed_path.report.changes.first().unwrap();
    assert_eq!(change.ttl, 2);
    assert!((20.0..24.0).contains(&change.at_s), "{change:?}");

    let mut network = SimulatedNetwork::of(rates(&[100_000_000; 5]), 9);
    network.shorter_until = Some((20_000_000_000, 3));
    let longer = probed(&mut network, &watched(9, 60));
    let report = &longer.report;
    assert_eq!(report.hops.len(), 5, "{report:#?}");
    assert_eq!(report.host().unwrap().ttl, 5);
    assert_eq!(report.host_answer, HostAnswer::PortUnreachable);
    assert!(report.changes.iter().any(|change| change.ttl == 3));
}

#[test]
fn a_firewall_that_answers_for_the_host_is_named() {
    let mut hops = rates(&[100_000_000, 10_000_000, 50_000_000]);
    hops[1].refuses = true;
    let mut network = SimulatedNetwork::of(hops, 10);
    let probed = probed(&mut network, &settings(10));
    assert_eq!(probed.report.host_answer, HostAnswer::Refused);
    assert_eq!(probed.report.hops.len(), 2);
    assert_eq!(codes(&probed), [WarningCode::HostAnsweredFor]);
    assert_capacity(&probed.report, 2, 10e6, 0.06);
}

#[test]
fn a_host_that_is_silent_ends_a_path_that_is_known_up_to_it() {
    let mut network = SimulatedNetwork::of(rates(&[100_000_000, 10_000_000, 50_000_000]), 11);
    network.is_host_silent = true;
    let probed = probed(&mut network, &settings(11));
    let report = &probed.report;
    assert_eq!(report.host_answer, HostAnswer::Nothing);
    assert_eq!(report.hops.len(), 3);
    assert_eq!(report.hops[2].answering, HopAnswering::NothingFromHere);
    assert_eq!(codes(&probed), [WarningCode::HostSilent]);
    assert_capacity(report, 2, 10e6, 0.06);
}

#[test]
fn a_path_on_which_nothing_answers_ends_soon() {
    let mut hops = rates(&[100_000_000; 4]);
    for hop in &mut hops {
        hop.is_silent = true;
    }
    let mut network = SimulatedNetwork::of(hops, 12);
    network.is_host_silent = true;
    let probed = probed(&mut network, &settings(12));
    assert!(probed.report.cost.elapsed_s < 30.0);
    assert_eq!(
        probed.report.hops[0].answering,
        HopAnswering::NothingFromHere
    );
    assert_eq!(codes(&probed), [WarningCode::HostSilent]);
    assert!(probed.report.links.is_empty() && probed.report.mtu.is_none());
}

#[test]
fn what_was_found_before_the_end_is_not_lost() {
    for max_rounds in 1..40 {
        let mut network = SimulatedNetwork::of(rates(&[100_000_000, 10_000_000]), 13);
        let mut watch = Watch {
            rounds: 0,
            max_rounds,
        };
        let probed = probe_path(&mut network, &settings(13), &mut watch).unwrap();
        if watch.rounds >= max_rounds {
            assert_eq!(codes(&probed)[0], WarningCode::CutShort);
        }
        assert!(probed.report.cost.elapsed_s < 60.0);
    }
}

#[test]
fn an_interface_that_goes_down_ends_it_with_what_was_found() {
    let network = || SimulatedNetwork::of(rates(&[100_000_000, 10_000_000]), 14);
    let mut cut = network();
    cut.is_cut_at = Some(2_000_000_000);
    let probed = probed(&mut cut, &settings(14));
    let why = probed.report.cut_short.clone().unwrap().to_string();
    assert!(why.starts_with("no more probes can be sent"), "{why}");
    assert_eq!(codes(&probed)[0], WarningCode::CutShort);
    assert!(probed.report.cost.elapsed_s < 3.0);
    assert_eq!(probed.report.hops.len(), 2);
    // Where nothing was found, that is the failure.
    let mut cut = network();
    cut.is_cut_at = Some(0);
    let mut watch = Watch {
        rounds: 0,
        max_rounds: usize::MAX,
    };
    let failed = probe_path(&mut cut, &settings(14), &mut watch);
    assert!(matches!(failed, Err(ProbeError::NoRoute(_))), "{failed:?}");
}

#[test]
fn random_networks_end_in_bounded_time() {
    for seed in 0..60_u64 {
        let mut rng = caudal_stats::random::SplitMix64::new(seed);
        let count = 1 + rng.below(12);
        let hops = (0..count).map(|_| {
            let mut hop = SimulatedHop::of(1_000_000 << rng.below(10));
            hop.is_silent = rng.below(4) == 0;
            hop.routers = 1 + rng.below(3);
            hop.mtu = 700 + rng.below(800);
            hop.drops_large = rng.below(2) == 0;
            hop.max_quote = [28, 128, 548][rng.below(3) as usize];
            hop.refuses = rng.below(20) == 0;
            match rng.below(3) {
                0 => hop.with_limit(1.0, 6.0),
                _ => hop,
            }
        });
        let mut hops: Vec<SimulatedHop> = hops.collect();
        hops[0].mtu = 1500;
        let mut network = SimulatedNetwork::of(hops, seed);
        network.is_host_silent = rng.below(5) == 0;
        let probed = probed(&mut network, &settings(seed));
        let elapsed = probed.report.cost.elapsed_s;
        assert!(elapsed < 90.0, "seed {seed}: {elapsed}");
    }
}
