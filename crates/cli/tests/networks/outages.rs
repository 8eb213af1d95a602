//! Silence is a result: paths that die and come back, peers and programs that stand still, and segments that a path drops are
//! named with their times, and nothing else is blamed for them.

use crate::support::network::{Network, inside, missing};
use crate::support::pair::Pair;
use crate::support::{Running, trial};
use libtest_mimic::Trial;
use serde_json::Value;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// The time after which something happens to the tests, which have begun by then.
const BEFORE: Duration = Duration::from_secs(3);
/// The time for which a program is stopped.
const PAUSE: Duration = Duration::from_millis(500);
/// The time for which a path is interrupted, and the maximum that cutting it may take.
const OUTAGE: Duration = Duration::from_secs(2);
/// The maximum number of times that a test is made anew because that took longer.
const MAX_ATTEMPTS: u32 = 3;
/// The maximum time of a test: its own, the silence after which a peer is lost, and what a busy machine adds.
const LIMIT: Duration = Duration::from_secs(60);

pub fn trials() -> Vec<Trial> {
    let in_network = |name, test: fn()| trial(name, missing(&["nft", "sysctl"]), test);
    vec![
        in_network("a_path_that_dies_ends_the_test_and_is_named", dead_path),
        in_network("an_outage_is_named_and_nothing_else_is_blamed", outage),
        in_network(
            "an_interface_that_is_down_is_named_at_its_end",
            interface_down,
        ),
        in_network("an_interface_that_is_removed_is_named", removed_interface),
        in_network(
            "an_interface_that_is_made_anew_ends_its_outage",
            interface_made_anew,
        ),
        in_network(
            "another_route_is_named_at_the_end_that_takes_it",
            changed_routes,
        ),
        in_network("a_peer_that_stands_still_is_no_outage", stopped_peer),
        in_network("a_peer_that_stays_still_ends_the_test", lost_peer),
        in_network("this_program_stopped_is_no_loss", stopped_client),
        in_network(
            "half_a_second_without_this_program_leaves_the_statistics",
            paused_client,
        ),
        in_network(
            "half_a_second_without_the_server_leaves_the_statistics",
            paused_server,
        ),
        in_network("segments_lost_for_their_size_are_named", black_hole),
        in_network("delayed_acknowledgements_are_no_round_trips", paced_upload),
    ]
}

/// A server, and clients of it that run at the same time.
struct Tests {
    network: Network,
    server: crate::support::Serve,
    clients: Vec<(String, Running)>,
}

impl Tests {
    fn start(words: &[&str]) -> Self {
        let network = Network::build();
        // Nothing passes as more than one segment: a rule sees what a router would.
        for space in [&network.client, &network.server] {
            set(space, "ip", "link set v0 gso_max_segs 1");
        }
        let server = network.serve("");
        let mut tests = Self {
            network,
            server,
            clients: Vec::new(),
        };
        tests.add(words);
        tests
    }

    fn add(&mut self, all: &[&str]) {
        for words in all {
            let mut command = self.network.client(&format!("{words} --json"));
            self.clients
                .push(((*words).to_owned(), Running::start(&mut command)));
        }
    }

    /// Drops everything that reaches either end.
    fn interrupt(&self) {
        for space in [&self.network.client, &self.network.server] {
            Network::rules(space, &["drop"]);
        }
    }

    fn restore(&self) {
        for space in [&self.network.client, &self.network.server] {
            set(space, "nft", "flush chain inet t in");
        }
    }

    /// The runs of all clients, which end with this code.
    fn runs(mut self, code: i32) -> Vec<(String, Value)> {
        let clients = std::mem::take(&mut self.clients);
        let ended = clients.into_iter().map(|(words, client)| {
            let ended = client.wait(LIMIT);
            assert_eq!(ended.code, Some(code), "{words}: {ended:#?}");
            (words, ended.json())
        });
        ended.collect()
    }
}

