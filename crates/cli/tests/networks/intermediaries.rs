//! What stands between client and server is named: several servers behind one address, limits on connections, a path that drops some
//! flows, UDP that does not pass, and programs that end TCP on the way; and a translator of addresses is not taken for one.

use crate::support::network::{Network, inside, missing};
use crate::support::relay::Relay;
use crate::support::{Ended, Running, SOON, Serve, caudal, run, trial, warnings};
use caudal_wire::datagram::{DatagramKind, OpeningDatagram};
use caudal_wire::preamble::TestToken;
use libtest_mimic::Trial;
use serde_json::Value;
use std::io;
use std::net::UdpSocket;
use std::time::Duration;

pub fn trials() -> Vec<Trial> {
    let nft = || missing(&["nft"]);
    vec![
        trial(
            "several_servers_behind_one_address_are_named",
            nft(),
            several_servers,
        ),
        trial("a_limit_on_connections_is_told_and_kept_to", nft(), limit),
        trial(
            "a_path_that_drops_some_flows_is_told_with_their_ports",
            nft(),
            some_paths,
        ),
        trial(
            "udp_that_does_not_pass_is_told_with_its_direction",
            nft(),
            blocked_udp,
        ),
        trial("a_translator_of_addresses_is_no_proxy", nft(), translator),
        trial("a_program_that_ends_tcp_is_named", None, proxy),
        trial(
            "a_lack_of_descriptors_is_named_with_the_number_needed",
            None,
            descriptors,
        ),
        trial(
            "a_stranger_is_answered_once_and_no_longer_than_it_asked",
            None,
            stranger,
        ),
    ]
}

/// Starts clients at the same time, and waits for all of them.
fn at_once<const N: usize>(network: &Network, words: [&str; N]) -> [Ended; N] {
    let all = words.map(|words| Running::start(&mut network.client(words)));
    all.map(|one| one.wait(Duration::from_secs(60)))
}

/// Adds rules of nftables to a namespace, a line each.
fn nft(space: &str, lines: &[&str]) {
    for line in lines {
        let added = inside(space, "nft").arg(line).output().unwrap();
        let complaint = String::from_utf8_lossy(&added.stderr).into_owned();
        assert!(added.status.success(), "{line}: {complaint}");
    }
}

fn several_servers() {
    let network = Network::build();
    let _one = network.serve("");
    let mut other = inside(&network.server, env!("CARGO_BIN_EXE_caudal"));
    let _other = Serve::of(other.args(["serve", "-p", "5202"]));
    // The control connection goes to the one, what follows to the other.
    let each = "redirect to :numgen inc mod 2 map { 0 : 5201, 1 : 5202 }";
    nft(
        &network.server,
        &[
            "add table ip lb",
            "add chain ip lb pre { type nat hook prerouting priority -100 ; }",
            &format!("add rule ip lb pre tcp dport 5300 {each}"),
            "add rule ip lb pre tcp dport 5301 redirect to :5201",
            "add rule ip lb pre udp dport 5301 redirect to :5202",
        ],
    );
    let [tcp, udp] = at_once(
        &network,
        ["tcp -p 5300 -t 1 -P 4", "udp -p 5301 -t 1 -b 1M"],
    );
    let why = "stands for several servers";
    tcp.failed(
        3,
        &["data connection 1 another", why, "the server's own address"],
    );
    udp.failed(3, &["UDP flow 1 another", why, "the server's own address"]);
}

fn limit() {
    let network = Network::build();
    let _server = network.serve("");
    nft(
        &network.server,
        &[
            "add table ip f",
            "add chain ip f in { type filter hook input priority 0 ; }",
            "add set ip f s { type ipv4_addr ; flags dynamic ; }",
            "add rule ip f in tcp dport 5201 ct state new add @s { ip saddr ct count over 4 } drop",
        ],
    );
    let refused = network.run_client("tcp -t 1 -P 8");
    refused.failed(
        3,
        &[
            "3 of 8 data connections opened",
            "5 without an answer in 5 s",
            "a limit of about 4 connections",
            "--partial",
        ],
    );
    let partial = network.run_client("tcp -t 1 -P 8 --partial --json");
    assert_eq!(partial.code, Some(0), "{partial:#?}");
    let run = partial.json();
    assert_eq!(run["flows"].as_array().map(Vec::len), Some(3), "{run}");
    assert_eq!(run["environment"]["opening"]["pattern"], "limit", "{run}");
    assert!(
        warnings(&run).contains(&"partial_flows".to_owned()),
        "{run}"
    );
}

