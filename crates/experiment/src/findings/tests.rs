use std::collections::BTreeMap;

use caudal_core::run::Environment;

use super::{CaseFindings, CasePredictions, Findings, StudyHeader};
use crate::campaign::{Campaign, Variant};
use crate::file::ExperimentFile;
use crate::trial::{TRIAL_SCHEMA, Trial};

const EXPERIMENT: &str = r#"
title = "TCP beside UDP"
question = "From which load on does TCP starve?"
[topology]
preset = "dumbbell"
set = ["bottleneck.rate=250M"]
[repeat]
min = 3
[[flow]]
name = "tcp"
kind = "tcp"
from = "h1"
to = "h3"
congestion = "{congestion}"
baseline = true
[[flow]]
name = "udp"
kind = "udp"
from = "h2"
to = "h4"
when = "udp_load > 0"
rate = "{udp_load}"
[[parameter]]
name = "udp_load"
title = "UDP load"
values = ["0%", "80%", "100%"]
[[parameter]]
name = "congestion"
values = ["cubic", "bbr"]
[contention]
victim = "tcp"
load = "udp_load"
[[expect]]
that = "tcp.goodput < 0.1 * baseline"
when = "udp_load >= 100%"
because = "UDP at {udp_load} leaves nothing"
[[expect]]
that = "tcp.goodput > 39.5M"
when = "udp_load == 80%"
[[expect]]
that = 'at("udp_load=0% congestion=cubic", tcp.goodput) > at("udp_load=80% congestion=cubic", tcp.goodput)'
[[expect]]
that = "udp.loss < 10%"
[[published]]
case = "udp_load=100% congestion=cubic"
metric = "tcp.goodput"
value = "0.4M"
within = "20%"
[[published]]
case = "udp_load=80% congestion=cubic"
metric = "tcp.goodput"
value = "20M"
predicted = "50M"
because = "its queue was longer"
[[conclude]]
if = 'begins("congestion=cubic") <= 100%'
say = 'TCP starves from {begins("congestion=cubic")} on, with {at("udp_load=100% congestion=cubic", tcp.goodput)}.'
else = "TCP never starves."
answers = "Does it starve?"
"#;

fn campaign(text: &str) -> Campaign {
    Campaign::unfold(
        &toml::from_str::<ExperimentFile>(text).unwrap(),
        Variant::Full,
    )
    .unwrap()
}

fn header(complete: bool) -> StudyHeader {
    StudyHeader {
        id: "0123456789abcdef0123456789abcdef".to_owned(),
        name: "starvation".to_owned(),
        started: "2026-01-01T00:00:00Z".to_owned(),
        command: "caudal study run starvation".to_owned(),
        environment: Environment::default(),
        complete,
        warnings: Vec::new(),
    }
}

fn trial(case: &str, repeat: u64, metrics: &[(&str, f64)]) -> Trial {
    Trial {
        schema: TRIAL_SCHEMA.to_owned(),
        id: format!("{case} {repeat}"),
        study: "0".to_owned(),
        case: case.to_owned(),
        parameters: Vec::new(),
        alone: None,
        repeat,
        position: 1,
        started: String::new(),
        zero_s: 0.0,
        warm_up_s: 0.0,
        measured_s: 1.0,
        flows: Vec::new(),
        lab: None,
        interfaces: Vec::new(),
        metrics: metrics
            .iter()
            .map(|(name, value)| ((*name).to_owned(), *value))
            .collect(),
        predicted: BTreeMap::new(),
        discarded: None,
        warnings: Vec::new(),
        captures: BTreeMap::new(),
    }
}

/// Three trials of every case: TCP gets all of an idle link, a sixth at 80 %, and next to nothing at 100 % but for BBR.
fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for (load, congestion, goodput, share, loss) in [
        ("0%", "cubic", 235e6, 1.0, None),
        ("0%", "bbr", 236e6, 1.0, None),
        ("80%", "cubic", 40e6, 0.32, Some(0.01)),
        ("80%", "bbr", 42e6, 0.33, Some(0.02)),
        ("100%", "cubic", 0.41e6, 0.0033, Some(0.05)),
        ("100%", "bbr", 30e6, 0.24, Some(0.3)),
    ] {
        for (repeat, off) in [(1, 0.98), (2, 1.0), (3, 1.02)] {
            let mut metrics = vec![("tcp.goodput", goodput * off), ("tcp.share", share * off)];
            metrics.extend(loss.map(|loss| ("udp.loss", loss * off)));
            let case = format!("udp_load={load} congestion={congestion}");
            trials.push(trial(&case, repeat, &metrics));
        }
    }
    trials
}

