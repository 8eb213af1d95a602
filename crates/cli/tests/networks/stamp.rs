//! STAMP through routers that drop, rewrite and count: every figure against what was done to the packets.

use crate::support::network::missing;
use crate::support::pair::Pair;
use crate::support::path_lab::PathLab;
use crate::support::{Running, SOON, run, trial};
use libtest_mimic::Trial;
use serde_json::Value;
use std::thread;
use std::time::Duration;

pub fn trials() -> Vec<Trial> {
    let nft = || missing(&["nft"]);
    vec![
        trial(
            "losses_of_each_direction_are_those_that_a_router_made",
            nft(),
            losses,
        ),
        trial("marks_of_each_direction_and_hops_are_seen", nft(), marks),
        trial(
            "delays_and_a_path_that_dies_are_told_as_far_as_they_can_be",
            missing(&[]),
            delays,
        ),
        trial(
            "duplicates_are_told_by_the_direction_that_made_them",
            missing(&[]),
            duplicates,
        ),
    ]
}

/// Two hosts with two routers between them, of which the second delays.
const ROUTED: &str = "[[host]]\nname = \"h1\"\n[[router]]\nname = \"r1\"\n[[router]]\nname = \"r2\"\n[[host]]\nname = \"h2\"\n\
    [[link]]\nbetween = [\"h1\", \"r1\"]\n[[link]]\nbetween = [\"r1\", \"r2\"]\ndelay = \"15ms\"\n[[link]]\nbetween = [\"r2\", \"h2\"]\n";

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// What `caudal stamp` prints on h1, as JSON.
fn measured(lab: &PathLab, words: &str) -> Value {
    let program = env!("CARGO_BIN_EXE_caudal");
    parsed(&lab.does("h1", &format!("{program} stamp {words} --json")))
}

fn codes(run: &Value) -> Vec<&str> {
    let warnings = run["warnings"].as_array().unwrap().iter();
    let codes = warnings.filter_map(|one| one["code"].as_str());
    codes.filter(|code| *code != "schedule_late").collect()
}

/// Packets lost on the way there, on the way back, and in a direction that cannot be told.
fn lost(run: &Value) -> (Option<u64>, Option<u64>, u64) {
    let stamp = &run["stamp"];
    (
        stamp["up"]["lost"].as_u64(),
        stamp["down"]["lost"].as_u64(),
        stamp["undecided"].as_u64().unwrap(),
    )
}

fn losses() {
    let lab = PathLab::up(ROUTED);
    let server = lab.serve("--stamp --stamp-rate 10000");
    server.line_with("STAMP on UDP ");
    let stateless = lab.serve("-p 5300 --stamp 1862 --stamp-stateless --stamp-rate 10000");
    // A packet every 2 ms on a path of 30 ms: 15 are under way at any time.
    let test = "h2 --count 500 --every 2ms --timeout 500ms";
    for family in ["-4", "-6"] {
        let run = measured(&lab, &format!("{test} {family}"));
        assert_eq!(lost(&run), (Some(0), Some(0), 0), "{}", run["stamp"]);
        let rtt = run["stamp"]["packets"]["rtt_us"]["p50"].as_f64().unwrap();
        assert!((30_000.0..33_000.0).contains(&rtt), "{rtt}");
    }
    // Every 50th packet there from the 8th on: 10 of 500.
    lab.rule(
        "r1",
        "forward",
        "udp dport {862,1862} numgen inc mod 50 == 7 drop",
    );
    let run = measured(&lab, test);
    assert_eq!(lost(&run), (Some(10), Some(0), 0), "{}", run["stamp"]);
    // Without its counts, by the reflector's numbers alone.
    let run = measured(&lab, &format!("{test} --extensions none"));
    assert_eq!(lost(&run), (Some(10), Some(0), 0), "{}", run["stamp"]);
    let run = measured(&lab, &format!("{test} -p 1862"));
    assert_eq!(lost(&run), (None, None, 10), "{}", run["stamp"]);
    // And every 40th of the 490 replies from the 4th on: 13.
    lab.rule(
        "r1",
        "forward",
        "udp sport {862,1862} numgen inc mod 40 == 3 drop",
    );
    for extensions in ["direct-measurement", "none"] {
        let run = measured(&lab, &format!("{test} --extensions {extensions}"));
        let (up, down, undecided) = lost(&run);
        assert_eq!(
            up.unwrap() + down.unwrap() + undecided,
            run["stamp"]["packets"]["lost"].as_u64().unwrap()
        );
        assert_eq!(up, Some(10), "{}", run["stamp"]);
        assert!(down.unwrap().abs_diff(13) <= 1, "{}", run["stamp"]);
        assert!(codes(&run).is_empty(), "{run}");
    }
    answered(&lab, server);
    answered(&lab, stateless);
}

