//! docs/reference/json.md against the JSON the program prints: every key is documented with its type, and
//! every key documented as present is there.

use crate::support::reference::{self, Reference, Row};
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::Command;

trials! {
    latency_under_load_is_what_the_reference_says,
    connections_are_what_the_reference_says,
    a_test_with_stamp_is_what_the_reference_says,
    a_check_is_what_the_reference_says,
    file_transfers_are_what_the_reference_says,
    a_tcp_run_is_what_the_reference_says,
    a_udp_run_is_what_the_reference_says,
    a_udp_run_at_full_speed_is_what_the_reference_says,
    a_run_in_both_directions_is_what_the_reference_says,
    a_run_of_some_bytes_against_a_link_is_what_the_reference_says,
    repeated_runs_are_what_the_reference_says,
    a_search_is_what_the_reference_says,
    the_events_of_a_run_are_what_the_reference_says,
    the_events_of_a_search_are_what_the_reference_says,
    round_trips_over_tcp_are_what_the_reference_says,
    round_trips_on_a_schedule_are_what_the_reference_says,
    the_events_of_round_trips_are_what_the_reference_says,
    the_events_of_round_trips_of_one_size_are_what_the_reference_says,
    round_trips_against_a_link_are_what_the_reference_says,
    predictions_are_what_the_reference_says,
    what_a_server_of_iperf3_cannot_tell_is_absent,
    what_a_server_of_iperf2_cannot_tell_is_absent,
    a_key_that_nobody_documented_is_noticed,
}

fn page() -> Reference {
    Reference::read("json.md")
}

/// What in a value is not as these rows say; all of it is on this page.
fn disagreements(value: &Value, rows: &[Row], words: &[&str]) -> Vec<String> {
    reference::disagreements(value, rows, words, &[])
}

/// What the program prints for these arguments.
fn printed(arguments: &str) -> String {
    printed_by(arguments, &[0])
}

/// The same of a command that ends with one of these codes.
fn printed_by(arguments: &str, codes: &[i32]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_caudal"));
    crate::support::keep_nothing(&mut command);
    let output = command
        .args(arguments.split_whitespace())
        .output()
        .expect("the program was built for this test");
    let errors = String::from_utf8_lossy(&output.stderr);
    let is_expected = output
        .status
        .code()
        .is_some_and(|code| codes.contains(&code));
    assert!(is_expected, "caudal {arguments}: {errors}");
    String::from_utf8(output.stdout).expect("JSON is UTF-8")
}

#[track_caller]
fn assert_documented(arguments: &str, words: &[&str]) {
    let run: Value =
        serde_json::from_str(&printed(arguments)).expect("the output is one JSON object");
    let wrong = disagreements(&run, &page().expand("run"), words);
    assert!(
        wrong.is_empty(),
        "caudal {arguments}:\n{}",
        wrong.join("\n")
    );
}

#[track_caller]
fn assert_events_documented(arguments: &str, words: &[&str], expected: &[&str]) {
    let reference = page();
    let mut seen = BTreeSet::new();
    for line in printed(arguments).lines() {
        let event: Value = serde_json::from_str(line).expect("every line is one JSON object");
        let name = event["event"]
            .as_str()
            .expect("every event has a name")
            .to_owned();
        let wrong = disagreements(&event, &reference.expand(&format!("event {name}")), words);
        assert!(
            wrong.is_empty(),
            "caudal {arguments}, event {name}:\n{}",
            wrong.join("\n")
        );
        seen.insert(name);
    }
    assert_eq!(
        seen,
        expected.iter().map(|name| (*name).to_owned()).collect(),
        "caudal {arguments}"
    );
}

const TCP: [&str; 5] = ["always", "native", "traffic", "measured", "tcp"];
const UDP: [&str; 5] = ["always", "native", "traffic", "measured", "udp"];
const REPEATED: [&str; 6] = ["always", "native", "traffic", "measured", "tcp", "repeat"];
const SEARCH: [&str; 4] = ["always", "native", "traffic", "search"];
const RTT_TCP: [&str; 4] = ["always", "native", "rtt", "tcp"];
const RTT_UDP: [&str; 4] = ["always", "native", "rtt", "udp"];

