//! A test captures its own traffic: what the file holds, what the run reports, what is restored, and what cannot be done.

use crate::support::network::{Network, inside, missing};
use crate::support::place::Place;
use crate::support::reference::{Reference, disagreements};
use crate::support::{Ended, Running, SOON, caudal, keep_nothing, run, trial};
use libtest_mimic::Trial;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

pub fn trials() -> Vec<Trial> {
    vec![
        trial(
            "the_file_has_every_frame_of_the_test_and_no_other",
            missing(&["nft"]),
            every_frame,
        ),
        trial(
            "segments_that_the_device_splits_are_counted_by_the_kernel_s_size",
            missing(&["nft"]),
            kernel_s_size,
        ),
        trial(
            "datagrams_that_the_device_splits_are_none_of_them_missing",
            missing(&[]),
            joined_datagrams,
        ),
        trial(
            "every_kind_of_test_has_its_capture_in_the_run",
            missing(&[]),
            every_kind,
        ),
        trial(
            "the_text_names_the_file_and_what_it_shows",
            missing(&[]),
            in_text,
        ),
        trial(
            "the_command_that_explains_the_file_can_be_copied",
            missing(&["bash"]),
            copied,
        ),
        trial(
            "a_file_of_the_test_is_not_replaced_by_its_capture",
            missing(&[]),
            own_files,
        ),
        trial(
            "a_terminal_that_is_closed_ends_the_test_and_its_offloads",
            missing(&["ethtool"]),
            hung_up,
        ),
        trial(
            "offloads_are_off_for_the_test_and_restored",
            missing(&["ethtool"]),
            offloads_off,
        ),
        trial(
            "offloads_of_a_killed_test_are_restored_by_the_next_command",
            missing(&["ethtool"]),
            offloads_of_the_killed,
        ),
        trial(
            "a_full_disk_ends_the_capture_and_not_the_test",
            missing(&["unshare", "mount"]),
            full_disk,
        ),
        trial(
            "whoever_may_not_is_told_before_anything_is_sent",
            missing(&["setpriv"]),
            not_permitted,
        ),
        trial(
            "what_cannot_be_written_is_one_line",
            missing(&[]),
            unwritable,
        ),
    ]
}

/// A directory for one test, and the path of a capture in it.
fn place() -> (Place, String) {
    let place = Place::new();
    let file = place.at("test.pcapng").display().to_string();
    (place, file)
}

fn explained(file: &str) -> Value {
    run(&mut caudal(["pcap", file, "--json"]), SOON)
        .done()
        .json()
}

/// Counting rules for all that crosses the server's device.
fn count_packets(network: &Network) {
    let rules = [
        "iifname v0 ip protocol udp counter",
        "iifname v0 ip protocol tcp counter",
    ];
    Network::rules(&network.server, &rules);
}

fn every_frame() {
    let (_place, file) = place();
    let network = Network::build();
    let _server = network.serve("");
    count_packets(&network);
    // Traffic of another port, from the same client to the same server.
    let other = format!(
        "for n in $(seq 200); do echo $n > /dev/udp/{}/9; done",
        crate::support::network::SERVER
    );
    let done = inside(&network.client, "bash")
        .args(["-c", &other])
        .status();
    assert!(done.unwrap().success());
    let before = Network::counted(&network.server)[0];
    assert_eq!(before, 200);
    let words = format!("udp -n 2M -l 1000 -b 50M --capture {file} --json");
    let run = network.run_client(&words).done().json();
    let capture = &run["capture"];
    assert_eq!(capture["dropped_frames"], 0, "{capture:#}");
    assert_eq!(capture["interface"], "v0");
    let sent = Network::counted(&network.server)[0] - before;
    let pcap = explained(&file);
    let udp: Vec<&Value> = flows(&pcap, "udp");
    assert_eq!(udp.len(), 1, "{pcap:#}");
    // The two probes of the path MTU leave before the plan is agreed, and so before the capture.
    let frames = udp[0]["to_server"]["frames"].as_u64().unwrap();
    assert_eq!(frames + 2, sent, "{:#}", udp[0]);
    assert_eq!(pcap["totals"]["frames"], capture["frames"]);
    assert_eq!(pcap["totals"]["flows"], capture["flows"]);
    // The plan is in the comment of the file.
    let comment = pcap["files"][0]["comments"][0].as_str().unwrap();
    let id = run["id"].as_str().unwrap();
    for part in ["caudal udp", id, r#""length":1000"#] {
        assert!(comment.contains(part), "{part}: {comment}");
    }
}

