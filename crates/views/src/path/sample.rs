//! Made-up paths for the tests of what is shown.

use caudal_core::path::{
    HopAnswering, HostAnswer, MtuEvidence, NarrowPathLink, PathBetweenEnds, PathDuplex, PathHop,
    PathLink, PathLinkClass, PathMtu, PathReport, PathResult, PathTarget, ProbingCost,
    ProbingMeans, RouteChange, RouteCount, StatementConfidence,
};
use caudal_core::plan::{PathPlanRecord, PlanRecord};
use caudal_core::run::{Run, RunHeader, RunResult, SCHEMA, Tool};
use caudal_core::units::ByteCount;
use caudal_stats::{DistributionSummary, Estimate, IntervalMethod};
use serde_json::json;
use std::net::{IpAddr, Ipv4Addr};

/// A run with this result.
pub(super) fn run(report: PathReport) -> Run {
    let header = RunHeader {
        schema: SCHEMA.to_owned(),
        id: "0".repeat(32),
        started: String::new(),
        tool: Tool {
            name: "caudal".into(),
            version: None,
            compatible_with: None,
        },
        command: None,
    };
    let plan = PlanRecord::Path(PathPlanRecord::default());
    Run {
        result: Some(RunResult::Path(Box::new(PathResult {
            report,
            under_load: None,
        }))),
        ..Run::new(header, plan)
    }
}

const fn router(ttl: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, 0, ttl))
}

/// A hop that answers after about so many ms as its TTL is.
pub(super) fn hop(ttl: u8) -> PathHop {
    let ms = f64::from(ttl);
    PathHop {
        answering: HopAnswering::Answers,
        address: Some(router(ttl)),
        probes: 40,
        rtt_ms: Some(DistributionSummary {
            n: 40,
            min: ms,
            mean: ms + 0.5,
            sd: Some(0.1),
            p50: ms + 0.4,
            p90: None,
            p99: None,
            p99_9: None,
            max: ms + 1.0,
            mean_low: ms + 0.4,
            mean_high: ms + 0.6,
            confidence: 0.95,
            method: IntervalMethod::BatchMeansT,
            mean_trusted: true,
        }),
        ..PathHop::unknown(ttl)
    }
}

/// A capacity with 2.5 % on each side.
fn capacity(bps: f64) -> Estimate {
    Estimate {
        mean: bps,
        low: bps * 0.975,
        high: bps * 1.025,
        confidence: 0.95,
        n: 40,
        method: IntervalMethod::TheilSenBootstrap,
    }
}

/// A serialising link from the hop before.
pub(super) fn link(ttl: u8, bps: f64) -> PathLink {
    PathLink {
        ttl,
        from_ttl: ttl - 1,
        class: PathLinkClass::Serialising,
        confidence: StatementConfidence::High,
        capacity_bps: Some(capacity(bps)),
        at_least_bps: None,
        reason: "the delay grows with the size".into(),
    }
}

/// A path with these hops and links, the narrow one before this hop.
fn path(hops: Vec<PathHop>, links: Vec<PathLink>, narrow_ttl: u8) -> PathReport {
    let host = hops.last().and_then(|hop| hop.address);
    let narrow = links.iter().find(|link| link.ttl == narrow_ttl);
    let narrow = narrow.and_then(|link| {
        Some(NarrowPathLink {
            ttl: link.ttl,
            capacity_bps: link.capacity_bps?,
            contested_by: Vec::new(),
        })
    });
    PathReport {
        target: PathTarget {
            host: "host.example".into(),
            address: Some(host.unwrap_or(router(200))),
            port: 33434,
        },
        host_answer: HostAnswer::PortUnreachable,
        refusal: None,
        routing_loop: None,
        flows: Vec::new(),
        marks: Vec::new(),
        narrow_unknown: narrow.is_none().then(|| "nothing answers".into()),
        narrow,
        hops,
        links,
        mtu: None,
        routes: None,
        changes: Vec::new(),
        between_ends: None,
        duplex: None,
        cost: ProbingCost::default(),
        means: ProbingMeans::default(),
        confidence: 0.95,
        cut_short: None,
    }
}

