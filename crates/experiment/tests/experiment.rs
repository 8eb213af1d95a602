//! Experiment files: the campaigns they unfold into, and the errors they are rejected with.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use caudal_core::units::BitRate;
use caudal_experiment::{
    Campaign, Case, ExperimentFile, PathProbing, PathScope, RateSpec, RepetitionStatus, Scalar,
    Variant,
};

fn unfold_variant(text: &str, variant: Variant) -> Result<Campaign, (String, String)> {
    let file: ExperimentFile = toml::from_str(text).unwrap();
    Campaign::unfold(&file, variant).map_err(|error| {
        (
            error.at.to_string(),
            format!("{}; {}", error.problem, error.remedy),
        )
    })
}

fn unfold(text: &str) -> Campaign {
    unfold_variant(text, Variant::Full).unwrap()
}

fn keys(campaign: &Campaign) -> Vec<&str> {
    campaign
        .cases
        .iter()
        .map(|case| case.key.as_str())
        .collect()
}

fn case<'a>(campaign: &'a Campaign, key: &str) -> &'a Case {
    campaign
        .case(key)
        .unwrap_or_else(|| panic!("{key} is not one of {:?}", keys(campaign)))
}

const STARVATION: &str = r#"
title = "TCP beside UDP"
seed = 7
[topology]
preset = "dumbbell"
number = 2
set = ["bottleneck.rate=250M", "*.delay={delay}"]
[time]
measure = "5s"
warm_up = "1s"
[repeat]
min = 3
max = 8
relative_error = "5%"
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
of = "bottleneck"
baseline = true
[[parameter]]
name = "udp_load"
values = ["0%", "20%", "80%", "400%"]
[[parameter]]
name = "congestion"
values = ["cubic", "bbr"]
[[parameter]]
name = "delay"
values = ["10ms"]
[[exclude]]
when = 'congestion == "bbr" and udp_load > 1'
[quick]
values = { udp_load = ["0%", "80%"] }
time = { measure = "2s" }
repeat = { min = 1, max = 1 }
exclude = [{ when = 'congestion == "bbr"' }]
"#;

#[test]
fn the_matrix_is_the_cross_product_without_excluded_combinations() {
    let campaign = unfold(STARVATION);
    assert_eq!(
        keys(&campaign),
        [
            "udp_load=0% congestion=cubic delay=10ms",
            "udp_load=0% congestion=bbr delay=10ms",
            "udp_load=20% congestion=cubic delay=10ms",
            "udp_load=20% congestion=bbr delay=10ms",
            "udp_load=80% congestion=cubic delay=10ms",
            "udp_load=80% congestion=bbr delay=10ms",
            "udp_load=400% congestion=cubic delay=10ms",
            "alone: udp (udp_load=20% delay=10ms)",
            "alone: udp (udp_load=80% delay=10ms)",
            "alone: udp (udp_load=400% delay=10ms)",
        ]
    );
    let loaded = case(&campaign, "udp_load=80% congestion=bbr delay=10ms");
    assert_eq!(loaded.testbed.set, ["bottleneck.rate=250M", "*.delay=10ms"]);
    assert_eq!(loaded.flows[0].congestion.as_deref(), Some("bbr"));
    let rate = RateSpec::Share {
        fraction: 0.8,
        link: Some("bottleneck".to_owned()),
    };
    assert_eq!(loaded.flows[1].rate, rate);
    assert_eq!(
        (loaded.measure, loaded.warm_up, loaded.interval),
        (
            Duration::from_secs(5),
            Duration::from_secs(1),
            Duration::from_millis(200)
        )
    );
    assert_eq!((campaign.seed, campaign.retries), (7, 10));
}

#[test]
fn identical_baselines_are_measured_once_and_not_where_a_flow_is_alone_already() {
    let campaign = unfold(STARVATION);
    let loaded = case(&campaign, "udp_load=80% congestion=cubic delay=10ms");
    let other = case(&campaign, "udp_load=80% congestion=bbr delay=10ms");
    // Without UDP, TCP is alone; that case is its own baseline and that of all the others.
    assert_eq!(
        loaded.baselines["tcp"],
        "udp_load=0% congestion=cubic delay=10ms"
    );
    assert_eq!(
        other.baselines["tcp"],
        "udp_load=0% congestion=bbr delay=10ms"
    );
    // UDP knows no congestion control, so the same baseline serves both.
    assert_eq!(loaded.baselines["udp"], other.baselines["udp"]);
    let alone = case(&campaign, &loaded.baselines["udp"]);
    assert_eq!(alone.alone.as_deref(), Some("udp"));
    assert_eq!(alone.flows.len(), 1);
    let parameters: Vec<&str> = alone
        .parameters
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(parameters, ["udp_load", "delay"]);
    let idle = case(&campaign, "udp_load=0% congestion=cubic delay=10ms");
    assert!(!idle.baselines.contains_key("udp"));
}

