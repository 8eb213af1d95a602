//! Loss inside the hosts: what a firewall of either end takes away is not blamed on the path, and does not end the test.

use crate::support::network::{Network, SERVER, inside, missing};
use crate::support::{run, trial};
use libtest_mimic::Trial;
use serde_json::Value;
use std::time::Duration;

pub fn trials() -> Vec<Trial> {
    let in_network = |name, test: fn()| trial(name, missing(&["nft", "sysctl"]), test);
    vec![
        in_network(
            "a_firewall_of_the_sending_host_is_named_and_the_test_goes_on",
            own_firewall,
        ),
        in_network(
            "a_firewall_that_drops_everything_ends_the_test",
            closed_firewall,
        ),
        in_network(
            "a_firewall_of_the_receiving_host_is_no_cause_that_was_not_found",
            far_firewall,
        ),
        in_network(
            "where_the_kernels_drop_reasons_may_be_read_they_are_named",
            drop_reasons,
        ),
    ]
}

/// A rule in the chain that sees what a namespace sends.
fn output_rule(space: &str, rule: &str) {
    for words in [
        "add table inet o",
        "add chain inet o out { type filter hook output priority 0 ; }",
        &format!("add rule inet o out {rule}"),
    ] {
        let done = inside(space, "nft").arg(words).output().unwrap();
        assert!(done.status.success(), "{words}: {done:?}");
    }
}

fn warning<'a>(run: &'a Value, code: &str) -> Option<&'a Value> {
    let all = run["warnings"].as_array().unwrap();
    all.iter().find(|one| one["code"] == code)
}

#[track_caller]
fn assert_refused(words: &str, run: &Value, host: &str) {
    let found = warning(run, "send_refused");
    let message = found.and_then(|one| one["message"].as_str());
    assert!(
        message.is_some_and(|text| text.ends_with(&format!("(a firewall of {host})"))),
        "{words}: {}",
        run["warnings"]
    );
    assert!(warning(run, "flow_failed").is_none(), "{words}");
    assert!(warning(run, "cut_short").is_none(), "{words}");
}

fn own_firewall() {
    let network = Network::build();
    let _server = network.serve("");
    // Every 20th datagram of a test, in the direction in which its data go.
    output_rule(
        &network.client,
        "udp dport 5201 numgen inc mod 20 == 0 drop",
    );
    for words in ["udp -b 5M -t 2", "udp -b 5M -l 500 -t 2"] {
        let run = network.run_client(&format!("{words} --json")).done().json();
        assert_refused(words, &run, "this host");
        let direction = &run["summary"]["directions"][0];
        let loss = &direction["loss"];
        let count = |key: &str| loss["location"][key].as_u64().unwrap();
        assert_eq!(
            run["flows"][0]["sender"]["forbidden"], loss["location"]["sender_refused"],
            "{words}"
        );
        assert_eq!(
            count("sender_forbidden"),
            count("sender_refused"),
            "{words}"
        );
        assert_eq!(loss["lost"], count("sender_refused"), "{words}: {loss}");
        assert_eq!(count("path"), 0, "{words}: {loss}");
        let share = loss["fraction"]["mean"].as_f64().unwrap();
        assert!((0.03..0.08).contains(&share), "{words}: {loss}");
        assert_eq!(direction["limited_by"]["limit"], "sender", "{direction}");
        assert!(warning(&run, "rate_not_reached").is_none(), "{words}");
    }
    for words in [
        "rtt --proto udp --count 200",
        "rtt --proto udp --every 5ms -t 1",
    ] {
        let run = network.run_client(&format!("{words} --json")).done().json();
        assert_refused(words, &run, "this host");
        let replies = &run["summary"]["sizes"][0]["pooled"];
        assert!(replies["refused"].as_u64() >= Some(8), "{replies}");
        assert_eq!(replies["refused"], replies["lost"], "{words}: {replies}");
        assert_eq!(replies["forbidden"], replies["lost"], "{words}: {replies}");
    }
    let words = "quality --idle 2 -t 2";
    let run = network.run_client(&format!("{words} --json")).done().json();
    assert_refused(words, &run, "this host");
    let idle = &run["quality"]["phases"][0]["probes"][0];
    assert!(idle["refused"].as_u64() >= Some(2), "{idle}");
    let advice = run["quality"]["advice"].as_array().unwrap();
    let blames_the_line = |one: &Value| one["code"] == "idle_loss";
    assert!(!advice.iter().any(blames_the_line), "{advice:?}");
    output_rule(
        &network.server,
        "udp sport 5201 numgen inc mod 20 == 0 drop",
    );
    let words = "udp -R -b 5M -t 2";
    let run = network.run_client(&format!("{words} --json")).done().json();
    assert_refused(words, &run, "the server's host");
    let loss = &run["summary"]["directions"][0]["loss"];
    assert_eq!(loss["location"]["path"], 0, "{loss}");
}