fn findings() -> Findings {
    let predictions = CasePredictions {
        predicted: BTreeMap::from([("tcp.goodput".to_owned(), 48e6)]),
        simulated: BTreeMap::from([("tcp.goodput".to_owned(), 44e6)]),
    };
    let case = "udp_load=80% congestion=cubic".to_owned();
    Findings::assemble(
        &campaign(EXPERIMENT),
        &header(true),
        &trials(),
        &BTreeMap::from([(case, predictions)]),
    )
}

fn case<'a>(findings: &'a Findings, key: &str) -> &'a CaseFindings {
    findings.cases.iter().find(|case| case.key == key).unwrap()
}

#[test]
fn each_case_has_its_metrics_with_intervals_and_harm_against_its_baseline() {
    let findings = findings();
    assert_eq!((findings.trials, findings.cases.len()), (18, 6));
    let starved = case(&findings, "udp_load=100% congestion=cubic");
    let goodput = starved.metrics["tcp.goodput"].observed.unwrap();
    assert_eq!((goodput.n, starved.n), (3, 3));
    assert!((goodput.mean - 0.41e6).abs() < 1.0 && goodput.low < goodput.mean);
    let harm = starved.metrics["tcp.harm"].observed.unwrap();
    assert_eq!(format!("{:.4}", harm.mean), "0.9983");
    assert!(harm.low < harm.mean && harm.mean < harm.high);
    // What is its own baseline is not harmed, and has nothing to be compared with.
    let alone = case(&findings, "udp_load=0% congestion=cubic");
    assert!(!alone.metrics.contains_key("tcp.harm"));
}

#[test]
fn expectations_are_checked_case_by_case_with_their_evidence() {
    let findings = findings();
    let lines: Vec<String> = findings
        .expectations
        .iter()
        .map(|it| {
            format!(
                "{:?} {} | {}",
                it.holds,
                it.case.as_deref().unwrap_or("-"),
                it.evidence
            )
        })
        .collect();
    assert_eq!(
        lines,
        [
            "Some(true) udp_load=100% congestion=cubic | tcp.goodput 410.0 kbit/s (401.8–418.2 kbit/s) < 0.1 × 235 Mbit/s = 23.50 Mbit/s",
            "Some(false) udp_load=100% congestion=bbr | tcp.goodput 30.00 Mbit/s (29.40–30.60 Mbit/s) is not < 0.1 × 236 Mbit/s = 23.60 Mbit/s",
            "Some(true) udp_load=80% congestion=cubic | tcp.goodput 40.00 Mbit/s (39.20–40.80 Mbit/s) > 39.50 Mbit/s (between its minimum and maximum)",
            "Some(true) udp_load=80% congestion=bbr | tcp.goodput 42.00 Mbit/s (41.16–42.84 Mbit/s) > 39.50 Mbit/s",
            "Some(true) - | at(\"udp_load=0% congestion=cubic\", tcp.goodput) 235.0 Mbit/s (230.3–239.7 Mbit/s) > at(\"udp_load=80% congestion=cubic\", tcp.goodput) 40.00 Mbit/s (39.20–40.80 Mbit/s)",
            "Some(true) udp_load=80% congestion=cubic | udp.loss 1.000 % (0.980–1.020 %) < 10 %",
            "Some(true) udp_load=80% congestion=bbr | udp.loss 2.000 % (1.960–2.040 %) < 10 %",
            "Some(true) udp_load=100% congestion=cubic | udp.loss 5.00 % (4.90–5.10 %) < 10 %",
            "Some(false) udp_load=100% congestion=bbr | udp.loss 30.00 % (29.40–30.60 %) is not < 10 %",
        ]
    );
    assert_eq!(
        findings.expectations[0].because.as_deref(),
        Some("UDP at 100% leaves nothing")
    );
}