fn flows<'a>(pcap: &'a Value, transport: &str) -> Vec<&'a Value> {
    let flows = pcap["flows"].as_array().unwrap().iter();
    flows
        .filter(|flow| flow["transport"] == transport)
        .collect()
}

fn kernel_s_size() {
    let (_place, file) = place();
    let network = Network::build();
    let _server = network.serve("");
    let words = format!("tcp -n 20M --capture {file} --json");
    let document = network.run_client(&words).done().json();
    assert_eq!(document["capture"]["dropped_frames"], 0);
    let pcap = explained(&file);
    let data = flows(&pcap, "tcp")
        .into_iter()
        .max_by_key(|flow| flow["bytes"].as_u64())
        .unwrap();
    let sent = &data["tcp"]["to_server"];
    let segmentation = &sent["segmentation"];
    assert_eq!(segmentation["segment_source"], "gso", "{segmentation:#}");
    assert_eq!(segmentation["segment_bytes"], 1448);
    assert!(segmentation["super_packets"].as_u64().unwrap() > 100);
    // The payload of the test, and the header of the connection in front of it.
    let payload = sent["unique_bytes"].as_u64().unwrap();
    assert!((20_000_000..20_001_000).contains(&payload), "{payload}");
    // Each write fills segments but for its last: the segments are at least as many as the payload takes.
    let least = 20_000_000_u64.div_ceil(1448);
    let segments = segmentation["wire_segments"].as_u64().unwrap();
    assert!(
        (least..least + least / 20).contains(&segments),
        "{segments}"
    );
}

fn joined_datagrams() {
    let (_place, file) = place();
    let network = Network::build();
    let _server = network.serve("");
    let words = format!("udp -n 30M -b 500M --capture {file} --json");
    let run = network.run_client(&words).done().json();
    assert_eq!(run["capture"]["dropped_frames"], 0, "{:#}", run["capture"]);
    let pcap = explained(&file);
    let sent = &flows(&pcap, "udp")[0]["udp"]["to_server"];
    let of_run = &run["summary"]["directions"][0]["loss"]["sent"];
    assert!(sent["super_packets"].as_u64().unwrap() > 0, "{sent:#}");
    assert_eq!(sent["numbers"]["received"], *of_run, "{sent:#}");
    assert_eq!(sent["numbers"]["lost"], 0, "{sent:#}");
    let findings = run["capture"]["findings"].as_array().unwrap();
    let lost = findings
        .iter()
        .find(|finding| finding["code"] == "datagram-loss");
    assert_eq!(lost, None);
}

fn copied() {
    let place = Place::new();
    for name in ["it's  two\tblanks.pcapng", "-n", "\u{1b}[31m\n'\\é"] {
        let capture = format!("--capture={name}");
        let mut command = caudal(["rtt", "--count", "5", &capture]);
        keep_nothing(&mut command);
        command.current_dir(place.at(""));
        command.env("COLUMNS", "80");
        let ended = run(&mut command, SOON).done();
        assert!(!ended.stdout.contains('\u{1b}'), "{ended:#?}");
        let line = ended
            .stdout
            .lines()
            .find_map(|line| {
                line.strip_prefix("  → caudal ")?
                    .strip_suffix(" explains it")
            })
            .unwrap_or_else(|| panic!("{ended:#?}"));
        let script = format!("exec {} {line}", env!("CARGO_BIN_EXE_caudal"));
        let mut shell = Command::new("bash");
        shell.args(["-c", &script]).current_dir(place.at(""));
        run(&mut shell, SOON).done();
    }
}

