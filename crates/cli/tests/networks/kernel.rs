//! The numbers agree with the kernel: with what its sockets, its counters and a capture say.

mod capture;
mod marks;

use crate::support::network::{Network, SERVER, missing, missing_shaper, on_loopback, start};
use crate::support::trial;
use libtest_mimic::Trial;
use serde_json::Value;
use std::thread;
use std::time::Duration;

pub fn trials() -> Vec<Trial> {
    vec![
        trial(
            "bytes_asked_for_are_moved_to_the_byte_over_tcp",
            None,
            || to_the_byte("tcp"),
        ),
        trial(
            "bytes_asked_for_are_moved_to_the_byte_over_udp",
            None,
            || to_the_byte("udp"),
        ),
        trial(
            "the_figures_of_a_run_agree_with_one_another",
            None,
            figures_agree,
        ),
        trial(
            "tcp_bytes_are_those_the_kernels_sockets_carried",
            missing(&["ss", "stdbuf"]),
            bytes_are_the_sockets,
        ),
        trial(
            "datagrams_are_those_the_kernel_counted",
            missing(&["nft", "sysctl"]),
            datagrams_are_the_kernels,
        ),
        trial(
            "goodput_is_what_a_capture_shows",
            missing(&["tcpdump", "sysctl"]),
            capture::shows_the_goodput,
        ),
        trial(
            "datagrams_dropped_on_the_way_are_lost_there_to_the_last_one",
            missing(&["nft", "sysctl"]),
            losses_on_the_way,
        ),
        trial(
            "segments_dropped_on_the_way_are_sent_again_and_none_is_missing",
            missing(&["nft"]),
            tcp_over_loss,
        ),
        trial(
            "marks_on_the_way_are_counted_to_the_last_one_and_cost_no_datagram",
            missing(&["nft"]),
            marks::are_counted,
        ),
        trial(
            "datagrams_that_do_not_fit_the_receive_buffer_are_lost_at_the_socket",
            None,
            losses_at_the_socket,
        ),
        trial(
            "udp_shut_out_by_a_firewall_is_said_so",
            missing(&["nft"]),
            udp_behind_a_firewall,
        ),
        trial(
            "a_link_gives_what_was_predicted_of_it",
            missing_shaper(),
            links_are_as_predicted,
        ),
        trial(
            "a_network_that_goes_away_ends_the_test",
            missing(&[]),
            network_goes_away,
        ),
    ]
}

fn number(value: &Value) -> u64 {
    value
        .as_u64()
        .unwrap_or_else(|| panic!("{value} is no count"))
}

fn flows(run: &Value) -> Vec<Value> {
    run["flows"].as_array().unwrap().clone()
}

fn to_the_byte(kind: &str) {
    for way in ["", "-R", "--bidir"] {
        for more in ["", "-P 3", "-l 1000", "-l 999 -P 3"] {
            let words = format!("{kind} -n 100K -b 20M {more} {way} --json");
            let run = on_loopback(&words).done().json();
            for direction in run["summary"]["directions"].as_array().unwrap() {
                assert_eq!(
                    number(&direction["received_bytes"]),
                    100_000,
                    "{words}: {direction}"
                );
            }
            for direction in ["up", "down"] {
                for end in ["sender", "receiver"] {
                    let moved: Vec<u64> = flows(&run)
                        .iter()
                        .filter(|flow| flow["direction"] == direction)
                        .map(|flow| number(&flow[end]["bytes"]))
                        .collect();
                    assert!(
                        moved.is_empty() || moved.iter().sum::<u64>() == 100_000,
                        "{words}: {end} {moved:?}"
                    );
                }
            }
        }
    }
}

