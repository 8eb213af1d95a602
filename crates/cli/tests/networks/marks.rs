//! DSCP and ECN: as they arrive, and where they change, against a router that rewrites them and a queue that marks.

use crate::support::network::missing;
use crate::support::pair::Pair;
use crate::support::path_lab::PathLab;
use crate::support::{SOON, run, trial};
use libtest_mimic::Trial;
use serde_json::Value;

pub fn trials() -> Vec<Trial> {
    let nft = || missing(&["nft"]);
    vec![
        trial(
            "marks_that_a_router_rewrites_are_seen_and_located",
            nft(),
            rewritten,
        ),
        trial(
            "an_ecn_field_that_is_cleared_is_seen_and_located",
            nft(),
            cleared,
        ),
        trial(
            "marks_of_congestion_are_counted_as_the_queue_makes_them",
            missing(&[]),
            counted,
        ),
        trial(
            "tcp_asks_for_ecn_and_counts_its_marks",
            missing(&["sysctl"]),
            tcp,
        ),
    ]
}

/// Two hosts with two routers between them.
const ROUTED: &str = "[[host]]\nname = \"h1\"\n[[router]]\nname = \"r1\"\n[[router]]\nname = \"r2\"\n[[host]]\nname = \"h2\"\n\
    [[link]]\nbetween = [\"h1\", \"r1\"]\n[[link]]\nbetween = [\"r1\", \"r2\"]\ndelay = \"2ms\"\n[[link]]\nbetween = [\"r2\", \"h2\"]\n";

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// What `caudal` prints on h1, as JSON.
fn measured(lab: &PathLab, words: &str) -> Value {
    let program = env!("CARGO_BIN_EXE_caudal");
    json(&lab.does("h1", &format!("{program} {words} --json")))
}

/// The warnings about marks.
fn codes(run: &Value) -> Vec<&str> {
    let warnings = run["warnings"].as_array().unwrap().iter();
    let codes = warnings.filter_map(|one| one["code"].as_str());
    codes
        .filter(|code| code.contains("dscp") || code.contains("ecn"))
        .collect()
}

const TRACE: &str = "path h2 --no-capacity --no-mtu --no-routes --numeric --marks";

fn rewritten() {
    let lab = PathLab::up(ROUTED);
    let _server = lab.serve("");
    // Nothing is changed by the lab itself.
    let run = measured(&lab, "udp h2 -b 5M -t 500ms --dscp EF --ecn ect1");
    let marks = &run["summary"]["directions"][0]["marks"];
    let datagrams = run["flows"][0]["receiver"]["datagrams"].as_u64().unwrap();
    assert_eq!(
        marks["dscp"],
        serde_json::json!([{"dscp": 46, "packets": datagrams}])
    );
    assert_eq!(marks["ecn"]["ect1"], datagrams, "{marks}");
    assert!(codes(&run).is_empty(), "{run}");
    for path in [TRACE.to_owned(), format!("{TRACE} -4")] {
        let run = measured(&lab, &path);
        let traces = run["path"]["marks"].as_array().unwrap().iter();
        for trace in traces {
            assert_eq!(trace["changes"], serde_json::json!([]), "{trace}");
            assert_eq!(trace["hops"].as_array().unwrap().len(), 3, "{trace}");
        }
    }
    // The first router rewrites what it forwards in one direction, over both protocols.
    for family in ["ip", "ip6"] {
        lab.rule(
            "r1",
            "forward",
            &format!("{family} dscp ef {family} dscp set af11"),
        );
    }
    let run = measured(&lab, "rtt h2 --proto udp --every 5ms -t 500ms --dscp EF");
    let up = &run["summary"]["marks_up"];
    let sent = run["summary"]["messages"].as_u64().unwrap();
    assert_eq!(up["dscp"][0]["dscp"], 10, "{up}");
    assert!(
        up["dscp"][0]["packets"].as_u64().unwrap() >= sent,
        "{up}, {sent} sent"
    );
    assert_eq!(codes(&run), ["dscp_rewritten", "dscp_rewritten"], "{run}");
    for (path, hop) in [(TRACE.to_owned(), ":"), (format!("{TRACE} -4"), ".")] {
        let run = measured(&lab, &path);
        let change = &run["path"]["marks"][0]["changes"][0];
        assert_eq!(change["from"]["dscp"], 46, "{run}");
        assert_eq!(change["to"]["dscp"], 10, "{run}");
        assert_eq!(
            (&change["after_ttl"], &change["at_ttl"]),
            (&1.into(), &2.into())
        );
        assert!(change["after"].as_str().unwrap().contains(hop), "{change}");
        assert_eq!(run["path"]["marks"][1]["changes"], serde_json::json!([]));
    }
}