fn own_files() {
    let place = Place::new();
    let payload = place.at("payload").display().to_string();
    for words in ["tcp --file", "rtt --raw", "file --send", "udp --output"] {
        fs::write(&payload, "payload").unwrap();
        let line = format!("{words} {payload} --capture {payload}");
        let mut command = caudal(line.split_whitespace());
        keep_nothing(&mut command);
        run(&mut command, SOON).failed(2, &["--capture would replace", "name another file"]);
        assert_eq!(fs::read_to_string(&payload).unwrap(), "payload", "{words}");
    }
}

fn hung_up() {
    let network = Network::build();
    let _server = network.serve("");
    let test = Running::start(&mut network.client("tcp -t 60 --offload off -i 0.1"));
    test.line_with("up");
    assert!(!is_on(&network.client, "v0", SEGMENTATION));
    test.signal("HUP");
    assert_eq!(test.wait(SOON).code, Some(1));
    assert!(is_on(&network.client, "v0", SEGMENTATION));
}

fn every_kind() {
    let (_place, file) = place();
    let words = [
        "tcp -n 1M",
        "udp -n 100K -b 10M",
        "rtt --count 20",
        "file --sizes 1M --via tcp",
        "file --sizes 1M --via rbt",
    ];
    for words in words {
        let line = format!("{words} --capture {file} --offload off --json");
        let mut command = caudal(line.split_whitespace());
        keep_nothing(&mut command);
        let run = run(&mut command, SOON).done().json();
        let capture = &run["capture"];
        assert_eq!(capture["file"], file.as_str(), "{words}");
        assert_eq!(capture["interface"], "lo", "{words}");
        assert!(
            capture["frames"].as_u64().unwrap() > 3,
            "{words}: {capture:#}"
        );
        assert!(capture["findings"].is_array(), "{words}");
        assert_eq!(capture["cut_short"], Value::Null, "{words}");
        let pcap = explained(&file);
        assert_eq!(pcap["totals"]["frames"], capture["frames"], "{words}");
        assert_eq!(pcap["totals"]["dropped_frames"], capture["dropped_frames"]);
        let codes = pcap["findings"].as_array().unwrap().iter();
        let codes: Vec<_> = codes
            .filter_map(|finding| finding["code"].as_str())
            .collect();
        assert!(!codes.contains(&"time-backwards"), "{codes:?}");
        let reference = Reference::read("json.md");
        for (key, name) in [("capture", "capture"), ("offload", "offload")] {
            let wrong = disagreements(&run[key], &reference.expand(name), &["always"], &[]);
            assert!(wrong.is_empty(), "{words}: {}", wrong.join("\n"));
        }
    }
}

fn in_text() {
    let (_place, file) = place();
    let line = format!("rtt --count 20 --capture {file}");
    let mut command = caudal(line.split_whitespace());
    keep_nothing(&mut command);
    let ended = run(&mut command, SOON).done();
    // Folded at 80 columns, wherever the path is.
    let words: Vec<&str> = ended.stdout.split_whitespace().collect();
    let text = words.join(" ");
    assert!(text.contains("none dropped, in"), "{ended:#?}");
    assert!(
        text.contains(&format!("caudal pcap {file} explains it")),
        "{ended:#?}"
    );
}

/// The state of an offload in a namespace, by ethtool.
fn is_on(space: &str, device: &str, name: &str) -> bool {
    let output = inside(space, "ethtool")
        .args(["-k", device])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text
        .lines()
        .find(|line| line.trim().starts_with(&format!("{name}:")));
    line.unwrap_or_else(|| panic!("{name}: {text}"))
        .contains(": on")
}

const SEGMENTATION: &str = "tx-tcp-segmentation";

