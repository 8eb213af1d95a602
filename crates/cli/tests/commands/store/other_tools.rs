//! Runs with other tools' servers, and of other tools' command lines.

use super::{entries_in, sql};
use crate::support::place::Place;
use crate::support::port::free_port;
use crate::support::{Ended, Running, SOON, Serve, caudal, run};
use serde_json::Value;
use std::process::Command;

pub(crate) fn foreign_server() {
    let place = Place::new();
    let server = Running::start(&mut caudal(["iperf3", "-s", "-1", "-p", "0"]));
    drop(server);
    let server = Serve::start("--iperf2-port 0");
    let mut command = server.client("tcp -n 64K --as iperf3");
    run(command.env("CAUDAL_STORE", place.store()), SOON).done();
    let entries = entries_in(&place, "");
    assert_eq!(entries[0]["kind"], "tcp");
    let shown = place.says("report show").done().stdout;
    assert!(shown.contains("warning: the server is"), "{shown}");
}

/// A server that speaks the other programs' languages too, and its port for each.
struct Speaks {
    server: Serve,
    iperf2: String,
    nttcp: String,
}

impl Speaks {
    fn start() -> Self {
        let server = Serve::start("--iperf2-port 0 --nttcp-port 0");
        let port_behind = |words: &str| {
            let line = server.running.line_with(words);
            let rest = line.split(words).nth(1).unwrap();
            rest.split(',').next().unwrap().trim().to_owned()
        };
        Self {
            iperf2: port_behind("iperf 2 on port "),
            nttcp: port_behind("nttcp on port "),
            server,
        }
    }

    /// A client in the ways of the program that its words begin with.
    fn client(&self, words: &str) -> Command {
        let (program, words) = words.split_once(' ').unwrap();
        let words = words.split_whitespace();
        let native = self.server.port.to_string();
        match program {
            "nttcp" => {
                let mut command = caudal(["nttcp", "-p", &self.nttcp]);
                command.args(words).arg("127.0.0.1");
                command
            }
            program => {
                let port = if program == "iperf" {
                    &self.iperf2
                } else {
                    &native
                };
                let mut command = caudal([program, "-c", "127.0.0.1", "-p", port]);
                command.args(words);
                command
            }
        }
    }
}

/// What is kept of a client in the ways of another program: what it printed, its line of the list, its document.
fn recorded_by(words: &str) -> (Ended, Value, Value) {
    let place = Place::new();
    let speaks = Speaks::start();
    let mut command = speaks.client(words);
    let ended = run(command.env("CAUDAL_STORE", place.store()), SOON);
    assert_eq!(
        (ended.code, ended.stderr.as_str()),
        (Some(0), ""),
        "{ended:#?}"
    );
    assert!(!ended.stdout.contains("saved as"), "{ended:#?}");
    let entries = entries_in(&place, "");
    let [entry] = entries.as_slice() else {
        panic!("{words}: {entries:#?}");
    };
    let program = words.split(' ').next().unwrap();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(entry["tool"], format!("caudal {version} (as {program})"));
    assert_eq!(entry["outcome"], "done", "{entry}");
    let command = entry["command"].as_str().unwrap();
    assert!(
        command.starts_with(&format!("caudal {program} -")),
        "{command}"
    );
    assert!(
        entry["peer"].as_str().unwrap().starts_with("127.0.0.1:"),
        "{entry}"
    );
    let varying: String = sql(&place.store())
        .query_row("SELECT varying FROM run", [], |row| row.get(0))
        .unwrap();
    let varying: Value = serde_json::from_str(&varying).unwrap();
    assert!(
        varying["machine"]["meanwhile"]["elapsed_s"].as_f64() > Some(0.0),
        "{varying}"
    );
    place.says("report show").done();
    let document = place.says("report show --json").done().json();
    assert_eq!(document["schema"], "caudal.run/1");
    assert_eq!(document["id"], entry["id"]);
    assert_eq!(document["tool"]["as"], program);
    assert!(
        document["environment"]["client"]["kernel"].is_string(),
        "{document}"
    );
    assert_eq!(document.get("imported"), None);
    (ended, entry.clone(), document)
}

#[track_caller]
fn close(kept: &Value, printed: &Value) {
    let (kept, printed) = (kept.as_f64().unwrap(), printed.as_f64().unwrap());
    let off = (kept - printed).abs();
    assert!(
        off <= printed.abs() * 1e-9 && printed > 0.0,
        "{kept} is not {printed}"
    );
}

