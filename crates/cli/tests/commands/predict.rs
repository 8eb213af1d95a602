//! `caudal predict` as people and programs use it: worked numbers, every output, and wrong usage in one line.

use crate::support::{Ended, run_caudal};
use serde_json::Value;

trials! {
    worked_numbers_are_printed_with_the_digits_of_their_sources,
    an_explanation_fills_the_numbers_in_and_names_the_source,
    a_sweep_has_a_row_for_each_value,
    a_sweep_can_be_drawn,
    an_invalid_command_line_is_refused_in_one_line_with_advice,
    extreme_values_give_finite_predictions,
    the_names_of_predictions_are_stable,
    a_run_over_loopback_has_no_prediction_from_a_link_rate,
    a_goodput_above_the_given_link_rate_is_not_explained,
    flows_over_a_topology_have_formula_and_simulation_side_by_side,
    the_same_seed_gives_the_same_predictions_of_a_topology,
    a_topology_file_is_refused_with_line_and_key,
    shared_links_and_half_duplex_have_a_simulation_beside_the_formula,
}

const USAGE: i32 = 2;

fn predict(words: &str) -> Ended {
    run_caudal(&format!("predict {words}")).done()
}

/// The predictions of one answer by name.
fn values(words: &str) -> Vec<(String, f64)> {
    let json = predict(&format!("{words} --json")).json();
    json["predictions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            (
                one["name"].as_str().unwrap().to_owned(),
                one["value"].as_f64().unwrap(),
            )
        })
        .collect()
}

#[track_caller]
fn assert_lines(words: &str, expected: &[(&str, &str)]) {
    let text = predict(words).stdout;
    for (title, value) in expected {
        let line = text.lines().find(|line| line.starts_with(title));
        let line = line.unwrap_or_else(|| panic!("{title:?} is missing:\n{text}"));
        assert!(line.contains(value), "{value:?} is not in {line:?}");
    }
    for line in text.lines() {
        assert!(
            line.chars().count() <= 80,
            "{line:?} is wider than 80 columns"
        );
    }
}

fn worked_numbers_are_printed_with_the_digits_of_their_sources() {
    assert_lines(
        "link --rate 10M --mtu 1500",
        &[
            ("TCP goodput", "9.415 Mbit/s  0.9415: 1448 of 1538 bytes"),
            ("UDP goodput", "9.571 Mbit/s  0.9571: 1472 of 1538 bytes"),
            ("full frames", "812.7 frames/s"),
            ("smallest frames", "14 881 frames/s"),
        ],
    );
    assert_lines(
        "link --rate 100M --no-timestamps",
        &[
            ("TCP goodput", "94.93 Mbit/s"),
            ("full frames", "8127.4 frames/s"),
        ],
    );
    assert_lines(
        "link --rate 100M --ipv6",
        &[
            ("TCP goodput", "92.85 Mbit/s"),
            ("UDP goodput", "94.41 Mbit/s"),
        ],
    );
    assert_lines(
        "link --rate 100M --vlan",
        &[("TCP goodput", "93.90 Mbit/s")],
    );
    assert_lines(
        "link --rate 1G --mtu 9000",
        &[("TCP goodput", "990.0 Mbit/s")],
    );
    assert_lines(
        "link --rate 100M --length 1473",
        &[("UDP goodput", "0.9081: 1473 of 1622 bytes in 2")],
    );
    assert_lines(
        "link --rate 100M --length 65507 --loss 0.1%",
        &[("datagrams lost", "4.402 %")],
    );
    assert_lines(
        "window --rate 60M --rtt 50ms",
        &[("bandwidth-delay product", "375 000 B")],
    );
    assert_lines(
        "window --rate 60M --rtt 50ms --window 65535",
        &[
            ("the window allows", "10.49 Mbit/s"),
            ("TCP goodput", "bound by the window"),
        ],
    );
    assert_lines(
        "half-duplex --rate 10M -k 1",
        &[("TCP goodput, all flows", "0.8894")],
    );
    assert_lines("share --rate 10M --udp 8M,8M", &[("UDP lost", "40.18 %")]);
    assert_lines(
        "share --rate 10M --tcp 1 --udp 3M",
        &[("TCP, all flows", "6.464 Mbit/s")],
    );
    assert_lines(
        "transfer --bytes 1M --rate 100M --rtt 40ms",
        &[("TCP time", "287.5 ms"), ("TCP, mean rate", "27.83 Mbit/s")],
    );
    assert_lines(
        "transfer --bytes 100M --rate 100M --rtt 25ms --no-timestamps --took 10.2s --loaded-rtt 32ms",
        &[
            ("ideal transfer time", "8.427 s"),
            ("transfer time ratio", "1.2103"),
            ("buffer delay", "28 %"),
        ],
    );
    assert_lines(
        "loss --rtt 50ms --loss 1e-3",
        &[
            ("Reno, Mathis, delayed ACK", "6.345 Mbit/s"),
            ("Reno, PFTK, delayed ACK", "6.274 Mbit/s"),
            ("CUBIC ", "8.973 Mbit/s"),
        ],
    );
    assert_lines(
        "echo --rate 100M --sizes 65536 --clients 8",
        &[("round trip", "44.59 ms")],
    );
}