fn some_paths() {
    let network = Network::build();
    let _server = network.serve("");
    Network::rules(&network.server, &["udp dport 5201 udp sport & 1 == 1 drop"]);
    let [refused, partial] = at_once(
        &network,
        [
            "udp -t 1 -P 16 -b 1M",
            "udp -t 1 -P 16 -b 1M --bidir --partial --json",
        ],
    );
    refused.failed(
        3,
        &[
            "of 16 UDP flows opened (source port",
            "without an answer in 3 s",
            "the path treats flows differently",
        ],
    );
    assert_eq!(partial.code, Some(0), "{partial:#?}");
    let run = partial.json();
    let opening = &run["environment"]["opening"];
    assert_eq!(opening["pattern"], "paths", "{run}");
    for flow in opening["flows"].as_array().unwrap() {
        let is_odd = flow["source_port"].as_u64().unwrap() % 2 == 1;
        assert_eq!(flow["outcome"] == "no_answer", is_odd, "{flow}");
    }
    assert!(
        warnings(&run).contains(&"partial_flows".to_owned()),
        "{run}"
    );
    for direction in run["summary"]["directions"].as_array().unwrap() {
        let goodput = direction["goodput_bps"]["mean"].as_f64().unwrap();
        let flows = direction["flows"].as_f64().unwrap();
        assert!((0.9e6..1.1e6).contains(&(goodput / flows)), "{direction}");
    }
}

fn blocked_udp() {
    let [there, back, rejected] = [(); 3].map(|()| Network::build());
    let _servers = [&there, &back, &rejected].map(|network| network.serve(""));
    Network::rules(&there.server, &["udp dport 5201 drop"]);
    Network::rules(&back.client, &["udp sport 5201 drop"]);
    Network::rules(&rejected.server, &["udp dport 5201 reject"]);
    let words = "udp -t 1 -b 1M";
    let all = [&there, &back, &rejected].map(|one| Running::start(&mut one.client(words)));
    let quality = Running::start(&mut back.client("quality -t 1 --idle 1 --json"));
    let [there, back, rejected] = all.map(|one| one.wait(SOON));
    let stands = "the control connection stands";
    there.failed(
        3,
        &[stands, "no UDP flow opened", "dropped on the path to it"],
    );
    back.failed(
        3,
        &[
            stands,
            "the server received what they sent",
            "dropped on the return path",
        ],
    );
    rejected.failed(
        3,
        &[stands, "1 refused", "is rejected there, or on the way"],
    );
    let quality = quality.wait(Duration::from_secs(60));
    assert_eq!(quality.code, Some(0), "{quality:#?}");
    let run = quality.json();
    assert!(
        warnings(&run).contains(&"partial_flows".to_owned()),
        "{run}"
    );
    let phases = run["quality"]["phases"].as_array().unwrap();
    for phase in phases {
        let probes = phase["probes"].as_array().unwrap();
        let has = |name: &str| probes.iter().any(|probe| probe["probe"] == name);
        assert!(has("tcp") && !has("udp"), "{phase}");
    }
    assert!(
        phases
            .iter()
            .skip(1)
            .all(|phase| phase["added_rtt"]["mean_us"].is_f64()),
        "{}",
        run["quality"]["advice"]
    );
}

fn translator() {
    let network = Network::build();
    let _server = network.serve("");
    nft(
        &network.server,
        &[
            "add table ip n",
            "add chain ip n pre { type nat hook prerouting priority -100 ; }",
            "add rule ip n pre tcp dport 5300 dnat to 10.77.0.2:5201",
            "add chain ip n in { type nat hook input priority 100 ; }",
            "add rule ip n in tcp dport 5201 snat to 10.77.0.9",
        ],
    );
    let translated = network.run_client("tcp -p 5300 -t 1 --json");
    assert_eq!(translated.code, Some(0), "{translated:#?}");
    assert_is_end_to_end(&translated.json());
    let loopback = run(&mut caudal("tcp -t 0.3 --json".split(' ')), SOON);
    assert_is_end_to_end(&loopback.json());
}