fn figures_agree() {
    for words in [
        "tcp -t 1 -i 0.2 --json",
        "tcp -t 1 -i 0.3 -R -P 2 --omit 0.5 --json",
        "tcp -t 1 -i 0.25 --bidir -P 2 -b 50M --json",
        "udp -t 1 -i 0.2 -b 20M -l 1000 --json",
        "udp -t 1 -i 0.2 -b max -l 1448 --json",
        "udp -t 1 --bidir -P 2 -b 5M -l 500 --json",
        "tcp -n 10M -i 0.01 --json",
    ] {
        let run = on_loopback(words).done().json();
        assert_eq!(run["schema"], "caudal.run/1");
        assert_eq!(run["id"].as_str().unwrap().len(), 32);
        for flow in flows(&run) {
            let (sender, receiver) = (&flow["sender"], &flow["receiver"]);
            let (sent, received) = (number(&sender["bytes"]), number(&receiver["bytes"]));
            assert!(
                received > 0 && received <= sent,
                "{words}: {received} of {sent}"
            );
            let mut at = 0.0;
            let mut sum = 0;
            for interval in flow["intervals"].as_array().unwrap() {
                let (start, end) = (
                    interval["start_s"].as_f64().unwrap(),
                    interval["end_s"].as_f64().unwrap(),
                );
                assert!(
                    start == at && end > start,
                    "{words}: intervals do not join: {interval}"
                );
                at = end;
                let bytes = number(&interval["bytes"]);
                sum += bytes;
                let rate = bytes as f64 * 8.0 / (end - start);
                let said = interval["goodput_bps"].as_f64().unwrap();
                assert!(
                    (rate - said).abs() <= rate * 1e-6 + 1.0,
                    "{words}: {interval}"
                );
            }
            assert!(
                sum <= received,
                "{words}: intervals hold {sum} of {received}"
            );
            if words.starts_with("udp") {
                let (all, lost) = (number(&sender["datagrams"]), number(&receiver["lost"]));
                let here = number(&receiver["datagrams"]);
                assert_eq!(
                    all - number(&sender["refused"]),
                    here + lost + number(&receiver["late"]),
                    "{words}"
                );
                assert_eq!(number(&receiver["corrupt"]), 0, "{words}");
                assert_eq!(number(&receiver["duplicate"]), 0, "{words}");
            } else {
                assert_eq!(sent, received, "{words}: TCP loses nothing");
            }
        }
    }
}

fn bytes_are_the_sockets() {
    let network = Network::build();
    let _server = network.serve("");
    // Tells of every socket as it is destroyed, with the kernel's last word on it.
    let ends =
        [&network.client, &network.server].map(|space| start(space, "stdbuf", "-oL ss -tEinH"));
    thread::sleep(Duration::from_millis(500));
    for (words, payload) in [
        ("tcp -n 30M --json", 30_000_000),
        ("tcp -n 20M -R --json", 20_000_000),
    ] {
        let run = network.run_client(words).done().json();
        let flow = &flows(&run)[0];
        assert_eq!(number(&flow["receiver"]["bytes"]), payload);
        let port = |end: &Value| end["granted"]["local"].as_str().unwrap().to_owned();
        let (sender, receiver) = match words.contains("-R") {
            true => (&ends[1], &ends[0]),
            false => (&ends[0], &ends[1]),
        };
        // What opens a data connection: 32 bytes from the client, 8 from the server.
        let opening = if words.contains("-R") { 8 } else { 32 };
        let at_sender = last_word(sender, &port(&flow["sender"]), &port(&flow["receiver"]));
        let at_receiver = last_word(receiver, &port(&flow["receiver"]), &port(&flow["sender"]));
        // The kernel counts the SYN, and where it was acknowledged the FIN, as a byte each.
        let acked = field(&at_sender, "bytes_acked:") - payload - opening;
        assert!((1..=2).contains(&acked), "{words}: {at_sender}");
        let received = field(&at_receiver, "bytes_received:") - payload - opening;
        assert!(received <= 1, "{words}: {at_receiver}");
        let again = at_sender
            .split_whitespace()
            .find_map(|word| word.strip_prefix("bytes_retrans:"));
        assert_eq!(
            number(&flow["sender"]["tcp"]["retransmitted_bytes"]),
            again.map_or(0, |bytes| bytes.parse().unwrap()),
            "{words}: {at_sender}"
        );
    }
}

