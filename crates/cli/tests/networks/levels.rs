//! The rate of a test that changes at once: the result is that of one level, and the others are named with their times.

use crate::support::network::{Network, SERVER, inside, missing, missing_shaper};
use crate::support::pair::Pair;
use crate::support::{Running, trial};
use libtest_mimic::Trial;
use serde_json::Value;
use std::thread;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(60);

pub fn trials() -> Vec<Trial> {
    vec![
        trial(
            "losses_next_to_each_other_are_periods",
            missing_shaper().or_else(|| missing(&["nft"])),
            loss_periods,
        ),
        trial(
            "bursts_of_other_traffic_are_delay_episodes",
            missing_shaper().or_else(|| missing(&["socat", "bash"])),
            bursts,
        ),
        trial(
            "a_credit_at_the_beginning_is_no_part_of_the_result",
            missing_shaper(),
            credit,
        ),
        trial(
            "other_traffic_that_begins_is_another_level",
            missing_shaper(),
            other_traffic,
        ),
        trial(
            "a_delay_that_changes_is_another_level",
            missing(&["sysctl"]),
            delay,
        ),
    ]
}

fn mbps(value: &Value) -> f64 {
    value.as_f64().unwrap() / 1e6
}

/// The levels beside the one of the result, each with its beginning and its end, s.
fn other_levels(run: &Value) -> Vec<(f64, f64)> {
    let all = run["episodes"].as_array().cloned().unwrap_or_default();
    all.iter()
        .filter(|one| one["kind"] == "rate_level")
        .map(|one| {
            (
                one["from_s"].as_f64().unwrap(),
                one["to_s"].as_f64().unwrap(),
            )
        })
        .collect()
}

/// A link of 20 Mbit/s that carries 50 until 4 MB of credit are used up.
fn credit() {
    for options in ["-C cubic", "-C bbr", "-P 4 -C cubic"] {
        let network = Network::build();
        network.shape("20mbit");
        let words = "qdisc replace dev v0 root tbf rate 20mbit burst 4mb limit 300k peakrate 50mbit mtu 1540";
        let replaced = inside(&network.client, "tc")
            .args(words.split(' '))
            .output();
        assert!(replaced.unwrap().status.success());
        let _server = network.serve("");
        let ended = network.run_client(&format!("tcp -t 8 {options} --json"));
        assert_eq!(ended.code, Some(0), "{ended:#?}");
        let run = ended.json();
        let direction = &run["summary"]["directions"][0];
        // 1448 of 1514 bytes.
        let mean = mbps(&direction["goodput_bps"]["mean"]);
        assert!((18.7..19.5).contains(&mean), "{options}: {direction}");
        let overall = mbps(&direction["level"]["overall_bps"]);
        assert!(overall > 21.5, "{options}: {direction}");
        let others = other_levels(&run);
        // 4 MB, less what the link carries of it meanwhile: 4e6·8/(50e6 - 20e6) s.
        let [(from_s, to_s)] = others[..] else {
            panic!("{options}: {others:?}");
        };
        assert!(
            from_s < 0.3 && (0.7..1.6).contains(&to_s),
            "{options}: {others:?}"
        );
        let warnings = crate::support::warnings(&run);
        assert!(
            warnings.contains(&"several_levels".to_owned()),
            "{warnings:?}"
        );
    }
}

/// A link of 50 Mbit/s, of which others take 20 after a while.
fn other_traffic() {
    let network = Network::build();
    network.shape("50mbit");
    let _server = network.serve("");
    let test = Running::start(&mut network.client("tcp -C cubic -t 9 --json"));
    thread::sleep(Duration::from_secs(6));
    let others = network.run_client("udp -b 20M -t 4");
    assert!(others.code.is_some(), "{others:#?}");
    let ended = test.wait(LIMIT);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let run = ended.json();
    let direction = &run["summary"]["directions"][0];
    let mean = mbps(&direction["goodput_bps"]["mean"]);
    assert!((44.0..48.5).contains(&mean), "{direction}");
    let others = other_levels(&run);
    assert!(
        others
            .iter()
            .any(|(from_s, to_s)| *from_s > 4.0 && to_s - from_s > 1.5),
        "{others:?}"
    );
}