fn an_explanation_fills_the_numbers_in_and_names_the_source() {
    let text = predict("link --rate 10M --explain").stdout;
    for words in [
        "8 preamble + 14 header + 20 IPv4 + 20 TCP + 12 timestamps",
        "efficiency = 1448 / 1538 = 0.9415",
        "goodput = 10 Mbit/s × 0.9415 = 9.415 Mbit/s",
        "RFC 6349 section 3.3.1",
        "assumes: one flow, every frame full",
    ] {
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(words), "{words:?} is missing:\n{text}");
    }
    for question in [
        "window --rate 1G --rtt 9ms -w 1M",
        "loss --rtt 9ms --loss 1%",
        "share --rate 1G --tcp 3 --udp 1M --rtt 1ms,2ms --paths 4 --policer 5M",
        "echo --rate 1G --sizes 64 --clients 3",
        "transfer -n 9M --rate 1G --rtt 1ms --took 1s --retransmitted 1k",
        "half-duplex --flows 3 --stations 9",
        "link --rate 1G --sack 3 --message 7 --loss 1%",
        "topology wan --flow h1>h2:reno --flow h2>h1:udp=60M",
    ] {
        let text = predict(&format!("{question} --explain")).stdout;
        let sources = text.matches("source: ").count();
        assert!(sources > 2 && !text.contains("source: \n"), "{text}");
        assert_eq!(text.matches("assumes: ").count(), sources, "{text}");
        assert!(!text.contains("NaN") && !text.contains("inf "), "{text}");
        for line in text.lines() {
            assert!(
                line.chars().count() <= 80,
                "{line:?} is wider than 80 columns"
            );
        }
    }
}

fn a_sweep_has_a_row_for_each_value() {
    let text = predict("link --rate 1G --mtu 576..9000").stdout;
    assert_eq!(
        text.lines().filter(|line| line.contains("Mbit/s")).count(),
        13
    );
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    let json = predict("loss --rtt 20ms --loss 1e-5..1e-1 --json").json();
    assert_eq!(json["sweep"]["parameter"], "loss");
    let points = json["sweep"]["points"].as_array().unwrap();
    let mathis = |point: &Value| point["predictions"][0]["value"].as_f64().unwrap();
    assert!(
        points.len() > 10
            && points
                .windows(2)
                .all(|pair| mathis(&pair[0]) > mathis(&pair[1]))
    );
    let csv = predict("link --rate 10M --mtu 576,1500 --csv").stdout;
    let rows: Vec<&str> = csv.lines().collect();
    assert!(rows[0].starts_with("parameter,at,name,value,unit,method"));
    assert_eq!(
        rows.iter()
            .filter(|row| row.starts_with("mtu_bytes,1500,tcp_goodput,9414824"))
            .count(),
        1,
        "{csv}"
    );
    let echo = predict("echo --rate 100M --clients 1,2,4,8").stdout;
    let last = echo
        .lines()
        .find(|line| line.starts_with("65 536 B"))
        .unwrap();
    assert!(
        last.contains("11.15 ms") && last.contains("44.59 ms"),
        "{echo}"
    );
}