const QUALITY: [&str; 4] = ["always", "native", "quality", "tcp"];

fn latency_under_load_is_what_the_reference_says() {
    let arguments = "quality --idle 0.3 -t 0.6 -P 1 --json";
    assert_documented(arguments, &QUALITY);
    let events = ["agreed", "started", "quality", "finished"];
    let arguments = arguments.replace("--json", "--json-stream");
    assert_events_documented(&arguments, &QUALITY, &events);
}

const CHECK: [&str; 3] = ["always", "native", "check"];

fn a_check_is_what_the_reference_says() {
    let text = printed_by("check --quick --max-bytes 20M --json", &[0, 5, 6]);
    let run: Value = serde_json::from_str(&text).expect("the output is one JSON object");
    let wrong = disagreements(&run, &page().expand("run"), &CHECK);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

const FILE: [&str; 3] = ["always", "native", "file"];

const STAMP: [&str; 2] = ["always", "stamp"];

fn a_test_with_stamp_is_what_the_reference_says() {
    assert_documented("stamp --count 40 --extensions all --dscp EF --json", &STAMP);
    assert_documented(
        "stamp --count 40 --extensions none --poisson --json",
        &STAMP,
    );
    let events = ["agreed", "started", "round_trips", "finished"];
    assert_events_documented("stamp --count 40 -i 0.2 --json-stream", &STAMP, &events);
}

const CONNECT: [&str; 3] = ["always", "native", "connect"];

fn connections_are_what_the_reference_says() {
    assert_documented("connect -t 0.6 -P 2 --tls -b 100 --json", &CONNECT);
    let arguments = "connect -t 0.6 -i 0.2 --json";
    assert_documented(arguments, &CONNECT);
    let events = ["agreed", "started", "connections", "finished"];
    let arguments = arguments.replace("--json", "--json-stream");
    assert_events_documented(&arguments, &CONNECT, &events);
}

fn file_transfers_are_what_the_reference_says() {
    assert_documented("file --via tcp --sizes 100K --json", &FILE);
    let arguments = "file --via tcp,rbt --sizes 100K --repeat 10 --json";
    assert_documented(arguments, &FILE);
    let events = ["agreed", "started", "transferred", "finished"];
    let arguments = arguments.replace("--json", "--json-stream");
    assert_events_documented(&arguments, &FILE, &events);
}

fn a_tcp_run_is_what_the_reference_says() {
    assert_documented("tcp --time 0.3 --interval 0.1 --json", &TCP);
}

fn a_udp_run_is_what_the_reference_says() {
    assert_documented(
        "udp --time 0.3 --interval 0.1 --rate 5M --length 1000 --json",
        &UDP,
    );
}

fn a_udp_run_at_full_speed_is_what_the_reference_says() {
    assert_documented("udp --time 0.3 --interval 0.1 --rate max --json", &UDP);
}

fn a_run_in_both_directions_is_what_the_reference_says() {
    assert_documented(
        "tcp --bidir --parallel 2 --time 0.3 --interval 0.1 --omit 0.1 --json",
        &TCP,
    );
}

fn a_run_of_some_bytes_against_a_link_is_what_the_reference_says() {
    assert_documented("tcp --bytes 1M --window 256Ki --link-rate 1G --json", &TCP);
}

fn repeated_runs_are_what_the_reference_says() {
    assert_documented("tcp --repeat 2 --time 0.3 --interval 0.1 --json", &REPEATED);
}

fn a_search_is_what_the_reference_says() {
    assert_documented(
        "udp --find-rate 1% --rate 5M --length 1000 --time 0.3 --json",
        &SEARCH,
    );
}

fn the_events_of_a_run_are_what_the_reference_says() {
    let events = ["agreed", "started", "interval", "finished"];
    assert_events_documented("tcp --time 0.3 --interval 0.1 --json-stream", &TCP, &events);
}

fn the_events_of_a_search_are_what_the_reference_says() {
    let arguments = "udp --find-rate 1% --rate 5M --length 1000 --time 0.3 --json-stream";
    assert_events_documented(arguments, &SEARCH, &["trial", "finished"]);
}

fn round_trips_over_tcp_are_what_the_reference_says() {
    assert_documented("rtt --count 50 --sizes 1,1024 --clients 2 --json", &RTT_TCP);
}

fn round_trips_on_a_schedule_are_what_the_reference_says() {
    let arguments = "rtt --proto udp --every 1ms --poisson --count 50 --sizes 64 --json";
    assert_documented(arguments, &RTT_UDP);
}

fn the_events_of_round_trips_are_what_the_reference_says() {
    let events = ["agreed", "started", "size", "finished"];
    assert_events_documented(
        "rtt --count 50 --sizes 1,1024 --json-stream",
        &RTT_TCP,
        &events,
    );
}

fn the_events_of_round_trips_of_one_size_are_what_the_reference_says() {
    let events = ["agreed", "started", "round_trips", "size", "finished"];
    let arguments = "rtt --time 0.3 --interval 0.1 --json-stream";
    assert_events_documented(arguments, &RTT_TCP, &events);
}

fn round_trips_against_a_link_are_what_the_reference_says() {
    assert_documented(
        "rtt --count 50 --sizes 1,1024 --link-rate 1G --json",
        &RTT_TCP,
    );
}

fn predictions_are_what_the_reference_says() {
    let rows = page().expand("predict");
    for (question, word) in [
        (
            "link --rate 1G --length 9000 --message 10 --loss 1%",
            "single",
        ),
        ("window --rate 1G --rtt 10ms --window 1M", "single"),
        (
            "loss --rtt 10ms --loss 1e-4 --rate 1G --window 1M",
            "single",
        ),
        (
            "share --rate 1G --tcp 2 --udp 1G --rtt 1ms,2ms --paths 4 --policer 1M --burst 9k",
            "single",
        ),
        ("echo --rate 1G --sizes 64", "single"),
        (
            "transfer -n 1M --rate 1G --rtt 1ms --took 1s --retransmitted 1k --loaded-rtt 2ms",
            "single",
        ),
        ("half-duplex --flows 2", "single"),
        ("link --rate 1G --mtu 576..9000", "sweep"),
        ("loss --rtt 10ms --loss 1e-5..1e-1", "sweep"),
        ("echo --rate 1G --clients 1,2", "sweep"),
        (
            "topology wan --flow h1>h2:reno --flow h2>h1:udp=1M --flow h1>h2:echo=64 --time 2s",
            "topology",
        ),
    ] {
        let arguments = format!("predict {question} --json");
        let answer: Value = serde_json::from_str(&printed(&arguments)).expect("one JSON object");
        let words: &[&str] = match word {
            "topology" => &["always", "single", "topology"],
            word => &["always", word],
        };
        let wrong = disagreements(&answer, &rows, words);
        assert!(
            wrong.is_empty(),
            "caudal {arguments}:\n{}",
            wrong.join("\n")
        );
    }
}

/// Who carried a test with the server of another program out: which keys are for the server to tell.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Foreign {
    Upload,
    Download,
}

