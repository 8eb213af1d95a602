//! A study as it might come out: TCP beside UDP on one link, two congestion controls, six loads, three trials each.
//! Every number follows from its place by a formula, so that what is made from it is the same everywhere.

use caudal_core::run::{Environment, Machine, Run};
use caudal_experiment::findings::{
    CaseFindings, CheckedExpectation, Conclusion, FINDINGS_SCHEMA, Findings, FindingsTable,
    MetricFindings, PublishedComparison, Starvation, StarvationStep, TableCell,
};
use caudal_experiment::{FigureFile, FigureKind, FlowKindFile, Scalar};
use caudal_experiment::{InterfaceSeries, TRIAL_SCHEMA, Trial, TrialFlow};
use caudal_stats::{Estimate, mean_interval};
use caudal_store::SampleSeries;
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub const LINK: f64 = 250e6;
const LOADS: [&str; 6] = ["0%", "20%", "40%", "80%", "100%", "400%"];
const CONTROLS: [&str; 2] = ["cubic", "reno"];
const STEP: f64 = 0.2;
const COUNT: usize = 15;

/// A value between −1 and 1 that looks like chance.
pub fn noise(seed: u64) -> f64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x51_7c_c1_b7;
    for shift in [30, 27, 31] {
        state = (state ^ (state >> shift)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    }
    (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

fn id(nth: u64) -> String {
    format!(
        "{:032x}",
        0x3f2a_91c4_77aa_0000_u128 << 64 | u128::from(nth)
    )
}

/// What TCP gets beside UDP at a load.
fn shares(load: f64) -> (f64, f64) {
    let room = 0.956 * LINK;
    let udp = (load * LINK).min(0.952 * LINK);
    ((room - udp).max(0.000_002 * LINK + 4e5), udp)
}

/// A run of a flow: intervals around a rate, one of them missing where `hole` says so.
fn run(kind: &str, rate: f64, offered: f64, seed: u64, hole: Option<usize>) -> Value {
    let intervals: Vec<Value> = (0..COUNT)
        .filter(|nth| Some(*nth) != hole)
        .map(|nth| {
            let rate = rate * (1.0 + 0.04 * noise(seed + nth as u64));
            let start = nth as f64 * STEP;
            let bytes = (rate * STEP / 8.0) as u64;
            let mut interval = json!({
                "start_s": start, "end_s": start + STEP, "bytes": bytes,
                "goodput_bps": bytes as f64 * 8.0 / STEP, "omitted": nth < 5,
            });
            if kind == "tcp" {
                let lossy = nth % 6 == 5;
                interval["tcp"] = json!({
                    "rtt_us": 2000 + nth * 120, "retransmits": u64::from(lossy) * (3 + nth as u64),
                    "cwnd_bytes": if lossy { 14_480 } else { 40_000 + 9_000 * (nth as u64 % 6) },
                });
            } else {
                let sent = offered * STEP / 8.0 / 1448.0;
                let arrived = bytes as f64 / 1448.0;
                interval["udp"] = json!({
                    "datagrams": arrived as u64, "lost": (sent - arrived).max(0.0) as u64,
                    "reordered": nth as u64 % 2, "jitter_rfc3550_us": 80.0 + noise(seed + nth as u64) * 20.0,
                });
            }
            interval
        })
        .collect();
    json!({
        "schema": "caudal.run/1", "id": id(1000 + seed), "tool": {"name": "caudal"}, "plan": {"kind": kind, "peer": "10.0.0.2:5201"},
        "flows": [{"id": 0, "direction": "up", "intervals": intervals}],
    })
}

fn parameters(control: &str, load: &str) -> Vec<(String, Scalar)> {
    vec![
        ("congestion".to_owned(), Scalar::Text(control.to_owned())),
        ("udp_load".to_owned(), Scalar::Text(load.to_owned())),
    ]
}

fn trial(control: &str, load: &str, repeat: u64, position: u64) -> Trial {
    let part = caudal_experiment::parse_number(load).unwrap();
    let seed = position * 100;
    let (tcp, udp) = shares(part);
    let tcp = tcp * (1.0 + 0.015 * noise(seed + 50)) * if control == "reno" { 0.98 } else { 1.0 };
    let flow = |name: &str, kind, run: Value| TrialFlow {
        name: name.to_owned(),
        kind,
        from: format!("{name}1"),
        to: format!("{name}2"),
        probe: name == "ping",
        offered_bps: None,
        offset_s: Some(0.01),
        run: Some(serde_json::from_value(run).unwrap()),
        failure: None,
    };
    let hole = (position == 7).then_some(9);
    let mut flows = vec![flow(
        "tcp",
        FlowKindFile::Tcp,
        run("tcp", tcp, 0.0, seed, hole),
    )];
    let mut metrics = BTreeMap::from([
        ("tcp.goodput".to_owned(), tcp),
        ("tcp.share".to_owned(), (tcp / (LINK / 2.0)).min(1.0)),
        ("ping.rtt".to_owned(), 0.002 + 0.02 * part.min(1.0)),
    ]);
    if part > 0.0 {
        let offered = part * LINK;
        flows.push(flow(
            "udp",
            FlowKindFile::Udp,
            run("udp", udp, offered, seed + 30, None),
        ));
        metrics.insert("udp.goodput".to_owned(), udp);
        metrics.insert("udp.loss".to_owned(), (1.0 - udp / offered).max(0.0));
    }
    flows.push(flow(
        "ping",
        FlowKindFile::RttUdp,
        json!({
            "schema": "caudal.run/1", "id": id(3000 + seed), "tool": {"name": "caudal"},
            "plan": {"kind": "rtt", "clients": 1, "schedule": {"every": {"period_ns": 5_000_000, "poisson": false}}},
        }),
    ));
    Trial {
        schema: TRIAL_SCHEMA.to_owned(),
        id: id(position),
        study: id(0),
        case: key(control, load),
        parameters: parameters(control, load),
        alone: None,
        repeat,
        position,
        started: "2026-11-22T03:00:00.000Z".to_owned(),
        zero_s: 1_795_316_400.0,
        warm_up_s: 1.0,
        measured_s: 2.0,
        flows,
        lab: None,
        interfaces: vec![InterfaceSeries {
            node: "r1".to_owned(),
            interface: "bottleneck".to_owned(),
            link: "bottleneck".to_owned(),
            at_s: (0..=COUNT).map(|nth| nth as f64 * STEP).collect(),
            tx_bytes: (0..=COUNT)
                .map(|nth| (nth as f64 * STEP * LINK / 8.0) as u64)
                .collect(),
            rx_bytes: vec![0; COUNT + 1],
        }],
        predicted: BTreeMap::from([("tcp.goodput".to_owned(), shares(part).0)]),
        metrics,
        discarded: None,
        warnings: if position == 9 {
            vec!["the sender was out of processor for 12 % of the time".to_owned()]
        } else {
            Vec::new()
        },
        captures: BTreeMap::new(),
    }
}

fn key(control: &str, load: &str) -> String {
    format!("congestion={control} udp_load={load}")
}

/// The raw round trips beside the load.
pub fn series(trial: &str) -> Vec<SampleSeries> {
    let position = u64::from_str_radix(&trial[24..], 16).unwrap_or(0);
    let flow = if (position - 1).is_multiple_of(6) {
        1
    } else {
        2
    };
    let values = (0..600).map(|nth| {
        let base = 2e6 + 3.5e6 * ((position - 1) % 6) as f64;
        base * (1.0 + 0.3 * noise(position * 1000 + nth).powi(3))
            + if nth % 97 == 0 { 4e6 } else { 0.0 }
    });
    vec![SampleSeries {
        flow,
        name: "rtt".to_owned(),
        unit: "ns".to_owned(),
        values: values.collect(),
    }]
}

/// All trials.
pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for repeat in 1..=3 {
        for control in CONTROLS {
            for load in LOADS {
                trials.push(trial(control, load, repeat, trials.len() as u64 + 1));
            }
        }
    }
    trials
}

fn estimate(values: &[f64]) -> Estimate {
    mean_interval(values, 0.95).unwrap_or_else(|| Estimate::single(values[0]))
}

fn metric(trials: &[&Trial], name: &str, unit: &'static str) -> Option<MetricFindings> {
    let values: Vec<f64> = trials
        .iter()
        .filter_map(|trial| trial.metrics.get(name).copied())
        .collect();
    (!values.is_empty()).then(|| MetricFindings {
        unit,
        observed: Some(estimate(&values)),
        predicted: trials[0].predicted.get(name).copied(),
        simulated: None,
        published: (name == "tcp.goodput").then(|| trials[0].predicted[name] * 0.98),
        values,
    })
}

/// What the trials add up to.
pub fn findings(trials: &[Trial]) -> Findings {
    let mut cases = Vec::new();
    for control in CONTROLS {
        for load in LOADS {
            let of: Vec<&Trial> = trials
                .iter()
                .filter(|trial| trial.case == key(control, load))
                .collect();
            let metrics = [
                ("tcp.goodput", "bit/s"),
                ("tcp.share", "ratio"),
                ("udp.goodput", "bit/s"),
                ("udp.loss", "share"),
                ("ping.rtt", "s"),
            ];
            cases.push(CaseFindings {
                key: key(control, load),
                title: None,
                parameters: parameters(control, load),
                alone: None,
                n: of.len() as u64,
                reached: Some(load != "80%"),
                metrics: metrics
                    .iter()
                    .filter_map(|(name, unit)| Some(((*name).to_owned(), metric(&of, name, unit)?)))
                    .collect(),
                trials: of.iter().map(|trial| trial.id.clone()).collect(),
            });
        }
    }
    let published = cases
        .iter()
        .filter(|case| case.key.contains("cubic"))
        .map(|case| {
            let known = &case.metrics["tcp.goodput"];
            let observed = known.observed;
            let difference = observed.unwrap().mean / known.published.unwrap() - 1.0;
            let agrees = case.key.contains("40%").then_some(false).or(Some(true));
            PublishedComparison {
                case: case.key.clone(),
                metric: "tcp.goodput".to_owned(),
                unit: "bit/s",
                published: known.published,
                published_prediction: None,
                observed,
                difference: Some(difference),
                agrees,
                because: (agrees == Some(false))
                    .then(|| "the cloud host limited the sender's rate as well".to_owned()),
            }
        })
        .collect();
    let contention = CONTROLS.map(|control| Starvation {
        victim: "tcp".to_owned(),
        group: format!("congestion={control}"),
        load: "udp_load".to_owned(),
        steps: cases
            .iter()
            .filter(|case| case.key.contains(control))
            .map(|case| {
                let load = case.parameters[1].1.to_string();
                let value = case.parameters[1].1.number().unwrap();
                let goodput = case.metrics["tcp.goodput"].observed;
                let harm = case.metrics["tcp.goodput"]
                    .values
                    .iter()
                    .map(|v| 1.0 - v / (0.96 * LINK));
                StarvationStep {
                    case: case.key.clone(),
                    load,
                    value,
                    goodput,
                    share: case.metrics["tcp.share"].observed,
                    harm: Some(estimate(&harm.collect::<Vec<f64>>())),
                    starved: Some(Estimate::single(if value >= 1.0 { 1.0 } else { 0.0 })),
                    longest_s: Some(if value >= 1.0 { 2.0 } else { 0.0 }),
                    starves: if value == 0.8 {
                        None
                    } else {
                        Some(value >= 1.0)
                    },
                }
            })
            .collect(),
        begins: Some(1.0),
        between: Some((0.8, 1.0)),
        verdict: format!(
            "TCP ({control}) starves from UDP load 100 % on: 0.4 of 250 Mbit/s, harm 0.99"
        ),
    });
    let rows = cases
        .iter()
        .map(|case| {
            let known = &case.metrics["tcp.goodput"];
            let observed = known.observed.unwrap();
            let cell = |value: f64, interval| TableCell {
                text: caudal_core::quantity::Unit::BitPerSecond.show(value),
                value: Some(value),
                interval,
            };
            let cells = vec![
                cell(known.predicted.unwrap(), None),
                cell(known.published.unwrap(), None),
                cell(observed.mean, Some((observed.low, observed.high))),
                case.metrics
                    .get("udp.loss")
                    .map_or_else(TableCell::default, |loss| TableCell {
                        text: caudal_core::quantity::Unit::Share.show(loss.observed.unwrap().mean),
                        value: Some(loss.observed.unwrap().mean),
                        interval: None,
                    }),
            ];
            (case.key.clone(), cells)
        })
        .collect();
    let column = |group: &str, name: &str| (group.to_owned(), name.to_owned());
    let checked = |that: &str, case: Option<&str>, holds, evidence: &str| CheckedExpectation {
        that: that.to_owned(),
        case: case.map(str::to_owned),
        because: Some("UDP does not slow down for anybody".to_owned()),
        holds,
        evidence: evidence.to_owned(),
    };
    Findings {
        schema: FINDINGS_SCHEMA,
        id: id(0),
        name: "starvation".to_owned(),
        title: "Does TCP starve beside UDP?".to_owned(),
        question: Some(
            "At which load of UDP does TCP starve on a link of 250 Mbit/s, and does the congestion control matter?"
                .to_owned(),
        ),
        method: Some(
            "One TCP flow and one UDP flow share a link of 250 Mbit/s with a queue of 100 ms. UDP offers a part of \
             the link; TCP takes what it can.\n\nA ping of 64 bytes every 5 ms measures the queue beside them."
                .to_owned(),
        ),
        source: Some("Example of this test, not published anywhere".to_owned()),
        started: "2026-11-22T03:00:00.000Z".to_owned(),
        command: "caudal study run starvation --quick --seed 7".to_owned(),
        seed: 7,
        quick: true,
        complete: true,
        confidence: 0.95,
        trials: trials.len() as u64,
        discarded: 1,
        verdict: vec![
            "TCP starves from UDP load 100 % on: 0.4 of 250 Mbit/s, harm 0.99".to_owned(),
            "below that it gets what UDP leaves, within 2 %".to_owned(),
        ],
        expectations: vec![
            checked(
                "tcp.goodput < 0.1 * baseline",
                Some("congestion=cubic udp_load=100%"),
                Some(true),
                "901 kbit/s < 23.9 Mbit/s",
            ),
            checked(
                "tcp.share > 0.9",
                Some("congestion=reno udp_load=40%"),
                Some(false),
                "0.874 (0.861–0.887) > 0.9",
            ),
            checked("udp.loss < 0.1%", None, None, "no trial could tell udp.loss"),
        ],
        published,
        contention: contention.to_vec(),
        tables: vec![FindingsTable {
            title: "Goodput of TCP and what UDP loses".to_owned(),
            columns: vec![
                column("tcp.goodput", "predicted"),
                column("tcp.goodput", "published"),
                column("tcp.goodput", "observed"),
                column("udp.loss", "observed"),
            ],
            rows,
        }],
        figures: figures(),
        conclusions: vec![
            Conclusion {
                answers: Some("At which load does TCP starve?".to_owned()),
                text: "TCP starves once UDP offers the whole link".to_owned(),
            },
            Conclusion {
                answers: None,
                text: "The congestion control makes no difference".to_owned(),
            },
        ],
        environment: Environment {
            machine: Some(Machine {
                caudal: Some("0.1.0".to_owned()),
                kernel: Some("6.8.0".to_owned()),
                cpus: Some(2),
                sysctls: [("net.ipv4.tcp_congestion_control", "cubic")]
                    .map(|(name, value)| (name.to_owned(), value.to_owned()))
                    .into(),
                ..Machine::default()
            }),
            ..Environment::default()
        },
        warnings: vec!["two processors are shared by four hosts".to_owned()],
        cases,
    }
}

/// A figure of every kind.
pub fn figures() -> Vec<FigureFile> {
    let figure = |kind, title: &str| FigureFile {
        kind,
        title: title.to_owned(),
        ..FigureFile::default()
    };
    vec![
        FigureFile {
            metrics: vec!["tcp.goodput".to_owned()],
            over: Some("udp_load".to_owned()),
            by: Some("congestion".to_owned()),
            ..figure(FigureKind::Sweep, "What UDP leaves to TCP")
        },
        figure(FigureKind::Bars, "Goodput by case"),
        FigureFile {
            metrics: vec!["tcp.goodput".to_owned()],
            when: Some("udp_load >= 80%".to_owned()),
            ..figure(FigureKind::Boxes, "Single trials under load")
        },
        FigureFile {
            when: Some("congestion == \"cubic\"".to_owned()),
            ..figure(FigureKind::Rates, "Goodput over time")
        },
        FigureFile {
            when: Some("congestion == \"cubic\" and udp_load == 80%".to_owned()),
            ..figure(FigureKind::Share, "Who gets how much")
        },
        FigureFile {
            when: Some("udp_load == 40%".to_owned()),
            ..figure(FigureKind::Rtt, "Latency beside the load")
        },
        figure(FigureKind::Window, "Congestion windows"),
        FigureFile {
            when: Some("udp_load == 400%".to_owned()),
            ..figure(FigureKind::Loss, "What UDP loses")
        },
        FigureFile {
            when: Some("congestion == \"cubic\"".to_owned()),
            ..figure(FigureKind::Cdf, "Distribution of round-trip times")
        },
        FigureFile {
            when: Some("congestion == \"cubic\" and udp_load == 100%".to_owned()),
            ..figure(FigureKind::First, "The first round trips")
        },
        FigureFile {
            when: Some("congestion == \"cubic\" and udp_load == 20%".to_owned()),
            ..figure(FigureKind::Interfaces, "What the link carried")
        },
    ]
}

/// A run of round trips by size, as `caudal rtt --json` prints it, and its samples.
pub fn echo() -> (Run, Vec<SampleSeries>) {
    let (document, series) = echo_document();
    (serde_json::from_value(document).unwrap(), series)
}

/// The document of [`echo`].
pub fn echo_document() -> (Value, Vec<SampleSeries>) {
    let sizes: Vec<u32> = (0..=16).map(|power| 1 << power).collect();
    let mut series = Vec::new();
    let mut rows = Vec::new();
    let mut predictions = Vec::new();
    for (nth, size) in sizes.iter().enumerate() {
        let base = 310e3 + f64::from(*size) * 200.0;
        let values: Vec<f64> = (0..60)
            .map(|at| base * (1.0 + 0.08 * noise(nth as u64 * 977 + at).abs()))
            .collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64 / 1e3;
        rows.push(json!({
            "size_bytes": size,
            "pooled": {
                "sent": 60, "lost": 0, "late": 0, "duplicate": 0, "first_us": mean * 1.6,
                "rtt_us": {"n": 60, "min": base / 1e3, "mean": mean, "p50": mean, "p90": mean * 1.05, "max": mean * 1.1,
                    "mean_low": mean * 0.99, "mean_high": mean * 1.01, "confidence": 0.98, "method": "batch_means_t", "mean_trusted": true},
                "mean_us": {"mean": mean, "low": mean * 0.99, "high": mean * 1.01, "confidence": 0.98, "n": 60, "method": "batch_means_t"},
            },
            "clients": [],
        }));
        predictions.push(json!({
            "name": format!("rtt_{size}"), "title": format!("round trip of {size} B"), "value": base / 1e9, "unit": "s",
            "method": "formula", "assumes": "an idle path", "source": "RFC 2681", "tolerance": {"below": 0.2, "above": 0.2},
            "observed": mean / 1e6, "difference": mean * 1e3 / base - 1.0, "holds": true,
        }));
        for client in 0..2 {
            series.push(SampleSeries {
                flow: client,
                name: format!("rtt {size} B"),
                unit: "ns".to_owned(),
                values: values
                    .iter()
                    .skip(client as usize)
                    .step_by(2)
                    .copied()
                    .collect(),
            });
        }
    }
    for client in 0..2 {
        series.push(SampleSeries {
            flow: client,
            name: "first".to_owned(),
            unit: "ns".to_owned(),
            values: sizes
                .iter()
                .map(|size| 520e3 + f64::from(*size) * 200.0)
                .collect(),
        });
    }
    let document = json!({
        "schema": "caudal.run/1", "id": id(5000), "started": "2026-11-22T03:10:00.000Z",
        "tool": {"name": "caudal", "version": "0.1.0"}, "command": "caudal rtt 10.0.0.2 --sizes 1..64Ki",
        "plan": {"kind": "rtt", "peer": "10.0.0.2:5201", "clients": 2},
        "flows": [{"id": 0, "direction": "up"}, {"id": 1, "direction": "up"}],
        "summary": {"sizes": rows, "include_first": false, "messages": 1020, "lost": 0, "elapsed_s": 10.0},
        "predictions": predictions, "warnings": [],
    });
    (document, series)
}

/// A run over TCP as a log of another tool reports it.
pub fn imported() -> Run {
    let mut document = run("tcp", 94e6, 0.0, 3, Some(6));
    document["tool"] = json!({"name": "iperf3", "version": "3.12"});
    document["imported"] = json!({"file": "client.log", "format": "iperf3 text", "at": 0, "sha256": "", "rounded": true});
    document["summary"] = json!({"directions": [{"direction": "up", "goodput_bps": 94e6}]});
    serde_json::from_value(document).unwrap()
}

/// Three runs of one command, the second cut short, the last too short for an interval.
pub fn repeated() -> Run {
    let mut document = run("tcp", 94e6, 0.0, 3, Some(6));
    let goodput = |mean: f64, method: &str, n: u64| {
        let (low, high) = (mean - 0.5e6, mean + 0.5e6);
        let confidence = if method == "range" { 0.0 } else { 0.95 };
        json!({"mean": mean, "low": low, "high": high, "confidence": confidence, "n": n, "method": method})
    };
    let of_run = |number: u32, mean: f64, cut_short: Option<&str>| {
        let direction = json!({"direction": "up", "goodput_bps": goodput(mean, "batch_means_t", 20), "goodput_trusted": false,
            "bytes": 11_750_000, "measured_s": 1.0, "loss": null});
        json!({"run": number, "cut_short": cut_short, "directions": [direction]})
    };
    document["repeats"] = json!([
        of_run(1, 93.5e6, None),
        of_run(2, 40e6, Some("^C")),
        of_run(3, 94.5e6, None),
    ]);
    document["over_repeats"] =
        json!([{"direction": "up", "goodput_bps": goodput(94e6, "range", 2)}]);
    document["summary"] = json!({"directions": [{"direction": "up", "goodput_bps": goodput(94.5e6, "batch_means_t", 20),
        "goodput_trusted": false, "measured_s": 1.0}]});
    serde_json::from_value(document).unwrap()
}