#[test]
fn starvation_begins_at_the_first_load_at_which_it_is_sure() {
    let findings = findings();
    let [cubic, bbr] = findings.contention.as_slice() else {
        panic!("{:?}", findings.contention)
    };
    assert_eq!((cubic.begins, cubic.between), (Some(1.0), Some((0.8, 1.0))));
    assert_eq!(
        cubic.verdict,
        "tcp starves at UDP load 100% and above (congestion=cubic): 410 kbit/s, alone 235 Mbit/s, harm 1.00; it begins above 80%"
    );
    assert_eq!(bbr.begins, None);
    assert_eq!(
        bbr.verdict,
        "tcp does not starve up to UDP load 100% (congestion=bbr): 30 Mbit/s there, 24 % of its fair share"
    );
    assert_eq!(
        findings.conclusions[0].text,
        "TCP starves from 100% on, with 410.0 kbit/s (401.8–418.2 kbit/s)."
    );
}

#[test]
fn published_values_stand_beside_ours_with_the_reason_where_they_differ() {
    let findings = findings();
    let [near, far] = findings.published.as_slice() else {
        panic!("{:?}", findings.published)
    };
    assert_eq!((near.agrees, near.because.as_deref()), (Some(true), None));
    assert_eq!(far.agrees, Some(false));
    assert_eq!(far.because.as_deref(), Some("its queue was longer"));
    assert_eq!(far.published_prediction, Some(50e6));
    assert_eq!(far.difference, Some(1.0));
    let columns: Vec<&str> = findings.tables[0].columns[..4]
        .iter()
        .map(|(_, which)| which.as_str())
        .collect();
    assert_eq!(columns, ["predicted", "simulated", "published", "observed"]);
}

#[test]
fn the_verdict_says_what_failed_then_who_starves_then_what_agrees() {
    let said = findings().verdict;
    let starts = [
        "Not as expected in udp_load=100% congestion=bbr: tcp.goodput < 0.1 * baseline (tcp.goodput 30.00 Mbit/s",
        "Not as expected in udp_load=100% congestion=bbr: udp.loss < 10%",
        "7 of 9 expectations hold.",
        "tcp starves at UDP load 100% and above (congestion=cubic)",
        "tcp does not starve",
        "Agrees with the published values in 1 of 2 cases; not in udp_load=80% congestion=cubic (tcp.goodput +100 %), \
         because its queue was longer.",
    ];
    assert_eq!(said.len(), starts.len(), "{said:#?}");
    for (sentence, start) in said.iter().zip(starts) {
        assert!(sentence.starts_with(start), "{sentence}");
    }
}

#[test]
fn a_study_that_was_cut_off_says_what_it_has_and_that_it_is_not_complete() {
    let some: Vec<Trial> = trials().into_iter().take(4).collect();
    let findings = Findings::assemble(
        &campaign(EXPERIMENT),
        &header(false),
        &some,
        &BTreeMap::new(),
    );
    assert_eq!(
        findings.verdict[0],
        "The study is not complete: 4 trials so far, and 5 of 6 cases have fewer than the 3 asked for."
    );
    // One trial is a value, not an interval; none is not a zero.
    let one = case(&findings, "udp_load=0% congestion=bbr");
    assert_eq!(one.metrics["tcp.goodput"].observed.unwrap().confidence, 0.0);
    let unknown = findings
        .expectations
        .iter()
        .filter(|it| it.holds.is_none())
        .count();
    assert_eq!(unknown, findings.expectations.len());
    assert_eq!(
        findings.expectations[0].evidence,
        "udp_load=100% congestion=cubic has no trial yet"
    );
    let nothing = Findings::assemble(&campaign(EXPERIMENT), &header(false), &[], &BTreeMap::new());
    assert!(nothing.verdict[0].starts_with("The study is not complete: 0 trials so far"));
}

#[test]
fn discarded_trials_are_counted_and_do_not_contribute() {
    let mut all = trials();
    let mut discarded = trial("udp_load=0% congestion=cubic", 4, &[("tcp.goodput", 1.0)]);
    discarded.discarded = Some("the emulator stalled".to_owned());
    all.push(discarded);
    let findings = Findings::assemble(&campaign(EXPERIMENT), &header(true), &all, &BTreeMap::new());
    assert_eq!((findings.trials, findings.discarded), (18, 1));
    assert_eq!(case(&findings, "udp_load=0% congestion=cubic").n, 3);
}