impl Foreign {
    fn is_for_the_server(self, path: &str) -> bool {
        let is_tcp = path.contains("[].tcp");
        let refused = path.ends_with(".sender_refused");
        let under = |places: &[&str]| places.iter().any(|place| path.starts_with(place));
        under(&["environment.server"])
            || match self {
                Self::Upload => {
                    let received = [
                        "flows[].receiver",
                        "flows[].intervals[]",
                        "summary.directions[]",
                    ];
                    under(&received) && !is_tcp && !refused
                }
                Self::Download => under(&["flows[].sender"]) || is_tcp || refused,
            }
    }
}

/// Tests with servers of other programs: what those cannot tell is not documented for such a run, so that
/// it must not be there, and all else must be.
#[track_caller]
fn assert_reported_by_foreign_server(
    server: &crate::support::Serve,
    port: u16,
    words: &str,
    told: &[&str],
) {
    let (transport, rest) = words.split_once(' ').unwrap();
    let arguments = format!("{transport} 127.0.0.1 -p {port} {rest} --time 0.5 --json");
    let foreign = if words.contains("-R") {
        Foreign::Download
    } else {
        Foreign::Upload
    };
    let run: Value = serde_json::from_str(&printed(&arguments)).expect("one JSON object");
    let rows: Vec<Row> = page()
        .expand("run")
        .into_iter()
        .filter(|row| {
            !row.present.contains(&"native".to_owned())
                || !foreign.is_for_the_server(&row.path)
                || told.iter().any(|key| row.path.ends_with(key))
        })
        .collect();
    let words = if transport == "tcp" { TCP } else { UDP };
    let wrong = disagreements(&run, &rows, &words);
    assert!(
        wrong.is_empty(),
        "caudal {arguments}:\n{}\n{run}",
        wrong.join("\n")
    );
    if transport == "udp" && foreign == Foreign::Upload {
        let location = &run["summary"]["directions"][0]["loss"]["location"];
        assert!(location["path_or_socket"].is_u64(), "{location}");
    }
    let said = printed(&arguments.replace("--json", "--csv"));
    let column = |name: &str| {
        said.lines()
            .next()?
            .split(',')
            .position(|known| known == name)
    };
    let lines = || {
        said.lines()
            .skip(1)
            .map(|line| line.split(',').collect::<Vec<_>>())
    };
    assert!(lines().count() > 0, "{said}");
    for name in [
        "receiver_cpu",
        "duplicate",
        "late",
        "corrupt",
        "socket_drops",
    ] {
        let column = column(name).expect("a column");
        for line in lines() {
            let is_empty =
                foreign == Foreign::Upload || transport == "tcp" && name != "receiver_cpu";
            assert_eq!(line[column].is_empty(), is_empty, "{name}: {said}");
        }
    }
    let said = printed(&arguments.replace("--json", ""));
    for zero in [
        "0 duplicate",
        "0 late",
        "0 corrupt",
        "receiving threads 0 %",
    ] {
        let is_ours = foreign == Foreign::Download;
        assert!(is_ours || !said.contains(zero), "{zero}: {said}");
    }
    server.still_serves();
}