/// A path of 20 ms that takes another route of 50 ms.
fn delay() {
    for options in ["--every 10ms", "--proto udp --every 10ms", ""] {
        let pair = Pair::up("rate = \"100M\"\ndelay = \"10ms\"");
        let _server = pair.serve();
        let test = Running::start(&mut pair.client(&format!("rtt h2 {options} -t 8 --json")));
        thread::sleep(Duration::from_secs(3));
        pair.set("h1-h2 delay=25ms");
        let ended = test.wait(LIMIT);
        assert_eq!(ended.code, Some(0), "{ended:#?}");
        let run = ended.json();
        let replies = &run["summary"]["sizes"][0]["pooled"];
        let mean = &replies["mean_us"];
        let [mean, low, high] = ["mean", "low", "high"].map(|key| mean[key].as_f64().unwrap());
        assert!((50_000.0..52_000.0).contains(&mean), "{options}: {replies}");
        assert!(low > 49_000.0 && high < 53_000.0, "{options}: {replies}");
        let from_s = replies["level"]["from_s"].as_f64().unwrap();
        assert!((1.5..5.0).contains(&from_s), "{options}: {replies}");
        let found = run["episodes"].as_array().unwrap();
        let found: Vec<&Value> = found
            .iter()
            .filter(|one| one["kind"] == "delay_level")
            .collect();
        let [one] = found[..] else {
            panic!("{options}: {}", run["episodes"]);
        };
        let evidence = one["evidence"].as_str().unwrap();
        assert!(evidence.starts_with("round trips of 20."), "{evidence}");
    }
}

/// Bursts of other traffic that fill the queue of a link every 0.5 s.
fn bursts() {
    let network = Network::build();
    network.shape("50mbit");
    let _server = network.serve("");
    let script = format!(
        "for nth in $(seq 30); do head -c 120000 /dev/zero | socat -u -b 1400 - UDP-SENDTO:{SERVER}:9; sleep 0.5; done"
    );
    let mut others = inside(&network.client, "bash");
    let others = Running::start(others.args(["-c", &script]));
    let ended = network.run_client("rtt --proto udp --every 2ms -t 8 --json");
    drop(others);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let run = ended.json();
    let replies = &run["summary"]["sizes"][0]["pooled"];
    let (usual_us, all_us) = (&replies["mean_us"]["mean"], &replies["rtt_us"]["mean"]);
    let (usual_us, all_us) = (usual_us.as_f64().unwrap(), all_us.as_f64().unwrap());
    assert!(usual_us < all_us, "{usual_us} {all_us}");
    let found = run["episodes"].as_array().unwrap();
    let found: Vec<&Value> = found.iter().filter(|one| one["kind"] == "delay").collect();
    let [one] = found[..] else {
        panic!("{}", run["episodes"]);
    };
    // 60 kB of queue at 50 Mbit/s; the bursts take some time themselves.
    let evidence = one["evidence"].as_str().unwrap();
    assert!(evidence.contains(" times"), "{evidence}");
}

/// A path that drops 24 datagrams of every 425, all at once.
fn loss_periods() {
    let network = Network::build();
    let drops = |port: &str| {
        vec![format!(
            "udp {port} 5201 udp length > 1000 numgen inc mod 425 < 24 drop"
        )]
    };
    for (space, port) in [(&network.server, "dport"), (&network.client, "sport")] {
        let rules = drops(port);
        let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
        Network::rules(space, &rules);
    }
    let _server = network.serve("");
    for words in ["udp -b 5M -t 8 --json", "udp -R -b 5M -t 8 --json"] {
        let ended = network.run_client(words);
        assert_eq!(ended.code, Some(0), "{ended:#?}");
        let run = ended.json();
        let loss = &run["summary"]["directions"][0]["loss"];
        let fraction = &loss["fraction"];
        assert_eq!(fraction["method"], "batch_means_t", "{words}: {loss}");
        let [low, high] = ["low", "high"].map(|end| fraction[end].as_f64().unwrap());
        assert!(
            (low..=high).contains(&(24.0 / 425.0)) && high - low < 0.009,
            "{loss}"
        );
        let found = run["episodes"].as_array().unwrap();
        let found = found.iter().find(|one| one["kind"] == "loss_periods");
        let evidence = found.unwrap()["evidence"].as_str().unwrap();
        assert!(evidence.contains("loss periods of 24"), "{evidence}");
        assert!(evidence.contains(" each, one every "), "{evidence}");
    }
}