fn set(space: &str, program: &str, words: &str) {
    let done = inside(space, program).args(words.split(' ')).output();
    let done = done.unwrap();
    assert!(done.status.success(), "{program} {words}: {done:?}");
}

/// The first episode of a kind; its beginning and, where it has one, its end, s.
#[track_caller]
fn episode(words: &str, run: &Value, kind: &str) -> (f64, Option<f64>) {
    let all = run["episodes"].as_array();
    let found = all.and_then(|all| all.iter().find(|one| one["kind"] == kind));
    let Some(found) = found else {
        panic!(
            "{words}: no {kind}: {} {}",
            run["episodes"], run["warnings"]
        );
    };
    (found["from_s"].as_f64().unwrap(), found["to_s"].as_f64())
}

fn directions(run: &Value) -> Vec<Value> {
    let all = run["summary"]["directions"].as_array();
    all.cloned().unwrap_or_default()
}

fn dead_path() {
    let tests = Tests::start(&[
        "tcp -b 5M -t 30",
        "tcp -R -b 5M -t 30",
        "udp -b 1M -t 30",
        "udp -R -b 1M -t 30",
        "rtt -t 30",
        "rtt --proto udp -t 30",
        "rtt --every 20ms -t 30",
        "rtt --proto udp --every 20ms -t 30",
        "quality --idle 30 -t 5",
    ]);
    thread::sleep(BEFORE);
    tests.interrupt();
    for (words, run) in tests.runs(3) {
        let (from_s, to_s) = episode(&words, &run, "path_silent");
        assert!(
            from_s < 12.0 && to_s.is_none(),
            "{words}: {}",
            run["episodes"]
        );
        let lost = run["summary"]["lost"].as_u64();
        let min_lost = if words.contains("--every") { 100 } else { 1 };
        assert!(
            lost.is_none_or(|lost| lost >= min_lost),
            "{words}: {lost:?}"
        );
        for direction in directions(&run) {
            // What was measured until then is the result.
            let mean = direction["goodput_bps"]["mean"].as_f64().unwrap();
            let asked = if words.starts_with("udp") { 1e6 } else { 5e6 };
            assert!((0.6..1.2).contains(&(mean / asked)), "{words}: {direction}");
        }
    }
}

/// Tests during which the path was interrupted for two seconds: made anew where a busy machine took that long to cut it, so that the
/// end of the outage would be the end of the tests.
fn interrupted_tests() -> Tests {
    for attempt in 1.. {
        let tests = Tests::start(&[
            "tcp -b 5M -t 9",
            "tcp -R -b 5M -t 9",
            "udp -b 1M -t 9",
            "udp -R -b 1M -t 9",
            "rtt -t 9",
            "rtt --proto udp --every 20ms -t 9",
        ]);
        thread::sleep(BEFORE);
        let began = Instant::now();
        tests.interrupt();
        let took = began.elapsed();
        thread::sleep(OUTAGE);
        tests.restore();
        if took < OUTAGE || attempt == MAX_ATTEMPTS {
            return tests;
        }
    }
    unreachable!("the last attempt returns");
}

fn outage() {
    for (words, run) in interrupted_tests().runs(0) {
        let (from_s, to_s) = episode(&words, &run, "path_silent");
        // TCP's timer has backed off by then, and the path is silent for as long.
        let lasted_s = to_s.unwrap() - from_s;
        assert!(
            (1.4..6.0).contains(&lasted_s),
            "{words}: {}",
            run["episodes"]
        );
        let messages_lost = run["summary"]["lost"].as_u64();
        if words.contains("--every") {
            assert!(messages_lost > Some(50), "{words}: {messages_lost:?}");
        }
        for direction in directions(&run) {
            let found = &direction["limited_by"];
            assert_eq!(found["cause"], "outage", "{words}: {found}");
            assert_eq!(direction["goodput_trusted"], false, "{words}");
        }
    }
}