#[test]
fn the_quick_variant_keeps_the_keys_of_the_full_one() {
    let quick = unfold_variant(STARVATION, Variant::Quick).unwrap();
    assert_eq!(
        keys(&quick),
        [
            "udp_load=0% congestion=cubic delay=10ms",
            "udp_load=80% congestion=cubic delay=10ms",
            "alone: udp (udp_load=80% delay=10ms)",
        ]
    );
    assert_eq!(quick.cases[0].measure, Duration::from_secs(2));
    assert_eq!((quick.rule.min, quick.rule.max), (1, 1));
    // The resolved file unfolds into the same campaign again, in either variant.
    for variant in [Variant::Full, Variant::Quick] {
        let again = Campaign::unfold(&quick.experiment, variant).unwrap();
        assert_eq!(keys(&again), keys(&quick));
        assert_eq!(again.rule, quick.rule);
    }
}

const NAMED: &str = r#"
title = "Cases by name"
topology = { preset = "star", number = 3, set = ["*.duplex={duplex}"] }
[[flow]]
name = "load"
kind = "tcp"
from = "{from}"
to = "h3"
count = "{count}"
[[parameter]]
name = "duplex"
[[parameter]]
name = "from"
values = ["h1", "h2"]
[[parameter]]
name = "count"
values = [1, 4]
[[case]]
name = "A"
title = "full duplex from {from}"
set = { duplex = "full" }
[[case]]
name = "B 1"
set = { duplex = "half", from = "h1" }
"#;

#[test]
fn a_named_case_varies_what_it_does_not_set() {
    let campaign = unfold(NAMED);
    assert_eq!(
        keys(&campaign),
        [
            "A from=h1 count=1",
            "A from=h1 count=4",
            "A from=h2 count=1",
            "A from=h2 count=4",
            "B 1 count=1",
            "B 1 count=4",
        ]
    );
    assert_eq!(
        campaign.cases[2].title.as_deref(),
        Some("full duplex from h2")
    );
    assert_eq!(campaign.cases[5].flows[0].count, 4);
    assert_eq!(
        campaign.cases[5].parameters[0].1,
        Scalar::Text("half".to_owned())
    );
    assert_eq!(campaign.find_cases("B 1"), [4, 5]);
    assert_eq!(campaign.find_cases("B 1 count=4"), [5]);
    assert_eq!(campaign.find_cases("A count=4"), [1, 3]);
    assert_eq!(campaign.find_cases("from=h2 count=1"), [2]);
    assert!(campaign.find_cases("C").is_empty());
}

#[test]
fn without_parameters_there_is_one_case() {
    let campaign = unfold(
        "title = \"x\"\ntopology = { loopback = true }\n[[flow]]\nname = \"f\"\nkind = \"udp\"\nfrom = \"a\"\nto = \"a\"\nrate = \"5M\"\n",
    );
    assert_eq!(keys(&campaign), ["all"]);
    let flow = &campaign.cases[0].flows[0];
    assert_eq!(flow.rate, RateSpec::Payload(BitRate::from_bps(5_000_000)));
    assert_eq!((campaign.rule.min, campaign.rule.max), (3, 3));
    assert!(campaign.rule.relative_error.is_infinite());
}

#[test]
fn a_block_has_every_case_once_and_its_order_never_changes() {
    let campaign = unfold(STARVATION);
    let orders: Vec<Vec<usize>> = (1..=3).map(|round| campaign.block(round)).collect();
    for order in &orders {
        assert_eq!(
            order.iter().copied().collect::<BTreeSet<_>>().len(),
            campaign.cases.len()
        );
    }
    // A study resumed by a later version continues in the same order.
    assert_eq!(orders, PINNED);
}

/// The orders from an independent implementation.
const PINNED: [[usize; 10]; 3] = [
    [2, 4, 8, 1, 3, 9, 7, 6, 5, 0],
    [9, 5, 8, 4, 3, 2, 1, 0, 7, 6],
    [5, 8, 9, 3, 1, 7, 4, 6, 2, 0],
];