fn cleared() {
    let lab = PathLab::up(ROUTED);
    let _server = lab.serve("");
    for family in ["ip", "ip6"] {
        lab.rule("r2", "forward", &format!("{family} ecn set not-ect"));
    }
    let run = measured(&lab, "udp h2 -b 5M -t 500ms --ecn ect0");
    let ecn = &run["summary"]["directions"][0]["marks"]["ecn"];
    assert!(
        ecn["ect0"] == 0 && ecn["not_ect"].as_u64() > Some(100),
        "{ecn}"
    );
    assert_eq!(codes(&run), ["ecn_changed"], "{run}");
    let run = measured(&lab, TRACE);
    for trace in run["path"]["marks"].as_array().unwrap() {
        let change = &trace["changes"][0];
        assert_eq!(
            (&change["after_ttl"], &change["at_ttl"]),
            (&2.into(), &3.into()),
            "{trace}"
        );
        assert_eq!(change["to"]["ecn"], "not_ect");
    }
}

/// The frames that the queue towards h2 has marked.
fn marked(lab: &Pair) -> u64 {
    fn sum(value: &Value) -> u64 {
        match value {
            Value::Object(keys) => {
                // Those of the whole, not again those of its parts.
                match keys
                    .get("marked")
                    .and_then(|marked| marked["frames"].as_u64())
                {
                    Some(frames) => frames,
                    None => keys.values().map(sum).sum(),
                }
            }
            Value::Array(all) => all.iter().map(sum).sum(),
            _ => 0,
        }
    }
    sum(&lab.stats())
}

fn counted() {
    for (queue, ecn) in [
        ("discipline = \"codel\", ecn = true", "ect0"),
        ("discipline = \"dual\"", "ect1"),
    ] {
        let lab = Pair::up(&format!(
            "rate = \"10M\"\nqueue = {{ bytes = 200000, {queue} }}"
        ));
        let _server = lab.serve();
        let words = format!("udp h2 -b 10M -l 1000 -t 2s --ecn {ecn} --json");
        let run = json(&run(&mut lab.client(&words), SOON).done().stdout);
        let direction = &run["summary"]["directions"][0];
        let ce = direction["marks"]["ecn"]["ce"].as_u64().unwrap();
        assert!(ce > 10, "{queue}: {direction}");
        // Every mark that the queue made, and nothing else, arrives; frames of the last moment may have been lost.
        let made = marked(&lab);
        assert!(made.abs_diff(ce) <= 2, "{queue}: {made} made, {ce} arrived");
        let intervals = run["flows"][0]["intervals"].as_array().unwrap().iter();
        let by_interval: u64 = intervals.filter_map(|one| one["udp"]["ce"].as_u64()).sum();
        assert!(
            by_interval > 0 && by_interval <= ce,
            "{by_interval} of {ce}"
        );
        assert!(codes(&run).is_empty(), "{run}");
    }
}

fn tcp() {
    let lab = Pair::up(
        "rate = \"20M\"\ndelay = \"5ms\"\nqueue = { bytes = 200000, discipline = \"codel\", ecn = true }",
    );
    let _server = lab.serve();
    let setting = || {
        let mut read = lab.on("h1", "sysctl -n net.ipv4.tcp_ecn");
        run(&mut read, SOON).done().stdout.trim().to_owned()
    };
    let before = setting();
    for (flag, negotiated) in [("--ecn on", 1), ("--ecn off", 0)] {
        let words = format!("tcp h2 -t 2s {flag} --json");
        let run = json(&run(&mut lab.client(&words), SOON).done().stdout);
        let ecn = &run["summary"]["directions"][0]["tcp"]["ecn"];
        assert_eq!(ecn["negotiated"], negotiated, "{ecn}");
        if negotiated == 1 {
            assert!(ecn["delivered_ce"].as_u64() > Some(0), "{ecn}");
            // As often as the queue has marked, and no more: other segments than those of data may be among those it marked.
            let made = marked(&lab);
            if let Some(arrived) = ecn["arrived_ce"].as_u64() {
                assert!(
                    arrived > 0 && arrived <= made && arrived + 3 >= made,
                    "{made} made, {arrived} arrived"
                );
                assert!(ecn["arrived"].as_u64() > Some(500), "{ecn}");
            }
            assert_eq!(ecn["arrived_capable"], true, "{ecn}");
            assert_eq!(
                run["summary"]["directions"][0]["tcp"]["retransmits"], 0,
                "{run}"
            );
        }
        // This host is as it was.
        assert_eq!(setting(), before);
    }
}