/// The interface of one end is taken down, by which that of the other loses its carrier: both are told, each at its end.
fn interface_down() {
    for at_client in [true, false] {
        let tests = Tests::start(&[
            "tcp -b 5M -t 9",
            "tcp -R -b 5M -t 9",
            "udp -b 1M -t 9",
            "udp -R -b 1M -t 9",
        ]);
        let space = match at_client {
            true => &tests.network.client,
            false => &tests.network.server,
        };
        thread::sleep(BEFORE);
        set(space, "ip", "link set v0 down");
        thread::sleep(OUTAGE);
        set(space, "ip", "link set v0 up");
        let [of_client, of_server] = match at_client {
            true => ["was taken down", "had no carrier"],
            false => ["had no carrier", "was taken down"],
        };
        for (words, run) in tests.runs(0) {
            let (from_s, to_s) = episode(&words, &run, "interface_down");
            let lasted_s = to_s.unwrap() - from_s;
            assert!(
                (1.2..5.0).contains(&lasted_s),
                "{words}: {}",
                run["episodes"]
            );
            for direction in directions(&run) {
                let found = &direction["limited_by"];
                assert_eq!(found["cause"], "outage", "{words}: {found}");
                let evidence = found["evidence"].as_str().unwrap();
                assert!(evidence.contains(", as v0 of "), "{words}: {found}");
            }
            let warnings = run["warnings"].as_array().unwrap();
            let messages: Vec<&str> = warnings
                .iter()
                .filter(|one| one["code"] == "interface_down")
                .map(|one| one["message"].as_str().unwrap())
                .collect();
            for told in [
                format!("v0 of this host {of_client}"),
                format!("v0 of the server {of_server}"),
            ] {
                let is_told = messages.iter().any(|message| message.ends_with(&told));
                assert!(is_told, "{words}: {messages:?}");
            }
        }
    }
}

/// The messages of the warnings with this code.
fn messages<'r>(run: &'r Value, code: &str) -> Vec<&'r str> {
    let warnings = run["warnings"].as_array().unwrap().iter();
    warnings
        .filter(|one| one["code"] == code)
        .map(|one| one["message"].as_str().unwrap())
        .collect()
}

fn removed_interface() {
    let tests = Tests::start(&["tcp -b 5M -t 30", "udp -R -b 1M -t 30"]);
    thread::sleep(BEFORE);
    set(&tests.network.client, "ip", "link del v0");
    for (words, run) in tests.runs(3) {
        let (from_s, to_s) = episode(&words, &run, "interface_down");
        assert!(from_s < 12.0 && to_s.is_none(), "{words}: {run}");
        let told = messages(&run, "interface_down");
        let is_told = |message: &&str| message.ends_with("v0 of this host was removed");
        assert!(told.iter().any(is_told), "{words}: {told:?}");
    }
}

/// An interface that is made anew under its name is used again, and its outage ends then.
fn interface_made_anew() {
    let tests = Tests::start(&["tcp -b 5M -t 12", "udp -b 1M -t 12"]);
    let Network { client, server } = &tests.network;
    thread::sleep(BEFORE);
    set(client, "ip", "link del v0");
    thread::sleep(OUTAGE);
    let pair = format!("link add name v0 type veth peer name v0 netns {server}");
    set(client, "ip", &pair);
    for (space, address) in [(client, "10.77.0.1/24"), (server, "10.77.0.2/24")] {
        set(space, "ip", &format!("addr add {address} dev v0"));
        set(space, "ip", "link set v0 up");
    }
    for (words, run) in tests.runs(0) {
        let (from_s, to_s) = episode(&words, &run, "interface_down");
        let lasted_s = to_s.unwrap() - from_s;
        assert!(
            (1.0..6.0).contains(&lasted_s),
            "{words}: {}",
            run["episodes"]
        );
        assert!(messages(&run, "route_changed").is_empty(), "{words}: {run}");
    }
}