fn a_sweep_can_be_drawn() {
    let place = std::env::temp_dir().join(format!("caudal-predict-{}.svg", std::process::id()));
    let words = format!(
        "loss --rtt 20ms --loss 1e-5..1e-1 --svg {}",
        place.display()
    );
    predict(&words);
    let svg = std::fs::read_to_string(&place).unwrap();
    std::fs::remove_file(&place).unwrap();
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    for words in [
        "Reno, Mathis",
        "CUBIC",
        "10 Mbit/s",
        "0.1 %",
        "prefers-color-scheme:dark",
        "role=\"img\"",
    ] {
        assert!(svg.contains(words), "{words:?} is missing");
    }
    run_caudal("predict link --rate 1G --mtu 576..9000 --svg /nowhere/at/all.svg")
        .failed(1, &["/nowhere/at/all.svg"]);
}

fn an_invalid_command_line_is_refused_in_one_line_with_advice() {
    for (words, parts) in [
        ("link", &["--rate", "--help"][..]),
        ("link --rate fast", &["\"fast\"", "100M"]),
        ("link --rate 0", &["out of range", "1 kbit/s"]),
        ("link --rate 10M --mtu 40", &["--mtu 40", "68"]),
        ("link --rate 10M --mtu 600 --ipv6", &["1280"]),
        ("link --rate 10M --mtu 99999999", &["out of range"]),
        (
            "link --rate 10M --mtu 9000..576",
            &["ends before it begins"],
        ),
        (
            "link --rate 10M,20M --mtu 576..9000",
            &["--rate", "--mtu", "one at a time"],
        ),
        ("link --rate 10M --length 70000", &["65507"]),
        ("link --rate 10M --svg x.svg", &["--svg", "range"]),
        ("link --rate 10M --sack 5", &["--sack"]),
        ("window --rate 1G --rtt never", &["\"never\"", "500ms"]),
        ("loss --rtt 20ms --loss 0", &["above 0"]),
        ("loss --rtt 0 --loss 1%", &["--rtt is 0"]),
        ("loss --rtt 20ms --loss NaN", &["above 0"]),
        ("share --rate 10M --policer 1M", &["--rtt"]),
        ("share --rate 10M --udp 0", &["above 0"]),
        ("echo --rate 10M --sizes 0", &["between 1 and"]),
        ("transfer --bytes 1M --rate 1M", &["--rtt"]),
        ("half-duplex --stations 0", &["out of range"]),
        ("lonk --rate 10M", &["link"]),
        ("topology nowhere.toml", &["nowhere.toml", "dumbbell"]),
        ("topology pair 3", &["pair", "caudal lab preset"]),
        ("topology pair --set h9.rate=5M", &["h9", "h1-h2"]),
        ("topology pair --flow h1>h9:tcp", &["h9", "take one of"]),
        ("topology pair --flow h1:tcp", &["h1:tcp", "h1>h3:cubic"]),
        ("topology pair --flow h1>h1:tcp", &["ends where it begins"]),
        ("topology pair --flow h1>h2:bbr", &["bbr", "cubic"]),
        ("topology pair --flow h1>h2:udp=fast", &["fast"]),
        ("topology pair --flow h1>h2:udp=0", &["sends nothing"]),
        ("topology pair --flow h1>h2:udp=1M/70000", &["65507"]),
        ("topology pair --flow h1>h2:echo=0", &["between 1 and"]),
        ("topology pair --time 0", &["more than zero"]),
        ("topology pair --time 87660h", &["lasts more than zero"]),
    ] {
        run_caudal(&format!("predict {words}")).failed(USAGE, parts);
    }
}

