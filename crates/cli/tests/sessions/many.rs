//! Many clients of one server at once: each gets its own count right.

use crate::support::{Running, Serve};
use std::time::Duration;

trials! {
    fifty_clients_at_once_all_get_what_they_asked_for,
}

fn fifty_clients_at_once_all_get_what_they_asked_for() {
    let server = Serve::start("");
    let kinds = [
        "udp -n 250K -b 1M -l 1000 --json",
        "udp -n 250K -b 1M -l 1000 -R --json",
        "tcp -n 250K -b 1M --json",
        "tcp -n 250K -b 1M -R --json",
        "udp -n 250K -b 1M -l 1000 --bidir --json",
    ];
    let clients: Vec<(&str, Running)> = (0..50)
        .map(|nth| {
            let words = kinds[nth % kinds.len()];
            (words, Running::start(&mut server.client(words)))
        })
        .collect();
    for (words, client) in clients {
        let run = client.wait(Duration::from_secs(60)).done().json();
        for flow in run["flows"].as_array().unwrap() {
            assert_eq!(flow["receiver"]["bytes"], 250_000, "{words}: {flow}");
            assert_eq!(flow["sender"]["bytes"], 250_000, "{words}: {flow}");
        }
    }
    server.still_serves();
}