/// The kernel's last word on a connection: the line with its addresses and the figures below it.
fn last_word(ss: &crate::support::Running, local: &str, peer: &str) -> String {
    let until = std::time::Instant::now() + Duration::from_secs(10);
    loop {
        let said = ss.said();
        let lines: Vec<&str> = said.lines().collect();
        let at = lines.iter().rposition(|line| {
            line.replace("[::ffff:", "")
                .replace("]:", ":")
                .contains(&format!("{local} "))
                && line
                    .replace("[::ffff:", "")
                    .replace("]:", ":")
                    .contains(peer)
        });
        if let Some(at) = at {
            return lines[at..lines.len().min(at + 2)].join(" ");
        }
        assert!(
            std::time::Instant::now() < until,
            "ss says nothing of {local} {peer}: {said}"
        );
        thread::sleep(Duration::from_millis(50));
    }
}

fn field(line: &str, name: &str) -> u64 {
    line.split_whitespace()
        .find_map(|word| word.strip_prefix(name))
        .unwrap_or_else(|| panic!("no {name} in {line}"))
        .parse()
        .unwrap()
}

fn datagrams_are_the_kernels() {
    for words in [
        "udp -t 2 -b 8M -l 1000 --pacing precise --json",
        "udp -t 2 -b 8M -l 1000 -R --pacing precise --json",
        "udp -t 1 -b 4M -l 1000 --bidir -P 2 --pacing precise --json",
    ] {
        let network = Network::build();
        let _server = network.serve("");
        let ends = [&network.client, &network.server];
        for space in ends {
            // Data, and the dialogue that opens a flow: payload and 8 bytes of UDP header.
            // And what each end sends to itself to learn how much one call may carry.
            Network::rules(
                space,
                &[
                    "udp length 1008 counter",
                    "udp length 72 counter",
                    "iifname lo meta l4proto udp counter",
                    // The probe of the path MTU, and its answer.
                    "udp length 1480 counter",
                ],
            );
        }
        let run = network.run_client(words).done().json();
        let [at_client, at_server] = ends.map(|space| Network::counted(space));
        let count = |direction: &str, end: &str| -> u64 {
            let of = |flow: &&Value| flow["direction"] == direction;
            flows(&run)
                .iter()
                .filter(of)
                .map(|flow| number(&flow[end]["datagrams"]))
                .sum()
        };
        let (up, down) = (count("up", "sender"), count("down", "sender"));
        assert_eq!(
            (count("up", "receiver"), count("down", "receiver")),
            (up, down),
            "{words}"
        );
        assert!(up + down >= 1000, "{words}: {up} {down}");
        assert_eq!(
            (at_server[0], at_client[0]),
            (up, down),
            "{words}: seen by the firewall"
        );
        let out = ends.map(|space| Network::snmp(space, "Udp", "OutDatagrams"));
        let into = ends.map(|space| Network::snmp(space, "Udp", "InDatagrams"));
        assert_eq!(
            out,
            [
                up + at_server[1] + at_server[3] + at_client[2],
                down + at_client[1] + at_client[3] + at_server[2]
            ],
            "{words}: sent, by /proc/net/snmp"
        );
        assert_eq!(
            into,
            [
                down + at_client[1] + at_client[3],
                up + at_server[1] + at_server[3]
            ],
            "{words}: received, by /proc/net/snmp"
        );
        for space in ends {
            for error in ["InErrors", "RcvbufErrors", "SndbufErrors", "NoPorts"] {
                assert_eq!(Network::snmp(space, "Udp", error), 0, "{words}: {error}");
            }
        }
    }
}

