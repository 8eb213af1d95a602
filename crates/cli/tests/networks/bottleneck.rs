//! What limits a connection is named: situations built so that the answer is known.

use crate::support::network::{Network, missing};
use crate::support::pair::Pair;
use crate::support::processor::ProcessorShare;
use crate::support::{Ended, Running, Serve, run, trial};
use libtest_mimic::Trial;
use serde_json::Value;
use std::time::Duration;

/// The time a test takes; long enough for slow start to end on every path here.
const TIME: &str = "-t 2 -i 0.5 --json";

pub fn trials() -> Vec<Trial> {
    let in_lab = |name, situation: Situation| {
        trial(name, missing(situation.programs), move || {
            situation.check();
        })
    };
    let pair = Situation::default();
    let long = "delay = \"20ms\"";
    let slow = "delay = \"10ms\"\nrate = \"10M\"";
    vec![
        in_lab(
            "the_rate_of_a_link_is_named",
            Situation {
                link: format!("{slow}\nqueue = {{ frames = 20 }}"),
                expect: ("network", Some("link_rate")),
                evidence: "the path is full",
                ..pair.clone()
            },
        ),
        in_lab(
            "bufferbloat_is_named",
            Situation {
                link: format!("{slow}\nqueue = {{ frames = 200 }}"),
                expect: ("network", Some("bufferbloat")),
                evidence: "which is more than the path needs",
                ..pair.clone()
            },
        ),
        in_lab(
            "random_loss_is_named",
            Situation {
                link: "delay = \"10ms\"\nloss = 0.01".to_owned(),
                expect: ("network", Some("random_loss")),
                evidence: "lost at random after the start",
                ..pair.clone()
            },
        ),
        in_lab(
            "a_policer_is_named",
            Situation {
                link: "delay = \"10ms\"\nforward = { policer = { rate = \"10M\", burst = 30000 } }"
                    .to_owned(),
                expect: ("network", Some("policer")),
                evidence: "at which the losses came without a queue",
                ..pair.clone()
            },
        ),
        in_lab(
            "a_small_receive_buffer_on_a_long_path_is_named",
            Situation {
                link: long.to_owned(),
                server: "sysctl -q -w net.ipv4.tcp_rmem='4096 32768 32768'",
                expect: ("receiver_window", None),
                evidence: "its application read what arrived",
                ..pair.clone()
            },
        ),
        in_lab(
            "a_send_buffer_of_4608_bytes_on_a_long_path_is_named",
            Situation {
                link: long.to_owned(),
                client: "sysctl -q -w net.ipv4.tcp_wmem='4096 4608 4608'",
                expect: ("send_buffer", None),
                evidence: "nothing was left to send",
                ..pair.clone()
            },
        ),
        in_lab(
            "a_send_buffer_of_32_kib_on_a_long_path_is_named",
            Situation {
                link: long.to_owned(),
                client: "sysctl -q -w net.ipv4.tcp_wmem='4096 32768 32768'",
                expect: ("send_buffer", None),
                evidence: "nothing was left to send",
                ..pair.clone()
            },
        ),
        in_lab(
            "a_rate_asked_for_is_named",
            Situation {
                link: long.to_owned(),
                options: "-b 5M",
                expect: ("pacing", None),
                evidence: "of the rate asked for",
                ..pair.clone()
            },
        ),
        in_lab(
            "a_slow_sending_application_is_named",
            Situation {
                link: slow.to_owned(),
                client: "exec < <(while head -c 4000 /dev/zero; do sleep 0.02; done)",
                options: "-F -",
                expect: ("sender", Some("application")),
                evidence: "the source of its payload",
                ..pair.clone()
            },
        ),
        in_lab(
            "a_slow_receiving_application_is_named",
            Situation {
                link: long.to_owned(),
                // The server of iperf 2 reads at this rate.
                server: "sysctl -q -w net.ipv4.tcp_rmem='4096 262144 262144'",
                foreign_server: Some("stdbuf -oL iperf -s -p 5201 -b 10m"),
                options: "--as iperf2 -4",
                expect: ("receiver", Some("application")),
                evidence: "below half of its maximum",
                programs: &["sysctl", "bash", "iperf", "stdbuf"],
                ..pair
            },
        ),
        trial(
            "the_processor_of_the_sender_is_named",
            missing(&[]),
            sender_without_cpu,
        ),
        trial(
            "the_processor_of_the_receiver_is_named",
            ProcessorShare::missing(),
            receiver_without_cpu,
        ),
    ]
}

