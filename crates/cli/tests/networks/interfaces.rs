//! The address and the interface that a server is asked for, where two networks lead to a client.

use crate::support::network::missing;
use crate::support::path_lab::PathLab;
use crate::support::{SOON, run, trial};
use libtest_mimic::Trial;
use serde_json::Value;

pub fn trials() -> Vec<Trial> {
    vec![
        trial(
            "answers_leave_by_the_interface_that_was_asked_for",
            missing(&[]),
            device,
        ),
        trial(
            "a_server_listens_on_the_addresses_it_is_given",
            missing(&[]),
            addresses,
        ),
        trial(
            "flows_come_from_the_ports_that_a_firewall_knows",
            missing(&["nft"]),
            ports,
        ),
    ]
}

/// Two hosts with two links between them, of 10 and of 50 Mbit/s.
const TWICE: &str = "[[host]]\nname = \"h1\"\n[[host]]\nname = \"h2\"\n\
    [[link]]\nname = \"slow\"\nbetween = [\"h1\", \"h2\"]\nrate = \"10M\"\n\
    [[link]]\nname = \"fast\"\nbetween = [\"h1\", \"h2\"]\nrate = \"50M\"\n";

/// What a client on h1 measures.
fn measured(lab: &PathLab, words: &str) -> Value {
    let program = env!("CARGO_BIN_EXE_caudal");
    let text = lab.does("h1", &format!("{program} {words} --json"));
    serde_json::from_str(&text).unwrap()
}

fn goodput(run: &Value) -> f64 {
    let goodput = &run["summary"]["directions"][0]["goodput_bps"]["mean"];
    goodput.as_f64().unwrap()
}

fn device() {
    let lab = PathLab::up(TWICE);
    // A client whose address both links lead to, the slow one preferably.
    lab.does("h1", "ip addr add 10.9.0.1/32 dev lo");
    lab.does(
        "h2",
        "ip route add 10.9.0.1 via 10.0.0.1 dev eth0 metric 10",
    );
    lab.does(
        "h2",
        "ip route add 10.9.0.1 via 10.0.1.1 dev eth1 metric 20",
    );
    let download = |words: &str| measured(&lab, &format!("{words} -B 10.9.0.1 -R -t 1s"));
    {
        // The kernel's own choice: asked at the fast link, it answers by the slow one.
        let _server = lab.serve("");
        assert!(goodput(&download("tcp 10.0.1.2")) < 10e6);
    }
    let server = lab.serve("--device eth1");
    assert!(goodput(&download("tcp 10.0.1.2")) > 25e6);
    let run = download("udp 10.0.1.2 -b 20M");
    assert!(goodput(&run) > 15e6, "{run}");
    // Who comes by the other one is not answered.
    let program = env!("CARGO_BIN_EXE_caudal");
    let refused = lab
        .on("h1", &format!("{program} tcp 10.0.0.2 -t 1s"))
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(3), "{refused:?}");
    drop(server);
    let unknown = lab
        .on("h2", &format!("{program} serve --device nosuch0"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&unknown.stderr).into_owned();
    assert_eq!(unknown.status.code(), Some(4), "{said}");
    assert!(
        said.contains("nosuch0: there is no such interface; there are lo, eth0, eth1"),
        "{said}"
    );
}

fn addresses() {
    let lab = PathLab::up(TWICE);
    let _server = lab.serve("-B 10.0.0.2 -B 10.0.1.2,fd00:ca:da:1::2");
    let program = env!("CARGO_BIN_EXE_caudal");
    for (address, code) in [
        ("10.0.0.2", 0),
        ("10.0.1.2", 0),
        ("fd00:ca:da:1::2", 0),
        ("fd00:ca:da::2", 3),
    ] {
        for test in ["tcp", "udp"] {
            let words = format!("{program} {test} {address} -R -t 200ms");
            let ended = lab.on("h1", &words).output().unwrap();
            assert_eq!(
                ended.status.code(),
                Some(code),
                "{test} {address}: {ended:?}"
            );
        }
    }
}

/// A firewall of the server's host lets data in from the ports 40000 and 40001 alone.
fn ports() {
    let lab = PathLab::up(TWICE);
    let server = lab.serve("");
    lab.rule(
        "h2",
        "input",
        "udp dport 5201 udp sport != 40000-40001 drop",
    );
    lab.rule(
        "h2",
        "input",
        "tcp dport 5201 tcp sport 40000-40001 counter",
    );
    for words in [
        "udp h2 -P 2 -b 1M",
        "rtt h2 --proto udp -P 2",
        "udp h2 --bidir -b 1M",
        "tcp h2 -P 2",
        "tcp h2 -R --repeat 2",
    ] {
        measured(&lab, &format!("{words} -t 500ms --local-port 40000"));
    }
    let counted = lab.does("h2", "nft list ruleset");
    let packets = counted.split("counter packets ").nth(1).unwrap();
    let packets: u64 = packets.split(' ').next().unwrap().parse().unwrap();
    assert!(packets > 100, "{counted}");
    let program = env!("CARGO_BIN_EXE_caudal");
    let others = run(
        &mut lab.on(
            "h1",
            &format!("{program} udp h2 -b 1M -t 500ms --local-port 40002"),
        ),
        SOON,
    );
    assert_ne!(others.code, Some(0), "{others:?}");
    drop(server);
}