#[test]
fn every_order_of_a_block_is_equally_likely() {
    let mut campaign = unfold(NAMED);
    campaign.cases.truncate(3);
    let mut counts: BTreeMap<Vec<usize>, u32> = BTreeMap::new();
    for round in 0..6000 {
        *counts.entry(campaign.block(round)).or_default() += 1;
    }
    assert_eq!(counts.len(), 6);
    // 1000 each, with a standard deviation of 29.
    assert!(
        counts.values().all(|count| (880..1120).contains(count)),
        "{counts:?}"
    );
}

#[test]
fn a_case_is_repeated_until_every_metric_reaches_the_error_goal() {
    let campaign = unfold(STARVATION);
    let case = case(&campaign, "udp_load=80% congestion=bbr delay=10ms");
    assert_eq!(
        campaign.metrics_to_estimate(case),
        ["tcp.goodput", "udp.goodput"]
    );
    let values = |tcp: &[f64], udp: &[f64]| {
        BTreeMap::from([
            ("tcp.goodput".to_owned(), tcp.to_vec()),
            ("udp.goodput".to_owned(), udp.to_vec()),
        ])
    };
    let steady = [100.0, 100.1, 100.2, 100.1, 100.0, 100.1, 100.2, 100.0];
    let wild = [100.0, 10.0, 300.0, 50.0, 100.0, 10.0, 300.0, 50.0];
    let status = |trials: usize, udp: &[f64]| {
        let values = values(&steady[..trials], &udp[..trials]);
        campaign.repetition_status(case, trials as u64, &values)
    };
    assert_eq!(status(2, &steady), RepetitionStatus::Incomplete);
    assert_eq!(status(6, &steady), RepetitionStatus::Reached);
    assert_eq!(status(6, &wild), RepetitionStatus::Incomplete);
    assert_eq!(status(8, &wild), RepetitionStatus::GaveUp);
    // A metric without values in any trial is ignored, so that failed trials do not repeat for ever.
    assert_eq!(
        campaign.repetition_status(case, 3, &BTreeMap::new()),
        RepetitionStatus::Reached
    );
}

#[test]
fn a_matrix_of_a_million_cases_is_rejected_before_it_is_built() {
    let matrix = |parameters: usize, values: usize| {
        let values: Vec<String> = (0..values).map(|value| value.to_string()).collect();
        let values = values.join(", ");
        let parameter = |n| format!("[[parameter]]\nname = \"p{n}\"\nvalues = [{values}]\n");
        let all: String = (0..parameters).map(parameter).collect();
        unfold_variant(&format!("{STARVATION}{all}"), Variant::Full).unwrap_err()
    };
    let (at, problem) = matrix(6, 10);
    assert_eq!(at, "parameter");
    assert_eq!(
        problem,
        "the matrix has 8000000 cases, and at most 10000 are possible; remove values, or name the \
         important cases with [[case]]"
    );
    // More than an integer can count.
    let (_, problem) = matrix(60, 1000);
    assert!(problem.starts_with("the matrix has "), "{problem}");
    // Few enough combinations, but too many cases.
    let (_, problem) = matrix(4, 10);
    assert!(
        problem.starts_with("the experiment has more than 10000 cases"),
        "{problem}"
    );
}

/// The starvation experiment with one text replaced: where it is refused, and what is said.
fn rejected(from: &str, to: &str) -> (String, String) {
    assert!(STARVATION.contains(from), "{from}");
    unfold_variant(&STARVATION.replacen(from, to, 1), Variant::Full).unwrap_err()
}