fn losses_on_the_way() {
    for (rule, least, most) in [
        ("numgen inc mod 10 0 counter drop", 0.0999, 0.1001),
        ("numgen inc mod 100 < 3 counter drop", 0.029, 0.031),
        ("numgen random mod 4 0 counter drop", 0.2, 0.3),
    ] {
        let network = Network::build();
        let _server = network.serve("");
        Network::rules(&network.server, &[&format!("udp length 1008 {rule}")]);
        let run = network
            .run_client("udp -n 4M -b 20M -l 1000 --pacing precise --json")
            .done()
            .json();
        let dropped = Network::counted(&network.server)[0];
        let loss = &run["summary"]["directions"][0]["loss"];
        assert_eq!(number(&loss["sent"]), 4000, "{rule}");
        assert_eq!(number(&loss["lost"]), dropped, "{rule}: {loss}");
        assert_eq!(number(&loss["received"]), 4000 - dropped, "{rule}: {loss}");
        assert_eq!(number(&loss["location"]["path"]), dropped, "{rule}: {loss}");
        assert_eq!(
            number(&loss["location"]["receiver_socket"]),
            0,
            "{rule}: {loss}"
        );
        let fraction = loss["fraction"]["mean"].as_f64().unwrap();
        assert!((least..=most).contains(&fraction), "{rule}: {fraction}");
        let (low, high) = (
            loss["fraction"]["low"].as_f64(),
            loss["fraction"]["high"].as_f64(),
        );
        assert!(low < Some(fraction) && Some(fraction) < high, "{loss}");
        if rule.contains("< 3") {
            assert_eq!(loss["runs"]["max"], 3, "losses came in threes: {loss}");
        }
        assert_eq!(flows(&run)[0]["receiver"]["reordered"], 0);
    }
}

fn tcp_over_loss() {
    let network = Network::build();
    let _server = network.serve("");
    Network::rules(
        &network.server,
        // Blocks of payload: no message of the control connection is as long.
        &["tcp dport 5201 ip length > 6000 numgen inc mod 50 49 counter drop"],
    );
    let run = network
        .run_client("tcp -n 5M -b 40M -l 10000 --json")
        .done()
        .json();
    let dropped = Network::counted(&network.server)[0];
    let flow = &flows(&run)[0];
    assert_eq!(number(&flow["receiver"]["bytes"]), 5_000_000);
    assert!(dropped > 0);
    assert!(
        number(&flow["sender"]["tcp"]["retransmits"]) > 0,
        "{dropped} dropped: {}",
        flow["sender"]
    );
}

fn losses_at_the_socket() {
    // A receiver that does not read for a while. At this rate every datagram travels alone: the kernel
    // counts what was joined on the way and dropped at the socket as one.
    let server = crate::support::Serve::start("");
    let client = crate::support::Running::start(
        &mut server.client("udp -t 3 -b 4M -l 1000 -w 16Ki --pacing precise --json"),
    );
    server.running.line_with("flow(s)");
    thread::sleep(Duration::from_millis(700));
    server.running.signal("STOP");
    thread::sleep(Duration::from_millis(900));
    server.running.signal("CONT");
    let run = client.wait(Duration::from_secs(30)).json();
    let loss = &run["summary"]["directions"][0]["loss"];
    let drops: u64 = flows(&run)
        .iter()
        .map(|flow| number(&flow["receiver"]["socket_drops"]))
        .sum();
    assert!(drops > 0, "nothing was dropped: {loss}");
    assert_eq!(
        number(&loss["location"]["receiver_socket"]),
        drops,
        "{loss}"
    );
    assert_eq!(
        number(&loss["lost"]),
        drops,
        "loopback itself loses nothing: {loss}"
    );
    assert_eq!(number(&loss["location"]["path"]), 0, "{loss}");
    assert!(
        run["warnings"].to_string().contains("receiving socket"),
        "{}",
        run["warnings"]
    );
}