fn what_a_server_of_iperf3_cannot_tell_is_absent() {
    let server = crate::support::Serve::start("");
    for words in [
        "tcp --as iperf3",
        "tcp --as iperf3 -R",
        "udp --as iperf3 -b 2M -l 1000",
        "udp --as iperf3 -b 2M -l 1000 -R",
    ] {
        assert_reported_by_foreign_server(&server, server.port, words, &[]);
    }
}

fn what_a_server_of_iperf2_cannot_tell_is_absent() {
    let server = crate::support::Serve::start("--iperf2-port 0");
    let line = server.running.line_with("iperf 2 on port ");
    let rest = line.split("iperf 2 on port ").nth(1).unwrap();
    let port = rest.split(',').next().unwrap().trim().parse().unwrap();
    for words in [
        "tcp --as iperf2",
        "tcp --as iperf2 -R",
        "udp --as iperf2 -b 2M -l 1000",
        "udp --as iperf2 -b 2M -l 1000 -R",
    ] {
        assert_reported_by_foreign_server(&server, port, words, &[".reordered"]);
    }
}

fn a_key_that_nobody_documented_is_noticed() {
    let rows = page().expand("estimate");
    let good = r#"{"mean":1,"low":0.5,"high":1.5,"confidence":0.95,"n":3,"method":"wilson"}"#;
    assert_eq!(
        disagreements(&serde_json::from_str(good).unwrap(), &rows, &TCP),
        Vec::<String>::new()
    );
    let odd = good
        .replace("\"n\":3", "\"n\":3.5,\"colour\":\"red\"")
        .replace("\"low\":0.5,", "");
    assert_eq!(
        disagreements(&serde_json::from_str(&odd).unwrap(), &rows, &TCP).len(),
        3
    );
}