/// Two hosts with a link between them, and what limits a connection there.
#[derive(Clone)]
struct Situation {
    /// The keys of the link.
    link: String,
    /// A command of the shell that starts the server.
    server: &'static str,
    /// The server, where it is another program's.
    foreign_server: Option<&'static str>,
    /// A command of the shell that starts the client.
    client: &'static str,
    /// Options of the client.
    options: &'static str,
    /// What is to be found, and its cause.
    expect: (&'static str, Option<&'static str>),
    /// A part of the evidence.
    evidence: &'static str,
    /// What it takes.
    programs: &'static [&'static str],
}

impl Default for Situation {
    fn default() -> Self {
        Self {
            link: String::new(),
            server: ":",
            foreign_server: None,
            client: ":",
            options: "",
            expect: ("unknown", None),
            evidence: "",
            programs: &["sysctl", "bash"],
        }
    }
}

impl Situation {
    fn check(&self) {
        let pair = Pair::up(&self.link);
        let on = |host: &str, script: &str| {
            let mut command = pair.on(host, "bash -c");
            command.arg(script);
            command
        };
        let caudal = env!("CARGO_BIN_EXE_caudal");
        let own = format!("{caudal} serve -p 5201");
        let (program, ready) = match self.foreign_server {
            Some(program) => (program, "Server listening"),
            None => (own.as_str(), "listening on "),
        };
        let script = format!("{}; exec {program}", self.server);
        let server = Running::start(&mut on("h2", &script));
        server.line_with(ready);
        let script = format!(
            "{}; exec {caudal} tcp h2 -p 5201 {} {TIME}",
            self.client, self.options
        );
        let ended = run(&mut on("h1", &script), Duration::from_secs(60));
        assert_limited_by(&ended, self.expect, self.evidence);
    }
}

#[track_caller]
fn assert_limited_by(ended: &Ended, expect: (&str, Option<&str>), evidence: &str) {
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let json: Value = ended.json();
    let found = &json["summary"]["directions"][0]["limited_by"];
    let limit = (
        found["limit"].as_str().unwrap_or(""),
        found["cause"].as_str(),
    );
    assert_eq!(limit, expect, "{found}\n{}", json["summary"]);
    assert!(
        found["evidence"].as_str().unwrap().contains(evidence),
        "{found}"
    );
}

fn sender_without_cpu() {
    let network = Network::build();
    let _server = network.serve("");
    // A call for every 16 bytes costs the sender far more than the receiver.
    let ended = network.run_client(&format!("tcp -C cubic -l 16 {TIME}"));
    assert_limited_by(&ended, ("sender", Some("cpu")), "on a processor");
}

fn receiver_without_cpu() {
    let share = ProcessorShare::of_percent(3).unwrap();
    let server = Serve::start("");
    share.add(server.running.pid());
    let ended = server.serves(&format!("tcp -C cubic {TIME}"));
    assert_limited_by(&ended, ("receiver", Some("cpu")), "waiting for one");
    let run = ended.json();
    let warnings = run["warnings"].as_array().unwrap();
    let throttled = warnings.iter().find(|one| one["code"] == "throttled_cpu");
    let message = throttled.and_then(|one| one["message"].as_str());
    assert!(
        message.is_some_and(|text| text.contains("held the server back for")),
        "{warnings:?}"
    );
}
