//! Tests over UDP on paths whose MTU is smaller than that of the interface, from the first datagram on, and between link-local addresses.

use crate::support::network::{Network, inside, missing};
use crate::support::path_lab::PathLab;
use crate::support::{Running, run, trial, warnings};
use libtest_mimic::Trial;
use serde_json::Value;
use std::process::Command;
use std::time::Duration;

/// The time limit of a command.
const LIMIT: Duration = Duration::from_secs(60);
/// Two hosts with MTUs of 1500, and routers between them whose link takes less.
const NARROW: &str = "host = [{ name = \"h1\" }, { name = \"h2\" }]\n\
    router = [{ name = \"r1\" }, { name = \"r2\" }]\n\
    link = [{ between = [\"h1\", \"r1\"] }, { between = [\"r1\", \"r2\"], rate = \"100M\", mtu = 1420 },\n\
    { between = [\"r2\", \"h2\"] }]\n";

pub fn trials() -> Vec<Trial> {
    [
        (
            "the_first_datagrams_fit_a_narrow_path",
            &[][..],
            narrow as fn(),
        ),
        (
            "a_path_that_drops_larger_packets_silently_is_named",
            &["nft"],
            black_hole,
        ),
        (
            "link_local_addresses_reach_their_interface",
            &["sysctl"],
            link_local,
        ),
    ]
    .into_iter()
    .map(|(name, programs, test)| trial(name, missing(programs), test))
    .collect()
}

/// The document of a client on h1.
#[track_caller]
fn client(lab: &PathLab, words: &str) -> Value {
    let program = env!("CARGO_BIN_EXE_caudal");
    run(
        &mut lab.on("h1", &format!("{program} {words} --json")),
        LIMIT,
    )
    .json()
}

/// The length of datagrams and the number of those lost, of every direction.
fn datagrams(run: &Value) -> (u64, Vec<u64>) {
    let directions = run["summary"]["directions"].as_array().unwrap();
    let lost = directions
        .iter()
        .map(|direction| direction["loss"]["lost"].as_u64().unwrap());
    (run["plan"]["length"].as_u64().unwrap(), lost.collect())
}

fn warns(run: &Value, code: &str) -> bool {
    warnings(run).iter().any(|one| one == code)
}

fn narrow() {
    let lab = PathLab::up(NARROW);
    let _server = lab.serve("");
    // What the kernels learn of one family is nothing for the other. 1420 less 28 and 48 bytes of headers.
    let run = client(&lab, "udp h2 -4 -b 2M -t 500ms --bidir");
    assert_eq!(datagrams(&run), (1392, vec![0, 0]), "{run}");
    let run = client(&lab, "rtt h2 -6 --proto udp --sizes 64,1400 --count 10");
    assert!(warns(&run, "fragmented"), "{run}");
    assert_eq!(run["summary"]["lost"], 0, "{run}");
    let run = client(&lab, "udp h2 -6 -b 2M -t 500ms -R -l 1400");
    assert_eq!(datagrams(&run), (1400, vec![0]), "{run}");
    let fits = "1372 B fit; datagrams of 1400 B are fragmented";
    assert!(run["warnings"].to_string().contains(fits), "{run}");
    let program = env!("CARGO_BIN_EXE_caudal");
    let words = format!("{program} file h2 -6 --sizes 100K --via rbt,quic");
    let text = lab.does("h1", &words);
    assert_eq!(text.matches("digest verified").count(), 2, "{text}");
}

fn black_hole() {
    let lab = PathLab::up(NARROW);
    for router in ["r1", "r2"] {
        lab.rule(router, "output", "icmp type destination-unreachable drop");
        lab.rule(router, "output", "icmpv6 type packet-too-big drop");
    }
    let _server = lab.serve("");
    let download = client(&lab, "udp h2 -6 -b 2M -t 500ms -R");
    assert_eq!(datagrams(&download), (1372, vec![0]), "{download}");
    assert!(warns(&download, "path_mtu_black_hole"), "{download}");
    let program = env!("CARGO_BIN_EXE_caudal");
    let words = format!("{program} rtt h2 -6 --proto udp -l 1400 --count 2 --timeout 300ms");
    let said = ["datagrams above 1372 B are lost on the path"];
    run(&mut lab.on("h1", &words), LIMIT).failed(1, &said);
    let words = format!("{program} file h2 -6 --via rbt --sizes 100K --packet 1400");
    run(&mut lab.on("h1", &words), LIMIT).failed(1, &said);
}

fn link_local() {
    let network = Network::build();
    for (space, address) in [(&network.client, "fe80::a"), (&network.server, "fe80::b")] {
        does(space, "sysctl -q -w net.ipv6.conf.v0.disable_ipv6=0");
        does(space, &format!("ip -6 addr add {address}/64 dev v0 nodad"));
    }
    let program = env!("CARGO_BIN_EXE_caudal");
    let server =
        Running::start(inside(&network.server, program).args(["serve", "--bind", "fe80::b%v0"]));
    server.line_with("listening on [fe80::b%");
    let client = |words: &str| {
        let mut command = inside(&network.client, program);
        command.args(words.split(' ')).env("CAUDAL_STORE", "none");
        run(&mut command, LIMIT)
    };
    let udp = client("udp fe80::b%v0 -b 2M -t 300ms --bidir --json").json();
    assert_eq!(datagrams(&udp), (1452, vec![0, 0]), "{udp}");
    client("rtt [fe80::b%25v0]:5201 --proto udp --count 10 -B fe80::a%v0").done();
    client("file fe80::b%v0 --sizes 100K --via quic -R").done();
    client("udp fe80::b -t 300ms").failed(2, &["names no interface", "v0"]);
    client("udp fe80::b%nosuch0 -t 300ms").failed(2, &["nosuch0", "v0"]);
}

#[track_caller]
fn does(space: &str, words: &str) {
    let (program, arguments) = words.split_once(' ').unwrap();
    let mut command: Command = inside(space, program);
    run(command.args(arguments.split(' ')), LIMIT).done();
}
