//! `caudal study` as people use it: trials on the lab, over loopback and between hosts; killed, interrupted, resumed, refused.

use crate::support::network::missing;
use crate::support::place::{Place, eventually};
use crate::support::{Running, run, trial};
use libtest_mimic::Trial;
use serde_json::Value;
use std::fs;
use std::process::Command;
use std::time::Duration;

pub fn trials() -> Vec<Trial> {
    vec![
        trial(
            "a_study_on_the_lab_runs_from_its_file_to_its_report",
            missing(&[]),
            on_the_lab,
        ),
        trial(
            "a_killed_study_goes_on_without_its_file_and_loses_no_trial",
            missing(&[]),
            killed_and_resumed,
        ),
        trial(
            "an_interrupted_study_reports_what_it_has",
            missing(&[]),
            interrupted,
        ),
        trial(
            "over_loopback_flows_end_by_bytes_and_messages",
            None,
            over_loopback,
        ),
        trial(
            "an_expectation_that_does_not_hold_is_exit_code_5",
            None,
            unmet,
        ),
        trial(
            "studies_are_compared_case_by_case_and_metric_by_metric",
            None,
            compared,
        ),
        trial("hosts_are_measured_from_here_and_back", None, between_hosts),
        trial(
            "a_store_that_cannot_be_used_costs_no_result",
            None,
            without_store,
        ),
        trial(
            "a_full_disk_costs_the_report_and_not_the_result",
            None,
            full_disk,
        ),
        trial("what_cannot_run_is_refused_in_one_line", None, refused),
        trial("check_and_show_tell_what_would_run", None, dry),
        trial("the_published_schema_is_the_codes", None, schema),
    ]
}

/// The trials written with `--out`.
fn trials_in(place: &Place, out: &str) -> Vec<Value> {
    let trials = format!("{out}/trials");
    let mut names: Vec<String> = fs::read_dir(place.at(&trials))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
        .iter()
        .map(|name| place.json(&format!("{trials}/{name}")))
        .collect()
}

/// A TCP flow, beside it UDP in one of two cases, and a look at the round-trip time.
const LAB: &str = r#"
title = "TCP beside UDP"

[topology]
preset = "pair"
set = ["*.rate=10M"]

[time]
measure = "600ms"
warm_up = "200ms"
interval = "100ms"

[repeat]
min = 2
retries = 30

[[flow]]
name = "tcp"
kind = "tcp"
from = "h1"
to = "h2"
baseline = true

[[flow]]
name = "udp"
kind = "udp"
from = "h1"
to = "h2"
rate = "{load}"
when = "load > 0"

[[flow]]
name = "look"
kind = "rtt-udp"
from = "h2"
to = "h1"
every = "50ms"
probe = true

[[parameter]]
name = "load"
values = ["0%", "50%"]

[[expect]]
that = "total.goodput > 1M"
"#;

/// A short flow of TCP over loopback.
const ECHO: &str = r#"
title = "Messages that wait for one another"
[topology]
preset = "pair"
set = ["h1-h2.rate=100M"]
[time]
measure = "10s"
[repeat]
min = 1
max = 1
[[flow]]
name = "echo"
kind = "rtt"
from = "h1"
to = "h2"
count = 2
messages = 100000
length = 65536
"#;

const LOOPBACK: &str = r#"
title = "Over loopback"

[topology]
loopback = true

[time]
measure = "300ms"
warm_up = "100ms"
interval = "100ms"

[repeat]
min = 1

[[flow]]
name = "tcp"
kind = "tcp"
from = "a"
to = "b"
"#;