pub(crate) fn iperf3_kept() {
    let (ended, entry, document) = recorded_by("iperf3 -n 2M -P 2 -J");
    let printed = ended.json();
    let direction = &document["summary"]["directions"][0];
    assert_eq!(
        (&entry["kind"], &direction["direction"]),
        (&"tcp".into(), &"up".into())
    );
    let received = &printed["end"]["sum_received"];
    let sent = &printed["end"]["sum_sent"];
    assert_eq!(direction["received_bytes"], received["bytes"]);
    assert_eq!(direction["sent_bytes"], sent["bytes"]);
    let rate = &document["summary"]["goodput_bps"]["mean"];
    assert_eq!(&entry["headline"]["goodput_bps"], rate);
    assert!(rate.as_f64() > Some(0.0));
    assert_eq!(document["flows"].as_array().unwrap().len(), 2);
    assert_eq!(document["flows"][0]["counted_by"], "sender");
    assert_eq!(document["plan"]["end"]["bytes"], 2 << 20);

    // What arrives here is counted here, and both directions at once are told apart.
    let (ended, entry, document) = recorded_by("iperf3 -t 1 -i 0.25 -b 20M --bidir -J");
    let printed = ended.json();
    let rates = [0, 1].map(|at| {
        let direction = &document["summary"]["directions"][at];
        direction["goodput_bps"]["mean"].as_f64().unwrap()
    });
    close(
        &entry["headline"]["goodput_bps"],
        &rates.iter().sum::<f64>().into(),
    );
    let down = &document["flows"][1];
    assert_eq!(
        (&down["direction"], &down["counted_by"]),
        (&"down".into(), &"receiver".into())
    );
    let rows = printed["intervals"].as_array().unwrap();
    assert_eq!(down["intervals"].as_array().unwrap().len(), rows.len());
    let found = &down["intervals"][1]["goodput_bps"];
    close(found, &rows[1]["sum_bidir_reverse"]["bits_per_second"]);

    let (ended, entry, document) = recorded_by("iperf3 -u -t 1 -b 2M -J");
    let printed = ended.json();
    assert_eq!(entry["kind"], "udp");
    let receiver = &document["flows"][0]["receiver"];
    let arrived = &printed["end"]["sum_received"];
    assert_eq!(receiver["lost"], arrived["lost_packets"]);
    assert_eq!(receiver["bytes"], arrived["bytes"]);
    assert_eq!(receiver.get("reordered"), None, "the server does not tell");
}

pub(crate) fn iperf2_kept() {
    /// A column of the last row that was printed.
    fn printed(ended: &Ended, at: usize) -> u64 {
        let row = ended.stdout.lines().last().unwrap();
        row.split(',').nth(at).unwrap().parse().unwrap()
    }

    // The sender's own count is not what arrived: a client of TCP does not learn that.
    let (ended, entry, document) = recorded_by("iperf -t 0.6 -i 0.2 -b 20M -y C");
    assert_eq!(entry["kind"], "tcp");
    assert!(entry["headline"]["goodput_bps"].is_null(), "{entry}");
    let direction = &document["summary"]["directions"][0];
    assert_eq!(direction["sent_bytes"], printed(&ended, 7), "{ended:#?}");
    assert!(direction["sent_bps"].as_f64() > Some(0.0), "{direction}");
    let flow = &document["flows"][0];
    assert_eq!(flow.get("receiver"), None, "{flow}");
    assert!(
        flow["intervals"][0]["tcp"]["cwnd_bytes"].as_u64() > Some(0),
        "{flow}"
    );
    assert_eq!(flow["intervals"][0].get("goodput_bps"), None);

    let (ended, entry, document) = recorded_by("iperf -t 0.6 -b 5M -R -y C");
    assert!(
        entry["headline"]["goodput_bps"].as_f64() > Some(0.0),
        "{entry}"
    );
    let flow = &document["flows"][0];
    assert_eq!(flow["direction"], "down");
    assert_eq!(flow["receiver"]["bytes"], printed(&ended, 7));

    let (ended, entry, document) = recorded_by("iperf -u -t 0.6 -b 2M -y C");
    assert_eq!(entry["kind"], "udp");
    let flow = &document["flows"][0];
    assert_eq!(flow["receiver"]["bytes"], printed(&ended, 7), "{ended:#?}");
    assert_eq!(flow["receiver"]["lost"], printed(&ended, 10), "{ended:#?}");
    assert!(flow["sender"]["datagrams"].as_u64() > Some(0), "{flow}");

    // One direction after the other is not both at once.
    let (_, entry, document) = recorded_by(&format!("iperf -t 0.5 -b 5M -r -L {}", free_port()));
    let (up, down) = (&document["flows"][0], &document["flows"][1]);
    assert_eq!(
        (&up["direction"], &down["direction"]),
        (&"up".into(), &"down".into())
    );
    let end = up["sender"]["end_s"].as_f64().unwrap();
    assert!(
        down["receiver"]["start_s"].as_f64().unwrap() > end * 0.9,
        "{document:#}"
    );
    assert!(entry["headline"]["goodput_bps"].is_null(), "{entry}");
}