#[test]
fn errors_name_their_key_and_a_remedy() {
    for (from, to, at, problem) in [
        (
            "\"dumbbell\"",
            "\"dumbell\"",
            "topology.preset",
            "there is no preset \"dumbell\"; did you mean dumbbell?",
        ),
        (
            "number = 2",
            "number = 2000",
            "topology.number",
            "number cannot be \"2000\"; write an integer from 1 to 100",
        ),
        (
            "from = \"h1\"",
            "from = \"hh1\"",
            "flow[0].from",
            "there is no host \"hh1\"; did you mean h1?",
        ),
        (
            "of = \"bottleneck\"",
            "of = \"botleneck\"",
            "flow[1].of",
            "there is no link \"botleneck\"; did you mean bottleneck?",
        ),
        (
            "\"{congestion}\"",
            "\"{congestoin}\"",
            "flow[0].congestion",
            "there is no parameter \"congestoin\"; did you mean congestion?",
        ),
        (
            "\"{congestion}\"",
            "\"{congestion\"",
            "flow[0].congestion",
            "\"{congestion\" has an unmatched brace; write {parameter}, and {{ or }} for a brace",
        ),
        (
            "udp_load > 0",
            "udp_laod > 0",
            "flow[1].when",
            "there is no parameter udp_laod; did you mean udp_load?; a text is written in quotes",
        ),
        (
            "udp_load > 0",
            "tcp.goodput > 0",
            "flow[1].when",
            "tcp.goodput is measured, but this must be known before; use parameters only",
        ),
        (
            "when = \"udp_load > 0\"\n",
            "",
            "flow[1].rate",
            "rate cannot be \"0%\" (from \"{udp_load}\"); exclude a flow that sends nothing with when = \"PARAMETER > 0\"",
        ),
        (
            "rate = \"{udp_load}\"\nof = \"bottleneck\"\n",
            "",
            "flow[1]",
            "UDP flow udp has no rate; give rate, as 50M or 80%",
        ),
        (
            "\"20%\", ",
            "\"20%\", \"20%\", ",
            "parameter[0].values",
            "udp_load has the value 20% twice; remove one",
        ),
        (
            "name = \"udp_load\"",
            "name = \"udp-load\"",
            "parameter[0].name",
            "a parameter cannot have the name \"udp-load\"; use letters, digits and _, starting with a letter, and none of and, or, not, true, false, baseline, total, links",
        ),
        (
            "name = \"udp\"",
            "name = \"tcp\"",
            "flow[1].name",
            "two flows have the name tcp; give each its own name",
        ),
        (
            "seed = 7",
            "[[expect]]\nthat = \"tcp.goodput > 5 and tcp.godput < 5\"",
            "expect[0].that",
            "tcp has no metric \"godput\" (character 21); did you mean goodput?",
        ),
        (
            "min = 3",
            "min = 30",
            "repeat.max",
            "a case cannot have at most 8 trials; use 30, the minimum, to 10000",
        ),
        (
            "relative_error = \"5%\"",
            "relative_error = \"500%\"",
            "repeat.relative_error",
            "",
        ),
        (
            "measure = \"5s\"",
            "measure = \"0s\"",
            "time.measure",
            "measure cannot be 0s; use 10ms to 30 days",
        ),
        (
            "baseline = true\n[[flow]]",
            "start = \"6s\"\n[[flow]]",
            "flow[0].start",
            "tcp starts at 6s, after the end of the trial of 6s; start earlier, or measure longer",
        ),
        (
            "baseline = true\n[[flow]]",
            "stop = \"7s\"\n[[flow]]",
            "flow[0].stop",
            "tcp cannot stop at 7s when it starts at 0s in a trial of 6s; stop after the start and within `warm_up` and `measure`",
        ),
        (
            "baseline = true\n[[flow]]",
            "messages = 5\n[[flow]]",
            "flow[0].messages",
            "messages does not apply to the TCP flow tcp; give bytes, or a stop",
        ),
        (
            "'congestion == \"bbr\" and udp_load > 1'",
            "'congestion > 5'",
            "exclude[0].when",
            "this cannot be evaluated for udp_load=0% congestion=cubic delay=10ms: cubic is not a number; compare words with == and a quoted text",
        ),
        (
            "'congestion == \"bbr\" and udp_load > 1'",
            "'udp_load >= 0'",
            "exclude",
            "every combination is excluded; exclude fewer",
        ),
        (
            "values = { udp_load",
            "values = { udp_lod",
            "quick.values.udp_lod",
            "",
        ),
        (
            "title = \"TCP beside UDP\"",
            "title = \"\"",
            "title",
            "the title is empty or not one line; write a title of one line",
        ),
    ] {
        // Tables come after plain keys in a file.
        let to = to.to_owned();
        let (seen_at, seen) = if to.starts_with("[[expect]]") {
            let text = STARVATION.replacen(from, "", 1) + &to;
            unfold_variant(&text, Variant::Full).unwrap_err()
        } else if at.starts_with("quick") {
            unfold_variant(&STARVATION.replacen(from, &to, 1), Variant::Quick).unwrap_err()
        } else {
            rejected(from, &to)
        };
        assert_eq!(seen_at, at, "{to}: {seen}");
        assert!(problem.is_empty() || seen == problem, "{to}: {seen}");
    }
}

/// A path that is probed, in ways that a parameter names.
const PATH: &str = r#"
title = "paths"

[topology]
preset = "line"

[[parameter]]
name = "measured"
values = ["links", "ends"]

[[flow]]
name = "path"
kind = "path"
from = "h1"
to = "h2"
path = { measure = "{measured}", time = "8s", accuracy = "3%", primers = 4 }

[[expect]]
that = "path.link3.error < 6%"
when = 'measured == "links"'
"#;