fn on_the_lab() {
    let place = Place::of("study");
    place.file("lab.toml", LAB);
    let ended = place.says("run lab.toml --out out --seed 7");
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert!(
        ended.stdout.contains("report: out/report.html"),
        "{}",
        ended.stdout
    );
    assert!(
        ended.stdout.lines().all(|line| line.chars().count() <= 80),
        "{}",
        ended.stdout
    );
    let findings = place.json("out/findings.json");
    assert_eq!(findings["schema"], "caudal.study/1");
    assert_eq!(
        (&findings["seed"], &findings["complete"]),
        (&7.into(), &true.into())
    );
    let trials = trials_in(&place, "out");
    let counted = trials
        .iter()
        .filter(|trial| trial["discarded"].is_null())
        .count();
    // Two cases and a flow alone, twice each.
    assert_eq!(counted, 6);
    for trial in trials.iter().filter(|trial| trial["discarded"].is_null()) {
        let metrics = trial["metrics"].as_object().unwrap();
        let link = trial["lab"]["links"][0]["name"].as_str().unwrap();
        for name in [
            "tcp.goodput",
            "tcp.share",
            "total.goodput",
            &format!("links.{link}.delivered"),
        ] {
            assert!(metrics[name].as_f64().unwrap() > 0.0, "{name}: {metrics:?}");
        }
        let wire = metrics[&format!("links.{link}.utilisation")]
            .as_f64()
            .unwrap();
        assert!((0.0..1.2).contains(&wire), "{wire}");
        // Nothing carries more than the link: predicted, simulated or measured.
        assert!(metrics["total.goodput"].as_f64().unwrap() < 1e7);
        assert!(trial["predicted"]["tcp.goodput"].as_f64().unwrap() < 1e7);
        assert!(!trial["interfaces"].as_array().unwrap().is_empty());
        for flow in trial["flows"].as_array().unwrap() {
            assert_eq!(flow["run"]["schema"], "caudal.run/1", "{flow}");
            // Flows begin when they should, as far as processors are there for them.
            assert!(flow["offset_s"].as_f64().unwrap() >= 0.0);
        }
        let together = trial["alone"].is_null();
        assert_eq!(metrics.contains_key("look.rtt"), together);
    }
    assert!(place.has_no_lab());
    // The order of the trials is the seed's.
    let order = |trials: &[Value]| -> Vec<String> {
        let counted = trials.iter().filter(|trial| trial["discarded"].is_null());
        counted
            .map(|trial| trial["case"].as_str().unwrap().to_owned())
            .collect()
    };
    let first = order(&trials);
    assert_eq!(
        first[..3]
            .iter()
            .collect::<std::collections::BTreeSet<_>>()
            .len(),
        3
    );
}