#[track_caller]
fn assert_is_end_to_end(run: &Value) {
    assert!(run["environment"]["tcp_proxy"].is_null(), "{run}");
    assert!(run["summary"]["directions"][0]["tcp"].is_object(), "{run}");
}

fn proxy() {
    let server = Serve::start("");
    let relay = Relay::to(server.port);
    let client = |words: &str| {
        let mut all = words.split(' ');
        let mut command = caudal(all.next());
        command
            .args(["127.0.0.1", "-p", &relay.port.to_string()])
            .args(all);
        Running::start(&mut command)
    };
    let [tcp, back, rtt, udp] = [
        "tcp -t 1 --json",
        "tcp -R -t 1 --json",
        "rtt -t 1 --json",
        "udp -t 1 -b 1M",
    ]
    .map(client);
    for ended in [tcp.wait(SOON), back.wait(SOON)] {
        assert_eq!(ended.code, Some(0), "{ended:#?}");
        let run = ended.json();
        let proxy = &run["environment"]["tcp_proxy"];
        assert_eq!(proxy["evidence"], "segment_size", "{run}");
        assert_eq!(proxy["near"], format!("127.0.0.1:{}", relay.port), "{run}");
        let direction = &run["summary"]["directions"][0];
        assert_eq!(direction["limited_by"]["limit"], "unknown", "{direction}");
        let evidence = direction["limited_by"]["evidence"].as_str().unwrap();
        assert!(evidence.starts_with("TCP ends at 127.0.0.1:"), "{evidence}");
        for absent in ["tcp", "window", "next_step"] {
            assert!(direction[absent].is_null(), "{absent}: {direction}");
        }
        assert!(warnings(&run).contains(&"tcp_proxy".to_owned()), "{run}");
    }
    let rtt = rtt.wait(SOON);
    assert!(
        warnings(&rtt.json()).contains(&"tcp_proxy".to_owned()),
        "{rtt:#?}"
    );
    udp.wait(SOON).failed(
        3,
        &[
            "UDP gets no answer: TCP is ended in the middle",
            "measure with TCP",
        ],
    );
}

fn descriptors() {
    let limited = |limit: u32, words: &str| {
        let mut command = std::process::Command::new("sh");
        let binary = env!("CARGO_BIN_EXE_caudal");
        command.args(["-c", &format!("ulimit -n {limit}; exec {binary} {words}")]);
        command
    };
    let needed = "about 36 are needed; raise `ulimit -n`";
    let server = Serve::of(&mut limited(20, "serve -p 0"));
    // Of a connection that the server cannot even accept it does not know what its test needs.
    let refused = ["because of its own kernel", " 20 ", "ulimit -n"];
    for words in ["tcp -t 1 -P 8", "udp -t 1 -P 8 -b 1M"] {
        server.serves(words).failed(3, &refused);
    }
    let roomy = Serve::start("");
    let words = format!("tcp 127.0.0.1 -p {} -t 1 -P 8", roomy.port);
    let client = run(&mut limited(12, &words), SOON);
    client.failed(4, &["too many open files: 12 are allowed", needed]);
}

fn stranger() {
    let server = Serve::start("");
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(("127.0.0.1", server.port)).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_millis(300)))
        .unwrap();
    let hello = OpeningDatagram {
        kind: DatagramKind::Hello,
        flow: 3,
        token: TestToken([7; 16]),
        challenge: [0; 16],
    };
    let mut datagram = [0; 2048];
    let mut receive = || {
        socket
            .recv(&mut datagram)
            .map(|size| datagram[..size].to_vec())
    };
    socket.send(&hello.encode()).unwrap();
    let answer = receive().unwrap();
    assert_eq!(answer.len(), hello.encode().len());
    let answer = OpeningDatagram::decode(&answer).unwrap();
    assert!(answer.instance_without_test().is_some());
    assert_eq!((answer.flow, answer.token), (hello.flow, hello.token));
    // Neither an answer is answered, nor anything but a hello, nor a part of one.
    let proof = OpeningDatagram {
        kind: DatagramKind::Proof,
        ..hello
    };
    for other in [&answer.encode()[..], &proof.encode(), &hello.encode()[..63]] {
        socket.send(other).unwrap();
    }
    assert_eq!(receive().unwrap_err().kind(), io::ErrorKind::WouldBlock);
    server.still_serves();
}