fn offloads_off() {
    let (_place, file) = place();
    let network = Network::build();
    let _server = network.serve("");
    assert!(is_on(&network.client, "v0", SEGMENTATION));
    let words = format!("tcp -n 5M --capture {file} --offload off --json");
    let run = network.run_client(&words).done().json();
    let changed = run["offload"]["changed"].as_array().unwrap();
    assert!(
        changed.contains(&"tx-tcp-segmentation".into()),
        "{changed:?}"
    );
    assert_eq!(run["offload"]["enabled"], false);
    // Those of segments with ECN and others follow too.
    assert_eq!(run["offload"]["refused"], Value::Array(Vec::new()));
    assert!(is_on(&network.client, "v0", SEGMENTATION));
    let pcap = explained(&file);
    for flow in flows(&pcap, "tcp") {
        assert!(
            flow["to_server"]["max_frame_bytes"].as_u64().unwrap() <= 1514,
            "{flow:#}"
        );
    }
}

fn offloads_of_the_killed() {
    let network = Network::build();
    let _server = network.serve("");
    let mut test = Running::start(&mut network.client("tcp -t 60 --offload off -i 0.1"));
    test.line_with("up");
    assert!(!is_on(&network.client, "v0", SEGMENTATION));
    // A second test finds the offloads set by the first.
    network
        .run_client("tcp -t 1 --offload off")
        .failed(4, &["another test has set the offloads of v0"]);
    test.kill();
    assert!(!is_on(&network.client, "v0", SEGMENTATION));
    let next = inside(&network.client, env!("CARGO_BIN_EXE_caudal"))
        .args(["study", "list"])
        .output()
        .unwrap();
    assert!(next.status.success(), "{next:?}");
    assert!(is_on(&network.client, "v0", SEGMENTATION));
}

fn full_disk() {
    let place = Place::new();
    let mounted = place.at("small").display().to_string();
    fs::create_dir(&mounted).unwrap();
    let script = format!(
        "mount -t tmpfs -o size=1m none {mounted} && exec {} tcp -n 50M -M 1400 --snap-length 1500 --no-store --json --capture {mounted}/test.pcapng",
        env!("CARGO_BIN_EXE_caudal")
    );
    let mut command = Command::new("unshare");
    command.args(["--mount", "bash", "-c", &script]);
    let ended = run(&mut command, SOON);
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    let document = ended.json();
    let why = document["capture"]["cut_short"].as_str().unwrap();
    assert!(why.contains("No space left on device"), "{why}");
    let received = &document["summary"]["directions"][0]["received_bytes"];
    assert_eq!(*received, 50_000_000, "{:#}", document["summary"]);
}

/// The command as a user without capabilities.
fn as_nobody(words: &str) -> Ended {
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    command
        .arg(env!("CARGO_BIN_EXE_caudal"))
        .args(words.split_whitespace());
    keep_nothing(&mut command);
    run(&mut command, SOON)
}

fn not_permitted() {
    let ended = as_nobody("--version");
    assert_eq!(ended.code, Some(0), "that user cannot run it: {ended:#?}");
    as_nobody("tcp -t 1 --capture /tmp/caudal-not-permitted.pcapng")
        .failed(4, &["CAP_NET_RAW", "setcap"]);
    assert!(!Path::new("/tmp/caudal-not-permitted.pcapng").exists());
    as_nobody("tcp -t 1 --offload off").failed(4, &["--offload", "root"]);
}

fn unwritable() {
    let place = Place::new();
    let directory = place.at("").display().to_string();
    let cases = [
        (directory.clone(), 2, "is no regular file"),
        ("/dev/null".to_owned(), 2, "is no regular file"),
        (
            format!("{directory}/none/test.pcapng"),
            1,
            "No such file or directory",
        ),
    ];
    for (path, code, says) in cases {
        let mut command = caudal(["rtt", "--count", "3", "--capture", path.as_str()]);
        keep_nothing(&mut command);
        run(&mut command, SOON).failed(code, &["--capture", says]);
    }
    for (words, says) in [
        ("--snap-length 95 --capture x", "95"),
        ("--snap-length 300000 --capture x", "300000"),
        ("--snap-length 200", "--capture"),
        ("--offload maybe", "maybe"),
    ] {
        let mut command = caudal(["tcp"].into_iter().chain(words.split(' ')));
        let ended = run(&mut command, SOON);
        assert_eq!(ended.code, Some(2), "{ended:#?}");
        assert!(ended.stderr.contains(says), "{ended:#?}");
    }
}