fn extreme_values_give_finite_predictions() {
    for words in [
        "link --rate 1000T --mtu 65535 --message 16Mi --loss 99.9%",
        "link --rate 1k --mtu 68 --no-timestamps",
        "window --rate 1000T --rtt 87660h --window 1",
        "window --rate 1k --rtt 0 --window 1000000T",
        "loss --rtt 1ns --loss 1e-12",
        "loss --rtt 87660h --loss 99.9999%",
        "share --rate 1k --tcp 1000000 --udp 18446744073709551615 --paths 1000000",
        "share --rate 1k --tcp 3 --udp 18446744073709551615 --meet sender",
        "echo --rate 1k --sizes 16Mi --clients 1000000 --delay 87660h",
        "echo --rate 1G --proto udp --sizes 65508",
        "transfer --bytes 1000000T --rate 1k --rtt 87660h --iw 1000000",
        "half-duplex --rate 1000T --stations 1000000 --propagation 87660h",
        "half-duplex --rate 100M --flows 16 --mtu 68 --no-timestamps",
        "share --rate 1k --tcp 16",
        "topology pair --time 1ns",
        "topology pair --flow h1>h2:udp=18446744073709551615 --time 1ms",
        "topology pair --set *.loss=100% --flow h1>h2 --flow h1>h2:echo=16Mi --time 1s",
        "topology pair --set *.delay=1h --flow h1>h2:echo-udp=65507",
    ] {
        let text = predict(words).stdout;
        assert!(
            !text.contains("NaN") && !text.contains("inf "),
            "{words}: {text}"
        );
    }
}

fn the_names_of_predictions_are_stable() {
    let names =
        |words: &str| -> Vec<String> { values(words).into_iter().map(|(name, _)| name).collect() };
    assert_eq!(
        names("link --rate 1G"),
        [
            "tcp_goodput",
            "udp_goodput",
            "quic_goodput",
            "transfer_goodput",
            "frame_rate",
            "frame_rate_smallest"
        ]
    );
    assert_eq!(
        names("half-duplex -P 2")[..3],
        [
            "tcp_goodput",
            "tcp_goodput_per_flow",
            "udp_goodput_per_flow"
        ]
    );
    assert_eq!(
        names("echo --rate 1G --sizes 1"),
        ["rtt", "stop_and_wait", "saturation"]
    );
}

fn a_run_over_loopback_has_no_prediction_from_a_link_rate() {
    let run = |words: &str| run_caudal(&format!("{words} --json")).done().json();
    let bare = run("tcp -t 0.3 -i 0.1");
    assert_eq!(bare["predictions"], serde_json::json!([]));
    let text = run_caudal("rtt --count 20 --sizes 1,64 -v").done().stdout;
    assert!(
        text.contains("predicted: nothing, because a loopback has no wire"),
        "{text}"
    );
    // The requested rate is the only bound.
    let paced = run("udp -t 0.3 -i 0.1 -b 5M -l 1000");
    let names: Vec<&Value> = paced["predictions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["name"])
        .collect();
    assert_eq!(names, ["asked_ceiling_up", "goodput_up"]);
    assert_eq!(paced["predictions"][1]["binding"], "asked");
    assert_eq!(paced["predictions"][1]["value"], 5_000_000.0);
}

fn a_goodput_above_the_given_link_rate_is_not_explained() {
    let run = run_caudal("tcp -t 0.5 -i 0.1 --link-rate 1M --json")
        .done()
        .json();
    let last = run["predictions"]
        .as_array()
        .unwrap()
        .last()
        .unwrap()
        .clone();
    assert_eq!(
        (&last["name"], &last["binding"], &last["holds"]),
        (&"goodput_up".into(), &"wire".into(), &false.into())
    );
    let why = last["why"].as_str().unwrap();
    assert!(
        why.starts_with("cannot tell which property of the link is wrong"),
        "{why}"
    );
    let difference = last["observed"].as_f64().unwrap() / last["value"].as_f64().unwrap() - 1.0;
    assert!((last["difference"].as_f64().unwrap() - difference).abs() < 1e-9);
}

fn flows_over_a_topology_have_formula_and_simulation_side_by_side() {
    let text = predict("topology dumbbell --flow h1>h3:cubic --flow h2>h4:udp=4M").stdout;
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line:?}");
    }
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "flow 1: h1 > h3, TCP, cubic",
        "over h1-r1 (no rate limit, MTU 1500), bottleneck (10 Mbit/s, 10 ms, MTU 1500), h3-r2",
        "formula simulated",
        "TCP goodput 5.480 Mbit/s",
        "bound by sharing",
        "ceiling: the wire 9.415 Mbit/s",
        "ceiling: sharing 5.480 Mbit/s",
        "bandwidth-delay product 26 604 B",
        "flow 2: h2 > h4, UDP, 4 Mbit/s in datagrams of 1472 bytes",
        "(within 20 %)",
        "bottleneck forward: longest queue",
    ] {
        assert!(flat.contains(words), "{words:?} is missing:\n{text}");
    }
    // Half duplex binds, and its collisions are counted.
    let half = predict("topology star --set *.duplex=half").stdout;
    assert!(
        half.contains("bound by half duplex") && half.contains("collisions"),
        "{half}"
    );
    // A short run is named as the reason.
    let long = predict("topology pair --set *.delay=100ms --time 2s").stdout;
    let flat = long.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("only 10 round trips"), "{long}");
}