/// One end after the other sends by way of a router, which is the other end by another address: nothing is lost, and nothing else changes.
fn changed_routes() {
    let tests = Tests::start(&["tcp -b 5M -t 8", "udp -R -b 1M -t 8"]);
    for (space, address) in [
        (&tests.network.client, "10.77.0.8/24"),
        (&tests.network.server, "10.77.0.9/24"),
    ] {
        set(space, "ip", &format!("addr add {address} dev v0"));
    }
    thread::sleep(BEFORE);
    let to_server = "route add 10.77.0.2/32 via 10.77.0.9 dev v0";
    set(&tests.network.client, "ip", to_server);
    thread::sleep(Duration::from_secs(1));
    let to_client = "route add 10.77.0.1/32 via 10.77.0.8 dev v0";
    set(&tests.network.server, "ip", to_client);
    for (words, run) in tests.runs(0) {
        let told = messages(&run, "route_changed");
        let expected = [
            "that of this host: by v0 until then, by v0 through 10.77.0.9 since",
            "that of the server: by v0 until then, by v0 through 10.77.0.8 since",
        ];
        for expected in expected {
            let is_told = |message: &&str| message.ends_with(expected);
            assert!(told.iter().any(is_told), "{words}: {told:?}");
        }
        assert_eq!(told.len(), 2, "{words}: {told:?}");
        let down = messages(&run, "interface_down");
        assert!(down.is_empty(), "{words}: {down:?}");
    }
}

fn stopped_peer() {
    let tests = Tests::start(&[
        "tcp -b 5M -t 9",
        "tcp -R -b 5M -t 9",
        "udp -R -b 1M -t 9",
        "rtt -t 9",
    ]);
    thread::sleep(BEFORE);
    tests.server.running.signal("STOP");
    thread::sleep(Duration::from_millis(2500));
    tests.server.running.signal("CONT");
    for (words, run) in tests.runs(0) {
        let (from_s, to_s) = episode(&words, &run, "peer_stopped");
        let lasted_s = to_s.unwrap() - from_s;
        assert!(
            (1.5..5.0).contains(&lasted_s),
            "{words}: {}",
            run["episodes"]
        );
        for direction in directions(&run) {
            assert_eq!(direction["limited_by"]["cause"], "stopped", "{words}");
        }
    }
}

fn lost_peer() {
    let tests = Tests::start(&[
        "tcp -b 5M -t 30",
        "udp -b 1M -t 30",
        "rtt --proto udp -t 30",
    ]);
    thread::sleep(BEFORE);
    tests.server.running.signal("STOP");
    for (words, run) in tests.runs(3) {
        assert_eq!(episode(&words, &run, "peer_stopped").1, None, "{words}");
    }
}

fn stopped_client() {
    let tests = Tests::start(&[
        "tcp -b 5M -t 9",
        "udp -b 1M -t 9",
        "rtt -t 9",
        "rtt --proto udp --every 20ms -t 9",
    ]);
    thread::sleep(BEFORE);
    for (_, client) in &tests.clients {
        client.signal("STOP");
    }
    thread::sleep(Duration::from_secs(3));
    for (_, client) in &tests.clients {
        client.signal("CONT");
    }
    for (words, run) in tests.runs(0) {
        let (from_s, to_s) = episode(&words, &run, "program_stopped");
        let lasted_s = to_s.unwrap() - from_s;
        assert!(
            (2.0..5.0).contains(&lasted_s),
            "{words}: {}",
            run["episodes"]
        );
        let kinds = run["episodes"].as_array().unwrap().iter();
        let blames_the_path = |one: &Value| one["kind"] == "path_silent";
        assert!(
            !kinds.clone().any(blames_the_path),
            "{words}: {}",
            run["episodes"]
        );
        if words.starts_with("rtt") {
            assert_eq!(run["summary"]["lost"], 0, "{words}");
            let max_us = run["summary"]["rtt_us"]["max"].as_f64().unwrap();
            assert!(max_us < 2e6, "{words}: {max_us}");
        }
    }
}