fn udp_behind_a_firewall() {
    let network = Network::build();
    let server = network.serve("");
    Network::rules(&network.server, &["meta l4proto udp counter drop"]);
    let ended = network.run_client("udp -t 1");
    assert_eq!(ended.code, Some(3), "{ended:#?}");
    assert_eq!(ended.stderr.lines().count(), 1, "{ended:#?}");
    assert!(
        ended
            .stderr
            .contains("UDP to the server is dropped on the path to it"),
        "{ended:#?}"
    );
    assert!(ended.took < Duration::from_secs(15), "{ended:#?}");
    network.run_client("tcp -n 100K").done();
    drop(server);
}

/// The prediction of a run by its name.
fn prediction(run: &Value, name: &str) -> Value {
    let all = run["predictions"].as_array().unwrap();
    let found = all.iter().find(|one| one["name"] == name);
    found.unwrap_or_else(|| panic!("{name}: {all:#?}")).clone()
}

fn links_are_as_predicted() {
    let network = Network::build();
    network.shape("20mbit");
    let _server = network.serve("");
    let says = |words: &str| network.run_client(&format!("{words} --json")).done().json();
    // A machine that stalls takes away; or it adds, when the stall is over the end of the warm-up, for then
    // the receiver reads inside the window what had arrived before it. Neither happens in every run.
    let holds = |words: &str, names: &[&str]| {
        let mut above = Vec::new();
        (0..6).any(|_| {
            let run = says(words);
            let goodput = prediction(&run, "goodput_up");
            assert_eq!(goodput["binding"], "wire", "{goodput:#}");
            if goodput["difference"].as_f64().unwrap() >= 0.02 {
                above.push(goodput);
                assert!(above.len() < 3, "above what the link can carry: {above:#?}");
                return false;
            }
            names
                .iter()
                .all(|name| prediction(&run, name)["holds"] == true)
        })
    };
    let words = "tcp -t 3 -i 0.5 --omit 1 -C cubic --link-rate 20M";
    assert!(
        holds(words, &["goodput_up"]),
        "no run gave what was predicted"
    );
    // More than fits is lost, and as much as was predicted.
    let words = "udp -t 3 -i 0.5 -b 30M --link-rate 20M";
    assert!(
        holds(words, &["goodput_up", "loss_up"]),
        "no run lost what was predicted"
    );

    // A link that is not what was said: the run tells that it cannot tell.
    let wrong = says("tcp -t 2 -i 0.5 -C cubic --link-rate 10M");
    let why = prediction(&wrong, "goodput_up")["why"].clone();
    assert!(
        why.as_str()
            .unwrap()
            .starts_with("cannot tell which property of the link"),
        "{why}"
    );

    // Without the link's rate nothing is said of it.
    let blind = says("tcp -t 1 -i 0.5 -C cubic");
    let names: Vec<&Value> = blind["predictions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["name"])
        .collect();
    assert!(
        names.iter().all(|name| *name == "window_ceiling_up"),
        "{names:?}"
    );
}

fn network_goes_away() {
    let network = Network::build();
    let server = network.serve("--max-clients 1");
    let client = crate::support::Running::start(&mut network.client("tcp -t 60 -b 10M -i 0.5"));
    client.two_intervals();
    // No FIN, no RST, no ICMP: the cable is out.
    let down = crate::support::network::inside(&network.client, "ip")
        .args(["link", "set", "v0", "down"])
        .status();
    assert!(down.unwrap().success());
    let ended = client.wait(Duration::from_secs(30));
    assert_eq!(ended.code, Some(3), "{ended:#?}");
    crate::support::assert_reported(&ended);
    server.running.line_with("left");
    let up = crate::support::network::inside(&network.client, "ip")
        .args(["link", "set", "v0", "up"])
        .status();
    assert!(up.unwrap().success());
    let again = network.run_client("tcp -n 100K --json").done().json();
    assert_eq!(
        number(&flows(&again)[0]["receiver"]["bytes"]),
        100_000,
        "to {SERVER}"
    );
}