fn compared() {
    let place = Place::of("study");
    place.file("one.toml", &LOOPBACK.replace("min = 1", "min = 3"));
    let id = |out: &str| -> String {
        let ended = place.says(&format!("run one.toml --out {out}"));
        assert_eq!(ended.code, Some(0), "{ended:#?}");
        place.json(&format!("{out}/findings.json"))["id"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let (first, second) = (id("first"), id("second"));
    let compare = |one: &str, other: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_caudal"));
        command
            .args(["report", "compare", one, other, "--json"])
            .env("CAUDAL_STORE", place.store());
        let ended = run(&mut command, Duration::from_secs(20));
        assert_eq!(ended.code, Some(0), "{ended:#?}");
        serde_json::from_str::<Value>(&ended.stdout).unwrap()
    };
    let told = compare(&first, &second);
    assert_eq!(told["schema"], "caudal.comparison/1");
    let goodput = |told: &Value| -> Value {
        let cells = told["cells"].as_array().unwrap().iter();
        let mut found = cells.filter(|cell| cell["metric"] == "tcp.goodput");
        let cell = found.next().expect("a cell for the flow's goodput").clone();
        assert!(found.next().is_none(), "one case, one cell");
        cell
    };
    // Three trials a side are too few for an interval.
    let cannot = &goodput(&told)["cannot"];
    assert_eq!(cannot["why"], "too_few", "{told:#}");
    assert_eq!(
        (&cannot["first"], &cannot["second"]),
        (&3.into(), &3.into())
    );
}

fn killed_and_resumed() {
    let place = Place::of("study");
    place.file("lab.toml", LAB);
    let running = Running::start(&mut place.command("run lab.toml --out out"));
    let id = running.line_with("; study ");
    let id = id.rsplit(' ').next().unwrap().to_owned();
    running.line_with("1/");
    running.line_with("2/");
    let labs = place.labs();
    eventually("the third trial has its lab", || {
        let mut names = fs::read_dir(&labs).unwrap().filter_map(Result::ok);
        names.any(|name| {
            let name = name.path();
            name.to_string_lossy().ends_with("-3") && name.join("control").exists()
        })
    });
    running.signal("KILL");
    let ended = running.wait(Duration::from_secs(20));
    assert_eq!(ended.code, None);
    // The experiment is in the store: its file may be gone.
    fs::remove_file(place.at("lab.toml")).unwrap();
    let ended = place.says(&format!("resume {id} --out out"));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert!(
        ended.stdout.contains("trials were carried out before"),
        "{}",
        ended.stdout
    );
    let trials = trials_in(&place, "out");
    let positions: Vec<u64> = trials
        .iter()
        .map(|trial| trial["position"].as_u64().unwrap())
        .collect();
    assert_eq!(positions, (1..=trials.len() as u64).collect::<Vec<_>>());
    assert_eq!(
        trials
            .iter()
            .filter(|trial| trial["discarded"].is_null())
            .count(),
        6
    );
    assert_eq!(place.json("out/findings.json")["complete"], true);
    eventually("the killed study's lab is gone", || place.has_no_lab());
    place.says("resume abcdef").failed(2, &["abcdef"]);
    place
        .says(&format!("resume {id} --no-store"))
        .failed(2, &["--no-store"]);
}

fn interrupted() {
    let place = Place::of("study");
    place.file("lab.toml", LAB);
    let running = Running::start(&mut place.command("run lab.toml --out out"));
    running.line_with("1/");
    running.signal("INT");
    let ended = running.wait(Duration::from_secs(30));
    ended.failed(1, &["interrupted after", "caudal study resume"]);
    let findings = place.json("out/findings.json");
    assert_eq!(findings["complete"], false);
    assert!(!trials_in(&place, "out").is_empty());
    assert!(
        fs::read_to_string(place.at("out/report.html"))
            .unwrap()
            .contains("</html>")
    );
    assert!(place.has_no_lab());
}

fn over_loopback() {
    let place = Place::of("study");
    let flows = "bytes = '5M'\n\n[[flow]]\nname = 'echo'\nkind = 'rtt'\nfrom = 'a'\nto = 'b'\ncount = 2\n\
                 messages = 30\nlength = '1..4'\n";
    place.file("own.toml", &format!("{LOOPBACK}{flows}"));
    let findings = place.says("run own.toml --out out --json").done().json();
    assert_eq!(findings["name"], "own");
    let trials = trials_in(&place, "out");
    assert_eq!(trials.len(), 1);
    let metrics = &trials[0]["metrics"];
    assert_eq!(metrics["tcp.bytes"].as_f64(), Some(5e6));
    assert_eq!(metrics["echo.lost"].as_f64(), Some(0.0));
    assert!(metrics["echo.rtt_p50"].as_f64().unwrap() > 0.0);
    let run = &trials[0]["flows"][1]["run"];
    // Two connections, three sizes, thirty messages each.
    assert_eq!(run["summary"]["messages"], 180);
}

fn unmet() {
    let place = Place::of("study");
    place.file(
        "own.toml",
        &format!("{LOOPBACK}\n[[expect]]\nthat = 'tcp.goodput < 1k'\n"),
    );
    let ended = place.says("run own.toml --out out");
    assert_eq!(
        (ended.code, ended.stderr.as_str()),
        (Some(5), ""),
        "{ended:#?}"
    );
    let checked = &place.json("out/findings.json")["expectations"][0];
    assert_eq!(checked["holds"], false);
}

fn between_hosts() {
    let place = Place::of("study");
    let text = LAB.replace(
        "look\"\nkind = \"rtt-udp\"\nfrom = \"h2\"\nto = \"h1\"",
        "look\"\nkind = \"rtt-udp\"\nfrom = \"h1\"\nto = \"h2\"",
    );
    let text = text.replace(
        "name = \"udp\"\nkind = \"udp\"\nfrom = \"h1\"\nto = \"h2\"\nrate = \"{load}\"",
        "name = \"udp\"\nkind = \"udp\"\nfrom = \"h2\"\nto = \"h1\"\nrate = \"{load}\"",
    );
    place.file("lab.toml", &text.replace("min = 2", "min = 1"));
    let server = Running::start(&mut crate::support::caudal([
        "serve",
        "-B",
        "127.0.0.1",
        "-p",
        "0",
    ]));
    let line = server.line_with("listening on");
    let port = line.split("127.0.0.1:").nth(1).unwrap();
    let port: u16 = port
        .split(|c: char| !c.is_ascii_digit())
        .next()
        .unwrap()
        .parse()
        .unwrap();
    let ended = place.says(&format!(
        "run lab.toml --hosts h2=127.0.0.1:{port} --out out"
    ));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    for trial in trials_in(&place, "out") {
        assert!(trial["lab"].is_null());
        for flow in trial["flows"].as_array().unwrap() {
            let directions = &flow["run"]["plan"]["directions"];
            match flow["name"].as_str().unwrap() {
                // From the other host to here is a download.
                "udp" => assert_eq!(directions, "down"),
                "tcp" => assert_eq!(directions, "up"),
                _ => assert!(directions.is_null()),
            }
        }
    }
    place
        .says(&format!(
            "run lab.toml --hosts h1=127.0.0.1:{port},h2=127.0.0.1:{port}"
        ))
        .failed(
            2,
            &[
                "lab.toml:",
                "flow \"tcp\" is between h1 and h2, two other hosts",
            ],
        );
    place.says("check lab.toml --hosts h2=127.0.0.1:1").failed(
        3,
        &["cannot run here, because 127.0.0.1 does not answer on port 1"],
    );
}

fn without_store() {
    let place = Place::of("study");
    place.file("own.toml", LOOPBACK);
    place.file(
        "store.db",
        "this is no database, and longer than a header of one has to be: it is a text\n",
    );
    let ended = place.says("run own.toml --out out");
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    assert!(
        ended.stderr.contains("the study is not saved"),
        "{}",
        ended.stderr
    );
    assert_eq!(trials_in(&place, "out").len(), 1);
    let ended = place.says("run own.toml --out out2 --no-store").done();
    assert!(
        ended.stdout.contains("study, not saved"),
        "{}",
        ended.stdout
    );
}

fn full_disk() {
    let place = Place::of("study");
    place.file("own.toml", LOOPBACK);
    // A file where the directory should be: nothing can be written there either.
    place.file("out", "");
    let ended = place.says("run own.toml --out out -v");
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert!(ended.stdout.contains("tcp.goodput"), "{}", ended.stdout);
    assert!(
        ended.stderr.contains("cannot write out") && ended.stderr.contains("--out"),
        "{}",
        ended.stderr
    );
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
}

fn refused() {
    let place = Place::of("study");
    place.file("own.toml", LOOPBACK);
    let many: String = (0..6)
        .map(|nth| {
            format!("[[parameter]]\nname = 'p{nth}'\nvalues = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]\n")
        })
        .collect();
    place.file("many.toml", &format!("{LOOPBACK}\n{many}"));
    place.file(
        "name.toml",
        &format!("{LOOPBACK}\n[[expect]]\nthat = 'tpc.goodput > 1'\n"),
    );
    place.file("key.toml", &LOOPBACK.replace("measure", "mesure"));
    place.file(
        "net.toml",
        &LAB.replace("to = \"h2\"\nbaseline", "to = \"h9\"\nbaseline"),
    );
    place.file(
        "link.toml",
        &LAB.replace("\"*.rate=10M\"", "\"bottleneck.rate=10M\""),
    );
    place.file(
        "control.toml",
        &format!("{LOOPBACK}congestion = 'nosuch'\n"),
    );
    for (words, code, expected) in [
        ("run nothing.toml", 2, "cannot read nothing.toml"),
        ("run many.toml", 2, "many.toml"),
        ("run name.toml", 2, "name.toml:"),
        ("check key.toml", 2, "key.toml:8"),
        ("check net.toml", 2, "there is no host \"h9\""),
        ("check link.toml", 2, "there is no link \"bottleneck\""),
        (
            "run own.toml --set speed=1",
            2,
            "there is no parameter \"speed\"",
        ),
        ("run own.toml --set time.measure=never", 2, "time.measure"),
        ("run own.toml --set time", 2, "has no value"),
        (
            "run control.toml",
            4,
            "control.toml cannot run here, because this kernel offers no congestion control \"nosuch\"",
        ),
        ("resume abcd", 2, "abcd"),
    ] {
        place.says(words).failed(code, &[expected]);
    }
}

fn dry() {
    let place = Place::of("study");
    place.file("lab.toml", LAB);
    let text = place.says("show lab.toml").done().stdout;
    assert_eq!(text, LAB);
    let cases = place.says("show lab.toml --cases").done().stdout;
    assert!(
        cases.contains("load=50%") && cases.contains("udp: UDP h1 > h2, 4.7"),
        "{cases}"
    );
    let changed = place
        .says("show lab.toml --set load=10% --set time.measure=2s")
        .done()
        .stdout;
    assert!(
        changed.contains("\"10%\"") && !changed.contains("\"50%\""),
        "{changed}"
    );
    place.file("own.toml", LOOPBACK);
    let said = place.says("check own.toml").done().stdout;
    for words in ["trials:   1", "loopback", "It can run here."] {
        assert!(said.contains(words), "{words}: {said}");
    }
    place.says("list").done();
    place.says("list --json").done().json();
    // Two clients that wait for their echoes keep a line of 100 Mbit/s busy for 11 ms a turn.
    place.file("echo.toml", ECHO);
    let said = place.says("check echo.toml").done().stdout;
    assert!(said.contains("time:     19 min"), "{said}");
}

fn schema() {
    let published = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/reference/experiment.schema.json"
    );
    let printed = Place::of("study").says("schema").done().stdout;
    assert_eq!(
        fs::read_to_string(published).unwrap(),
        printed,
        "run `cargo run -p xtask -- reference`"
    );
}