/// 99.4, 9.94 and 49.7 Mbit/s.
pub(super) fn three_hops() -> PathReport {
    let mut host = hop(3);
    host.name = Some("host.example".into());
    let links = vec![link(1, 99.4e6), link(2, 9.94e6), link(3, 49.7e6)];
    PathReport {
        mtu: Some(PathMtu {
            bytes: ByteCount::new(1400),
            local_bytes: ByteCount::new(1500),
            to_ttl: 3,
            evidence: MtuEvidence::Icmp,
            shrinks_before_ttl: Some(2),
        }),
        routes: Some(RouteCount {
            flows: 6,
            routes: 1,
            is_complete: true,
        }),
        cost: ProbingCost {
            packets: 480,
            bytes: ByteCount::new(512_000),
            answers: 470,
            elapsed_s: 21.02,
        },
        ..path(vec![hop(1), hop(2), host], links, 2)
    }
}

/// A second route at the second hop, and a change to it.
pub(super) fn with_routes(report: &mut PathReport) {
    let other = [1, 2].map(|net| IpAddr::V4(Ipv4Addr::new(10, net, 0, 2)));
    report.hops[1].other_addresses = other.to_vec();
    report.routes = Some(RouteCount {
        flows: 16,
        routes: 2,
        is_complete: false,
    });
    report.changes = vec![RouteChange {
        at_s: 3.21,
        ttl: 2,
        from: router(2),
        to: other[0],
    }];
}

/// The second of three hops does not answer.
pub(super) fn silent_hop() -> PathReport {
    let silent = PathHop {
        answering: HopAnswering::Silent,
        probes: 10,
        unanswered: 10,
        ..PathHop::unknown(2)
    };
    let both = PathLink {
        from_ttl: 1,
        ..link(3, 9.94e6)
    };
    path(vec![hop(1), silent, hop(3)], vec![link(1, 99.4e6), both], 3)
}

/// Nothing answers, up to a TTL of 30.
pub(super) fn nothing() -> PathReport {
    let hops = (1..=30).map(PathHop::unknown).collect();
    PathReport {
        host_answer: HostAnswer::Nothing,
        cut_short: Some("^C".into()),
        ..path(hops, Vec::new(), 0)
    }
}

/// This machine itself.
pub(super) fn loopback() -> PathReport {
    PathReport {
        narrow_unknown: Some("packets to this machine cross no link".into()),
        ..path(Vec::new(), Vec::new(), 0)
    }
}

/// Addresses of IPv6, a name of 253 characters and one that would steer a terminal.
pub(super) fn hostile() -> PathReport {
    let mut report = three_hops();
    let address = "2001:db8:1111:2222:3333:4444:5555:6666";
    for hop in &mut report.hops {
        hop.address = address.parse().ok();
        hop.other_addresses = vec![hop.address.unwrap_or(router(1)); 12];
        hop.return_hops = Some(9);
    }
    report.hops[0].name = Some("a".repeat(253).into());
    report.hops[1].address = Some(router(2));
    report.hops[1].name = Some("\u{1b}[2J\u{202e}evil".into());
    report.links[1].class = PathLinkClass::PerhapsHiddenSwitch;
    report.links[1].confidence = StatementConfidence::Low;
    report.links[1].reason = "r".repeat(300).into();
    report
}

/// Thirty hops.
pub(super) fn thirty_hops() -> PathReport {
    let links = (1..=30).map(|ttl| link(ttl, 1e6 * f64::from(ttl)));
    path((1..=30).map(hop).collect(), links.collect(), 1)
}

