//! The traffic of others: what passes the interfaces beside a test is told, and a test alone has none.

use crate::support::network::{Network, inside, missing_shaper};
use crate::support::{Running, Serve, trial};
use libtest_mimic::Trial;
use serde_json::Value;
use std::thread;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(60);

pub fn trials() -> Vec<Trial> {
    let in_network = |name, test: fn()| trial(name, missing_shaper(), test);
    vec![
        in_network("other_traffic_beside_a_test_is_named_with_its_rate", beside),
        in_network("a_test_alone_has_no_other_traffic", alone),
        in_network(
            "another_test_of_the_server_is_told_with_its_time",
            another_test,
        ),
    ]
}

fn direction(run: &Value) -> &Value {
    &run["summary"]["directions"][0]
}

fn warning<'a>(run: &'a Value, code: &str) -> Option<&'a str> {
    let all = run["warnings"].as_array().unwrap();
    let found = all.iter().find(|one| one["code"] == code);
    found.and_then(|one| one["message"].as_str())
}

/// The rates of other traffic at an end, Mbit/s.
fn other(run: &Value, end: &str) -> Option<(f64, f64)> {
    let all = direction(run)["other_traffic"].as_array()?;
    let found = all.iter().find(|one| one["end"] == end)?;
    let mbps = |key: &str| found[key].as_f64().unwrap() / 1e6;
    Some((mbps("min_bps"), mbps("max_bps")))
}

fn beside() {
    let network = Network::build();
    network.shape("50mbit");
    let _server = network.serve("");
    let mut command = inside(&network.server, env!("CARGO_BIN_EXE_caudal"));
    let _others = Serve::of(command.args(["serve", "-p", "5300"]));
    for (words, end, passed) in [
        ("tcp -t 4", "client", "sent by this host on v0"),
        ("udp -b 10M -t 4", "client", "sent by this host on v0"),
        ("tcp -R -t 4", "server", "sent by the server's host on v0"),
    ] {
        // The same direction, begun before and ended after.
        let reverse = if end == "server" { "-R " } else { "" };
        let mut command =
            network.client(&format!("udp -p 5300 {reverse}-b 20M -l 1400 -t 8 --json"));
        let others = Running::start(&mut command);
        thread::sleep(Duration::from_millis(1500));
        let run = network.run_client(&format!("{words} --json")).done().json();
        let others = others.wait(LIMIT).done().json();
        // 1442 bytes a frame of 1400.
        let sent = 20.0 * 1442.0 / 1400.0;
        let (min, max) = other(&run, end).unwrap_or_else(|| panic!("{words}: {}", direction(&run)));
        assert!(
            min < 1.05 * sent && max > 0.95 * sent && max - min < 3.0,
            "{words}: {min} to {max} Mbit/s of {sent}"
        );
        let told = warning(&run, "other_traffic").unwrap();
        assert!(told.contains(passed), "{words}: {told}");
        // The other one sees this one in the same way.
        assert!(
            other(&others, end).is_some(),
            "{words}: {}",
            direction(&others)
        );
        assert_eq!(
            warning(&run, "another_test"),
            None,
            "{words}: another server"
        );
    }
}

fn alone() {
    let network = Network::build();
    network.shape("50mbit");
    let _server = network.serve("");
    for words in [
        "tcp -t 2",
        "tcp -R -t 2",
        "tcp --bidir -P 4 -t 2",
        "tcp -b 1M -t 2",
        "udp -b 20M -t 2",
        "udp -R -b 500k -l 100 -t 2",
        "udp -b 80M -t 2",
        "udp -b 20M -l 4000 -t 2",
    ] {
        let run = network.run_client(&format!("{words} --json")).done().json();
        for direction in run["summary"]["directions"].as_array().unwrap() {
            assert!(direction["other_traffic"].is_null(), "{words}: {direction}");
        }
        assert_eq!(warning(&run, "other_traffic"), None, "{words}");
        assert_eq!(warning(&run, "host_drops"), None, "{words}");
        let interface = &run["summary"]["cpu"]["client"]["interface"];
        let count = |key: &str| interface[key].as_u64().unwrap();
        assert!(
            count("sent_bytes") + count("received_bytes") > 100_000,
            "{words}: {interface}"
        );
    }
}

fn another_test() {
    let network = Network::build();
    let _server = network.serve("");
    let first = Running::start(&mut network.client("tcp -b 5M -t 5 --json"));
    thread::sleep(Duration::from_secs(2));
    let second = network.run_client("rtt -t 1 --json").done().json();
    let first = first.wait(LIMIT).done().json();
    let time = |run: &Value| {
        let all = run["episodes"].as_array().unwrap();
        assert_eq!(all.len(), 1, "{all:?}");
        assert_eq!(all[0]["kind"], "another_test");
        (
            all[0]["from_s"].as_f64().unwrap(),
            all[0]["to_s"].as_f64().unwrap(),
        )
    };
    let (from_s, to_s) = time(&first);
    assert!(
        (1.0..3.5).contains(&from_s) && (0.9..2.0).contains(&(to_s - from_s)),
        "{from_s} {to_s}"
    );
    assert_eq!(time(&second).0, 0.0);
    assert!(
        warning(&first, "another_test")
            .unwrap()
            .contains("another test of this server ran from")
    );
    assert!(first["summary"]["cut_short"].is_null());
    let trusted = &direction(&first)["limited_by"]["limit"];
    assert_eq!(trusted, "pacing", "another test is no limit by itself");
}