pub(crate) fn nttcp_kept() {
    let (_, entry, document) = recorded_by("nttcp -l 8192 -n 100");
    assert_eq!(entry["kind"], "tcp");
    assert!(
        entry["headline"]["goodput_bps"].as_f64() > Some(0.0),
        "{entry}"
    );
    let flow = &document["flows"][0];
    assert_eq!(
        (&flow["sender"]["bytes"], &flow["receiver"]["bytes"]),
        (&819_200.into(), &819_200.into())
    );

    let (_, _, document) = recorded_by("nttcp -r -u -l 1000 -n 50 -g 500");
    let flow = &document["flows"][0];
    assert_eq!(flow["direction"], "down");
    assert_eq!(flow["sender"]["datagrams"], 50);
    let receiver = &flow["receiver"];
    let [arrived, lost] = ["datagrams", "lost"].map(|key| receiver[key].as_u64().unwrap());
    assert_eq!(arrived + lost, 50, "{receiver}");
    assert_eq!(receiver["bytes"], arrived * 1000);
}

pub(crate) fn other_ways_without_a_store() {
    let speaks = Speaks::start();
    for words in ["iperf3 -n 1M", "iperf -n 1M", "nttcp -n 100"] {
        let with = |store: &str| {
            let mut command = speaks.client(words);
            run(command.env("CAUDAL_STORE", store), SOON)
        };
        let (plain, warned) = (with("none"), with("/proc/caudal/store.db"));
        assert_eq!(
            (plain.code, plain.stderr.as_str()),
            (Some(0), ""),
            "{plain:#?}"
        );
        assert_eq!(warned.code, plain.code, "{warned:#?}");
        assert_eq!(
            warned.stdout.lines().count(),
            plain.stdout.lines().count(),
            "{plain:#?} {warned:#?}"
        );
        let [line] = warned.stderr.lines().collect::<Vec<_>>()[..] else {
            panic!("{warned:#?}");
        };
        assert!(
            line.starts_with("caudal: warning: the run is not recorded: "),
            "{line}"
        );
        assert!(line.contains("CAUDAL_STORE=FILE"), "{line}");
        assert!(!line.contains("--store"), "it has no such flag: {line}");
    }
}

pub(crate) fn other_ways_interrupted() {
    let place = Place::new();
    let speaks = Speaks::start();
    for words in ["iperf3 -t 30 -i 0.1 -b 5M", "iperf -t 30 -i 0.1 -b 5M"] {
        let mut command = speaks.client(words);
        let client = Running::start(command.env("CAUDAL_STORE", place.store()));
        client.line_with("its/sec");
        client.signal("INT");
        client.wait(SOON);
        let entry = &entries_in(&place, "")[0];
        assert_eq!(entry["outcome"], "cut short", "{words}: {entry}");
        let shown = place.says("report show --json").done().json();
        assert_eq!(shown["warnings"][0]["code"], "cut_short", "{shown}");
        assert!(
            !shown["flows"][0]["intervals"]
                .as_array()
                .unwrap()
                .is_empty()
        );
    }
    // Nothing was measured where nobody listens.
    let mut command = caudal(["iperf3", "-c", "127.0.0.1", "-p", "1"]);
    let ended = run(command.env("CAUDAL_STORE", place.store()), SOON);
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert_eq!(entries_in(&place, "").len(), 2);
}