/// What both ends of the path found: 9.94 Mbit/s to the other end beside other traffic, a shaper on the download.
pub(super) fn between_ends() -> PathBetweenEnds {
    let delay = json!({"n": 200, "min": 10_000.0, "mean": 10_100.0, "p50": 10_080.0, "max": 11_000.0, "mean_low": 10_000.0,
        "mean_high": 10_200.0, "confidence": 0.95, "method": "batch_means_t", "mean_trusted": true});
    let one_way = json!({"delay_us": delay, "bound_us": 1.0, "ipdv_mean_abs_us": 10.0, "pdv_p50_us": 40.0,
        "pdv_p90_us": 80.0, "pdv_max_us": 1000.0});
    let rtt = json!({"n": 200, "min": 20_000.0, "mean": 20_500.0, "p50": 20_400.0, "max": 22_000.0, "mean_low": 20_400.0,
        "mean_high": 20_600.0, "confidence": 0.95, "method": "batch_means_t", "mean_trusted": true});
    let bounds = |bps: f64| json!({"mean": bps, "low": 0.99 * bps, "high": 1.01 * bps, "confidence": 0.0, "n": 2, "method": "error_bound"});
    let window = |bps: u64, sufficiency: &str, flows: Option<u64>| {
        json!({"rtt_us": 20_000.0, "rtt_source": "messages", "rate_bps": bps, "rate_source": "narrow_link",
            "bdp_bytes": bps / 400, "bdp_segments": 17, "needed_bytes": bps / 320, "receiver_max_bytes": 20_000,
            "sender_max_bytes": 2_097_152, "allowed_bps": 8_000_000, "flows_needed": flows, "sufficiency": sufficiency})
    };
    let set = "sysctl -w net.ipv4.tcp_rmem=\"4096 131072 62500\"";
    serde_json::from_value(json!({
        "peer": "10.0.0.3:5201",
        "baseline": {"sent": 200, "lost": 0, "late": 0, "duplicate": 0, "rtt_us": rtt, "up": one_way, "down": one_way},
        "directions": [
            {
                "direction": "up",
                "narrow": {"capacity_bps": bounds(9.94e6), "evidence": "bulks", "bulk_packets": 8,
                    "confirmed_by_bps": bounds(9.95e6), "trains_bps": bounds(8.1e6), "longest_train_bytes": 76_900,
                    "confidence": "high", "reason": "bulks of 8 packets that met no queue take 9825.4 µs; shorter ones agree"},
                "available": {"low_bps": 4_753_340, "high_bps": 4_901_881, "grey_low_bps": 4_800_000,
                    "grey_high_bps": 4_850_000, "fleets": 7, "unfinished": false},
                "window": window(9_940_000, "receiver_too_small", Some(2)),
                "next_step": {"remedy": "set_kernel", "end": "receiver", "command": set, "text": ""},
            },
            {
                "direction": "down",
                "narrow": {"capacity_bps": bounds(98.8e6), "evidence": "pairs",
                    "shaper": {"rate_bps": bounds(10e6), "bucket_bytes": 60_000}, "longest_train_bytes": 1_187_336,
                    "confidence": "medium", "reason": "trains arrive at once up to 60 000 B and at 10.00 Mbit/s from then on"},
                "available_unknown": "a token bucket is in the way",
                "window": window(10_000_000, "sufficient", None),
                "next_step": {"remedy": "measure_throughput", "text": ""},
            },
        ],
        "cost": {"packets": 38_582, "bytes": 49_841_800, "answers": 30_187, "elapsed_s": 123.52},
    }))
    .unwrap()
}

/// A duplex mismatch whose half-duplex end is this one.
pub(super) fn duplex() -> PathDuplex {
    serde_json::from_value(json!({
        "mode": "mismatch_near_half", "confidence": "high",
        "reason": "8.9 % are lost in both directions at once only, small datagrams from the near end least",
        "near": {
            "link": {"interface": "eth0", "hardware_type": 1, "is_wireless": false, "speed_mbps": 100, "duplex": "half"},
            "growth_alone": {}, "growth_together": {"late_collisions": 43, "rx_crc_errors": 2},
            "reason": "eth0 counted 43 late collisions, so it is half duplex and its partner does not defer to it",
            "confidence": "high",
            "remedy": "enable autonegotiation at both ends of the link, with all modes advertised",
        },
        "runs": [
            {"kind": "light", "both_ways": false, "direction": "up", "load": 0.1, "sent": 2000, "lost": 0},
            {"kind": "light", "both_ways": true, "direction": "up", "load": 0.1, "sent": 2000, "lost": 178},
            {"kind": "saturating", "both_ways": true, "direction": "down", "goodput_bps": 45_000_000},
        ],
    }))
    .unwrap()
}