fn paused_client() {
    half_a_second_without(
        |tests| tests.clients.iter().map(|(_, one)| one).collect(),
        "program_stopped",
    );
}

fn paused_server() {
    half_a_second_without(|tests| vec![&tests.server.running], "peer_stopped");
}

/// Tests in which some programs stand still for a while: it is told, and what it delayed is not in the statistics.
fn half_a_second_without(programs: fn(&Tests) -> Vec<&Running>, kind: &str) {
    let tests = Tests::start(&[
        "tcp -b 5M -t 6",
        "udp -R -b 1M -t 6",
        "rtt -t 6",
        "rtt --proto udp --every 20ms -t 6",
        "quality --idle 6 -t 2",
    ]);
    thread::sleep(BEFORE);
    for program in programs(&tests) {
        program.signal("STOP");
    }
    thread::sleep(PAUSE);
    for program in programs(&tests) {
        program.signal("CONT");
    }
    for (words, run) in tests.runs(0) {
        let (from_s, to_s) = episode(&words, &run, kind);
        let lasted_s = to_s.unwrap() - from_s;
        assert!(
            (0.3..2.0).contains(&lasted_s),
            "{words}: {}",
            run["episodes"]
        );
        let max_us = match words.split(' ').next() {
            Some("rtt") => {
                assert_eq!(run["summary"]["lost"], 0, "{words}");
                run["summary"]["rtt_us"]["max"].as_f64()
            }
            Some("quality") => run["quality"]["phases"][0]["probes"][0]["max_us"].as_f64(),
            _ => None,
        };
        let max_us = max_us.unwrap_or(0.0);
        assert!(max_us < 0.8 * PAUSE.as_micros() as f64, "{words}: {max_us}");
    }
}

fn black_hole() {
    let mut tests = Tests::start(&[]);
    for space in [&tests.network.client, &tests.network.server] {
        Network::rules(space, &["meta length > 1400 drop"]);
    }
    tests.add(&["tcp -t 6", "tcp -R -t 6"]);
    for (words, run) in tests.runs(3) {
        let (from_s, to_s) = episode(&words, &run, "mtu_black_hole");
        assert_eq!((from_s, to_s), (0.0, None), "{words}");
        let found = &directions(&run)[0]["limited_by"];
        assert_eq!(found["cause"], "mtu_black_hole", "{words}: {found}");
    }
}

fn paced_upload() {
    let rates = ["500k", "1M", "2M", "5M"];
    let network = Network::build();
    let _server = network.serve("");
    let pair = Pair::up("delay = \"10ms\"");
    let _far = pair.serve();
    let far = |rate: &str| pair.client(&format!("tcp h2 -b {rate} -t 5 --json"));
    let near = |rate: &str| network.client(&format!("tcp -b {rate} -t 5 --json"));
    let started: Vec<(f64, Running)> = rates
        .iter()
        .flat_map(|rate| [(0.0, near(rate)), (20_000.0, far(rate))])
        .map(|(path_us, mut command): (f64, Command)| (path_us, Running::start(&mut command)))
        .collect();
    for (path_us, client) in started {
        let run = client.wait(LIMIT).done().json();
        let direction = &directions(&run)[0];
        // A delayed acknowledgement adds 40 ms, or the time to the next segment.
        let mean_us = direction["tcp"]["rtt_mean_us"].as_f64().unwrap();
        assert!(
            (path_us..path_us + 15_000.0).contains(&mean_us),
            "{path_us}: {direction}"
        );
        assert_eq!(direction["limited_by"]["limit"], "pacing", "{direction}");
        let granted = &run["flows"][0]["receiver"]["granted"];
        assert_eq!(granted["quick_ack"], true, "{granted}");
    }
}