#[test]
fn a_path_is_probed_as_its_keys_say() {
    let campaign = unfold(PATH);
    assert_eq!(keys(&campaign), ["measured=links", "measured=ends"]);
    let probing = |measure| PathProbing {
        measure,
        time: Some(Duration::from_secs(8)),
        accuracy: Some(0.03),
        primers: Some(4),
        routes: false,
    };
    for (key, measure) in [
        ("measured=links", PathScope::Links),
        ("measured=ends", PathScope::Ends),
    ] {
        let case = case(&campaign, key);
        assert_eq!(case.flows[0].path, Some(probing(measure)));
        assert!(case.probes_a_path());
    }
    for (from, to, at, problem) in [
        (
            "values = [\"links\", \"ends\"]",
            "values = [\"links\", \"hops\"]",
            "flow[0].path.measure",
            "\"hops\" cannot be measured of a path; write links, ends, available, duplex or all",
        ),
        (
            "\"8s\"",
            "\"8ms\"",
            "flow[0].path.time",
            "time cannot be \"8ms\"; write from 1s to 1h",
        ),
        (
            "accuracy = \"3%\"",
            "accuracy = \"80%\"",
            "flow[0].path.accuracy",
            "accuracy cannot be \"80%\"; write from 0.5% to 50%",
        ),
        (
            "to = \"h2\"",
            "to = \"h2\"\nrate = \"5M\"",
            "flow[0].rate",
            "rate does not apply to the path flow path; remove it",
        ),
        (
            "link3.error",
            "link0.error",
            "expect[0].that",
            "path.link0.error is not a metric; write FLOW.METRIC, FLOW.linkN.METRIC, total.METRIC or \
             links.NAME.METRIC",
        ),
    ] {
        assert!(PATH.contains(from), "{from}");
        let rejected = unfold_variant(&PATH.replacen(from, to, 1), Variant::Full).unwrap_err();
        assert_eq!(rejected.0, at);
        assert!(rejected.1.contains(problem), "{}", rejected.1);
    }
}

#[test]
fn the_network_is_given_exactly_once() {
    let (at, _) = rejected("number = 2", "loopback = true");
    assert_eq!(at, "topology");
    let (at, problem) = rejected(
        "preset = \"dumbbell\"\nnumber = 2\n",
        "hosts = { h1 = \"one.example\" }\n",
    );
    assert_eq!(at, "flow[1].rate");
    assert!(
        problem.contains("the rate of bottleneck in a real network is unknown"),
        "{problem}"
    );
}

#[test]
fn errors_in_the_quick_variant_name_the_quick_key() {
    let wrong = STARVATION.replace("measure = \"2s\"", "measure = \"1ms\"");
    assert_eq!(
        unfold_variant(&wrong, Variant::Quick).unwrap_err().0,
        "quick.time.measure"
    );
    assert!(unfold_variant(&wrong, Variant::Full).is_ok());
    let wrong = STARVATION.replace(
        "exclude = [{ when = 'congestion == \"bbr\"' }]",
        "exclude = [{ when = 'x == 1' }]",
    );
    assert_eq!(
        unfold_variant(&wrong, Variant::Quick).unwrap_err().0,
        "quick.exclude[0].when"
    );
}

#[test]
fn links_are_checked_once_the_network_is_known() {
    let text = format!("{STARVATION}[[expect]]\nthat = \"links.bottleneck.drops < 1\"\n")
        .replace("preset = \"dumbbell\"\nnumber = 2\n", "file = \"x.toml\"\n");
    let campaign = unfold(&text);
    let known = |names: &[&str]| {
        campaign.check_links(
            &names
                .iter()
                .map(|&name| name.to_owned())
                .collect::<Vec<_>>(),
        )
    };
    assert_eq!(known(&["bottleneck"]), Ok(()));
    assert_eq!(
        known(&["neck"]).unwrap_err().at.to_string(),
        "expect[0].that"
    );
}

#[test]
fn the_schema_knows_every_key_and_allows_no_other() {
    let schema = serde_json::to_value(caudal_experiment::schema()).unwrap();
    assert_eq!(schema["additionalProperties"], false);
    for key in [
        "topology",
        "flow",
        "parameter",
        "expect",
        "contention",
        "quick",
    ] {
        assert!(schema["properties"][key].is_object(), "{key}");
    }
    let unknown = toml::from_str::<ExperimentFile>(&STARVATION.replace("seed = 7", "sead = 7"));
    assert!(unknown.unwrap_err().message().contains("sead"));
}
