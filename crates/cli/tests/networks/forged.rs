//! Datagrams from forged addresses: they take places for a moment, and honest clients beside them are served.

use crate::support::network::{Network, SERVER, inside, missing};
use crate::support::{Running, run, trial};
use libtest_mimic::Trial;
use std::thread;
use std::time::Duration;

pub fn trials() -> Vec<Trial> {
    vec![trial(
        "single_datagrams_of_iperf_2_leave_places_to_honest_clients",
        missing(&["bash", "iperf"]),
        single_datagrams,
    )]
}

/// Datagrams with number 1 of iperf 2, each from a port of its own, from six addresses in turn.
const FLOOD: &str = r"
for round in $(seq 40); do
  ip route replace 10.77.0.2/32 dev v0 src 10.77.0.$((10 + round % 6))
  for nth in $(seq 25); do printf '\0\0\0\1%096d' 0 > /dev/udp/10.77.0.2/5001; done
  sleep 0.2
done";

fn single_datagrams() {
    let network = Network::build();
    for last in 10..16 {
        let words = format!("addr add 10.77.0.{last}/24 dev v0");
        let added = inside(&network.client, "ip")
            .args(words.split(' '))
            .output();
        assert!(added.unwrap().status.success());
    }
    let _server = network.serve("--iperf2");
    let mut flood = inside(&network.client, "bash");
    let flood = Running::start(flood.args(["-c", FLOOD]));
    thread::sleep(Duration::from_secs(4));
    let mut served = 0;
    for _ in 0..4 {
        let words = format!("-u -c {SERVER} -B 10.77.0.1 -b 1M -t 0.5");
        let mut client = inside(&network.client, "iperf");
        let ended = run(client.args(words.split(' ')), Duration::from_secs(20));
        // The report that the server sends at the end.
        served += u32::from(ended.stdout.contains("Server Report"));
    }
    drop(flood);
    assert!(served >= 3, "{served} of 4 honest clients were served");
}