fn closed_firewall() {
    // The opening of the flow passes; its data do not.
    for (rule, words) in [
        ("udp length > 100 drop", "udp -b 5M -t 5"),
        ("udp length 208 drop", "rtt --proto udp --sizes 200 -t 5"),
    ] {
        let network = Network::build();
        let _server = network.serve("");
        output_rule(&network.client, &format!("udp dport 5201 {rule}"));
        let ended = network.run_client(&format!("{words} --json"));
        let run = ended.json();
        assert_ne!(ended.code, Some(0), "{words}: {}", run["warnings"]);
        let text = run.to_string();
        assert!(text.contains("Operation not permitted"), "{words}: {text}");
    }
}

fn far_firewall() {
    let network = Network::build();
    let _server = network.serve("");
    // Below and above what counts as reaching the rate.
    for (rule, words) in [
        ("numgen inc mod 100 < 2 drop", "udp -b 5M -t 2"),
        ("numgen inc mod 100 < 5 drop", "udp -b 5M -t 2"),
    ] {
        Network::rules(
            &network.server,
            &[&format!("udp dport 5201 udp length > 1000 {rule}")],
        );
        let run = network.run_client(&format!("{words} --json")).done().json();
        let done = inside(&network.server, "nft")
            .args(["flush", "ruleset"])
            .output()
            .unwrap();
        assert!(done.status.success(), "{done:?}");
        let direction = &run["summary"]["directions"][0];
        let location = &direction["loss"]["location"];
        assert_eq!(
            location["path"], direction["loss"]["lost"],
            "{rule}: {location}"
        );
        assert_eq!(location["sender_refused"], 0, "{rule}: {location}");
        // No counter of a firewall can be read without privileges; what IP took in and did not deliver can.
        let lost = direction["loss"]["lost"].as_u64().unwrap();
        let dropped = location["receiver_host"].as_u64().unwrap();
        assert!((lost..lost + 5).contains(&dropped), "{rule}: {location}");
        let told = warning(&run, "host_drops").map(|one| one["message"].as_str().unwrap());
        assert!(
            told.is_some_and(|text| text.contains(&format!("{dropped} by a firewall"))),
            "{rule}: {}",
            run["warnings"]
        );
        let evidence = direction["limited_by"]["evidence"].as_str().unwrap();
        assert!(
            !evidence.contains("interface") && !evidence.contains("processor"),
            "{rule}: {evidence}"
        );
    }
}

/// A client that may read the kernel's record of dropped packets names NETFILTER_DROP, in as many packets as datagrams were lost, and leaves
/// no recording behind.
fn drop_reasons() {
    let network = Network::build();
    let _server = network.serve("");
    Network::rules(
        &network.client,
        &["udp sport 5201 udp length > 1000 numgen inc mod 100 < 5 drop"],
    );
    // In a mount namespace of its own, where nothing has to be mounted before.
    let line = format!(
        "mount -t tracefs none /sys/kernel/tracing && {} {} && ls /sys/kernel/tracing/instances",
        env!("CARGO_BIN_EXE_caudal"),
        format_args!("udp {SERVER} -R -b 5M -t 2 --json"),
    );
    let mut command = inside(&network.client, "unshare");
    command.args(["-m", "sh", "-c", &line]);
    let ended = run(&mut command, Duration::from_secs(60));
    let (document, instances) = ended.stdout.rsplit_once('}').unwrap();
    assert!(!instances.contains("caudal-"), "{instances}");
    let run: Value = serde_json::from_str(&format!("{document}}}")).unwrap();
    let lost = run["summary"]["directions"][0]["loss"]["lost"].as_u64();
    let reasons = &run["summary"]["cpu"]["client"]["drop_reasons"];
    assert!(lost > Some(10), "{lost:?}");
    let dropped = reasons["netfilter_drop"].as_u64();
    assert!(dropped >= lost, "{lost:?}: {reasons}");
    let told = warning(&run, "host_drops").map(|one| one["message"].as_str().unwrap());
    let told = told.unwrap_or_else(|| panic!("{}", run["warnings"]));
    assert!(told.contains(" NETFILTER_DROP"), "{told}");
}
