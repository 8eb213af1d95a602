//! What the grade of `caudal quality` stands for: no load that did not fill the path, and no probe that the path serves before the load.

use crate::support::network::missing;
use crate::support::path_lab::PathLab;
use crate::support::{run, trial};
use libtest_mimic::Trial;
use serde_json::Value;
use std::time::Duration;

/// Long enough for every phase on a busy machine.
const LIMIT: Duration = Duration::from_secs(120);

/// Two hosts, and a router whose links have no rate of their own.
const ROUTED: &str = "host = [{ name = \"h1\" }, { name = \"h2\" }]\nrouter = [{ name = \"r1\" }]\n\
    link = [{ between = [\"h1\", \"r1\"] }, { between = [\"r1\", \"h2\"] }]\n";

/// The same with a rate and a queue of 40 ms towards the second.
const LINKED: &str = "host = [{ name = \"h1\" }, { name = \"h2\" }]\nrouter = [{ name = \"r1\" }]\n\
    link = [{ between = [\"h1\", \"r1\"] }, { between = [\"r1\", \"h2\"], rate = \"20M\", delay = \"5ms\", \
    queue = { bytes = 100000 } }]\n";

/// Every interface of a router: 20 Mbit/s, a queue of 200 ms, and UDP before it.
const UDP_FIRST: &str = "set -e\nfor dev in $(ls /sys/class/net); do [ $dev = lo ] && continue\n\
    tc qdisc replace dev $dev root handle 1: htb default 20\n\
    tc class add dev $dev parent 1: classid 1:1 htb rate 20mbit ceil 20mbit quantum 3000\n\
    tc class add dev $dev parent 1:1 classid 1:10 htb rate 1mbit ceil 20mbit prio 0 quantum 3000\n\
    tc class add dev $dev parent 1:1 classid 1:20 htb rate 19mbit ceil 20mbit prio 1 quantum 3000\n\
    tc qdisc add dev $dev parent 1:20 pfifo limit 330\ndone\n\
    nft 'add table inet q; add chain inet q f { type filter hook forward priority 0 ; }'\n\
    nft 'add rule inet q f meta l4proto udp meta priority set 1:10'\n";

pub fn trials() -> Vec<Trial> {
    [
        (
            "where_udp_is_served_first_the_grade_is_that_of_tcp",
            &["nft", "tc"][..],
            udp_first as fn(),
        ),
        (
            "a_load_that_loss_held_back_has_no_grade",
            &["nft"],
            lossy_download,
        ),
    ]
    .into_iter()
    .map(|(name, programs, test)| trial(name, missing(programs), test))
    .collect()
}

#[track_caller]
fn quality(lab: &PathLab, words: &str) -> Value {
    let words = format!("{} quality h2 {words} --json", env!("CARGO_BIN_EXE_caudal"));
    run(&mut lab.on("h1", &words), LIMIT).done().json()
}

/// The directions of a kind of advice.
fn advised<'a>(run: &'a Value, code: &str) -> Vec<&'a str> {
    let all = run["quality"]["advice"].as_array().unwrap().iter();
    all.filter(|one| one["code"] == code)
        .filter_map(|one| one["direction"].as_str())
        .collect()
}

fn udp_first() {
    let lab = PathLab::up(ROUTED);
    let script = lab.place.file("udp-first.sh", UDP_FIRST);
    lab.does("r1", &format!("bash {script}"));
    let _server = lab.serve("");
    let run = quality(&lab, "--idle 1 -t 5");
    let grade = &run["quality"]["grade"];
    let name = grade["grade"].as_str().unwrap();
    assert!(["C", "D"].contains(&name), "{grade}");
    assert_eq!(
        advised(&run, "served_first"),
        ["down", "up"],
        "{}",
        run["quality"]["advice"]
    );
    assert_eq!(
        advised(&run, "path_queue"),
        ["down", "up"],
        "{}",
        run["quality"]["advice"]
    );
    for phase in &run["quality"]["phases"].as_array().unwrap()[1..3] {
        let both = &phase["by_protocol"];
        assert_eq!(both["served_first"], "udp", "{both}");
        let mean = |name: &str| both[name]["mean_us"].as_f64().unwrap();
        assert!(mean("udp") < 5e3 && mean("tcp") > 40e3, "{both}");
        assert_eq!(phase["added_rtt"], both["tcp"]);
    }
}

fn lossy_download() {
    let lab = PathLab::up(LINKED);
    lab.rule(
        "h1",
        "input",
        "tcp sport 5201 numgen random mod 100 < 30 drop",
    );
    let _server = lab.serve("");
    let run = quality(&lab, "--idle 1 -t 5");
    let quality = &run["quality"];
    assert_eq!(
        advised(&run, "path_not_filled"),
        ["down"],
        "{}",
        quality["advice"]
    );
    let phases = quality["phases"].as_array().unwrap();
    let download = &phases[1];
    assert!(download.get("grade").is_none(), "{download}");
    let fill = &download["directions"][0]["fill"];
    assert_ne!(fill["verdict"], "filled", "{fill}");
    assert_eq!(quality["grade"]["loads"], serde_json::json!(["upload"]));
    let upload = &phases[2]["directions"][0]["fill"];
    assert_eq!(upload["verdict"], "filled", "{upload}");
}