fn the_same_seed_gives_the_same_predictions_of_a_topology() {
    let words = "topology wan --flow h1>h2:reno --time 5s";
    let answer = |seed: u64| predict(&format!("{words} --seed {seed} --json")).json();
    let (one, other) = (answer(7), answer(8));
    assert_eq!(one["predictions"], answer(7)["predictions"]);
    assert_ne!(one["predictions"], other["predictions"]);
    assert_eq!(one["given"]["seed"], 7);
    let path: Vec<&str> = one["topology"]["flows"][0]["path"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hop| hop["link"].as_str().unwrap())
        .collect();
    assert_eq!(path, ["h1-r1", "wan", "r2-h2"]);
    let of = |method: &str| {
        let all = one["predictions"].as_array().unwrap();
        all.iter()
            .find(|one| one["name"] == "goodput_1" && one["method"] == method)
            .unwrap()
            .clone()
    };
    assert_eq!(of("formula")["binding"], "loss");
    assert!(of("simulation")["value"].as_f64().unwrap() > 1e6);
    let rows = predict(&format!("{words} --csv")).stdout;
    assert!(
        rows.contains(",,goodput_1,") && rows.contains(",simulation,"),
        "{rows}"
    );
}

fn a_topology_file_is_refused_with_line_and_key() {
    let place = std::env::temp_dir().join(format!("caudal-predict-{}.toml", std::process::id()));
    let text = "host = [{ name = \"a\" }, { name = \"b\" }]\n\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"10\"\n";
    std::fs::write(&place, text).unwrap();
    let name = place.display().to_string();
    run_caudal(&format!("predict topology {name}")).failed(USAGE, &[&format!("{name}:5"), "rate"]);
    std::fs::write(&place, text.replace("\"10\"", "\"10M\"")).unwrap();
    let right = predict(&format!("topology {name}")).stdout;
    std::fs::remove_file(&place).unwrap();
    assert!(right.contains("9.415 Mbit/s"), "{right}");
}

fn shared_links_and_half_duplex_have_a_simulation_beside_the_formula() {
    let simulated = |words: &str, name: &str| {
        let json = predict(&format!("{words} --json")).json();
        let all = json["predictions"].as_array().unwrap().clone();
        all.iter()
            .find(|one| one["name"] == name && one["method"] == "simulation")
            .map(|one| one["value"].as_f64().unwrap())
    };
    let near = |found: Option<f64>, expected: f64, part: f64| {
        let found = found.unwrap();
        assert!(
            (found / expected - 1.0).abs() < part,
            "{found} for {expected}"
        );
    };
    near(
        simulated("share --rate 10M --udp 8M,8M", "udp_loss"),
        0.4018,
        0.05,
    );
    near(
        simulated("share --rate 10M --tcp 2 --udp 3M", "tcp_goodput"),
        6_464_000.0,
        0.05,
    );
    near(simulated("half-duplex", "tcp_goodput"), 7_800_000.0, 0.1);
    // The simulation does not model these, or would take too long.
    assert_eq!(simulated("half-duplex -k 1", "tcp_goodput"), None);
    assert_eq!(
        simulated("share --rate 10M --tcp 2 --meet sender", "tcp_goodput"),
        None
    );
}