/// Ends a server: its reflector has answered some packets, and dropped none.
fn answered(lab: &PathLab, server: Running) {
    lab.interrupt(&server);
    let ended = server.wait(SOON);
    let line = ended
        .stdout
        .lines()
        .rfind(|line| line.contains(" packets answered"));
    assert!(line.unwrap().ends_with("none dropped"), "{}", ended.stdout);
}

fn marks() {
    let lab = PathLab::up(ROUTED);
    let _server = lab.serve("--stamp");
    let test = "h2 --count 50 --every 5ms --dscp EF --extensions all";
    for (family, rule) in [("-4", "ip"), ("-6", "ip6")] {
        let run = measured(&lab, &format!("{test} {family}"));
        let stamp = &run["stamp"];
        for way in ["marks_up", "marks_down"] {
            let expected = serde_json::json!([{"dscp": 46, "packets": 50}]);
            assert_eq!(stamp[way]["dscp"], expected, "{way}: {stamp}");
        }
        assert_eq!(
            (&stamp["hops_up"], &stamp["hops_down"]),
            (&2.into(), &2.into()),
            "{stamp}"
        );
        let answers = stamp["extensions"].as_array().unwrap();
        assert!(
            answers.len() == 6 && answers.iter().all(|one| one["is_answered"] == true),
            "{stamp}"
        );
        assert!(codes(&run).is_empty(), "{run}");
        // The first router rewrites what goes there, and not what comes back.
        lab.rule(
            "r1",
            "forward",
            &format!("udp dport 862 {rule} dscp ef {rule} dscp set af11"),
        );
        let run = measured(&lab, &format!("{test} {family}"));
        let stamp = &run["stamp"];
        assert_eq!(
            stamp["marks_up"]["dscp"],
            serde_json::json!([{"dscp": 10, "packets": 50}])
        );
        assert_eq!(
            stamp["marks_down"]["dscp"],
            serde_json::json!([{"dscp": 46, "packets": 50}])
        );
        assert_eq!(codes(&run), ["dscp_rewritten"], "{run}");
    }
}

/// What `caudal stamp` prints in a lab of one link, as JSON.
fn of_pair(lab: &Pair, words: &str) -> Value {
    let program = env!("CARGO_BIN_EXE_caudal");
    let words = format!("{program} stamp {words} --json");
    parsed(&run(&mut lab.on("h1", &words), SOON).done().stdout)
}

/// Another packet in 20 arrives twice, at either end.
fn duplicates() {
    let lab =
        Pair::up("rate = \"50M\"\ndelay = \"5ms\"\nduplicate = \"5%\"\nqueue = { bytes = 200000 }");
    let program = env!("CARGO_BIN_EXE_caudal");
    let server = Running::start(&mut lab.on("h2", &format!("{program} serve --stamp")));
    server.line_with("STAMP on UDP ");
    let run = of_pair(&lab, "h2 -4 --count 400 --every 3ms");
    let stamp = &run["stamp"];
    assert_eq!(lost(&run), (Some(0), Some(0), 0), "{stamp}");
    for way in ["up", "down"] {
        let twice = stamp[way]["duplicate"].as_u64().unwrap();
        // 20 are expected, with a standard deviation of 4.4.
        assert!((3..=45).contains(&twice), "{way}: {stamp}");
    }
}

fn delays() {
    let lab = Pair::up("rate = \"50M\"\ndelay = \"5ms\"\nqueue = { bytes = 200000 }");
    let program = env!("CARGO_BIN_EXE_caudal");
    let server = Running::start(&mut lab.on("h2", &format!("{program} serve --stamp")));
    server.line_with("STAMP on UDP ");
    // 5 ms there, 20 ms back: the clocks are one, which their ends do not know.
    lab.set("h1-h2 --backward delay=20ms");
    let run = of_pair(&lab, "h2 -4 --count 300 --every 3ms");
    let (up, down) = (
        &run["stamp"]["packets"]["up"],
        &run["stamp"]["packets"]["down"],
    );
    for (way, true_us) in [(up, 5000.0), (down, 20_000.0)] {
        let (delay, bound) = (
            way["delay_us"]["p50"].as_f64().unwrap(),
            way["bound_us"].as_f64().unwrap(),
        );
        assert!((delay - true_us).abs() < bound + 1000.0, "{way}");
        assert!(bound < 14_000.0, "{way}");
    }
    // The path dies in the middle: what was sent since is lost, and nobody knows where.
    let words = format!("{program} stamp h2 -4 --count 600 --every 3ms --timeout 300ms --json");
    let test = Running::start(&mut lab.on("h1", &words));
    thread::sleep(Duration::from_millis(900));
    lab.set("h1-h2 loss=100%");
    let run = parsed(&test.wait(SOON).done().stdout);
    let (up, down, undecided) = lost(&run);
    assert_eq!((up, down), (Some(0), Some(0)), "{}", run["stamp"]);
    assert_eq!(undecided, run["stamp"]["packets"]["lost"].as_u64().unwrap());
    assert!(undecided > 50, "{undecided}");
}
