//! Marks of congestion (ECN) against what set them.

use super::number;
use crate::support::network::Network;

/// What nftables marks on the way is what both ends of a transfer over RBT count, and no datagram is lost for it.
pub fn are_counted() {
    let network = Network::build();
    let _server = network.serve("");
    Network::rules(
        &network.server,
        &["udp dport 5201 ip ecn ect0 numgen inc mod 50 49 counter ip ecn set ce"],
    );
    let files = network
        .run_client("file --via rbt --packet 1000 --sizes 2M --tier plain --json")
        .done()
        .json();
    let marked = Network::counted(&network.server)[0];
    let transfers = files["transfers"].as_array().unwrap();
    let of_end = |end: &str| -> u64 {
        transfers
            .iter()
            .map(|one| number(&one[end]["marked"]))
            .sum()
    };
    assert!(marked >= 40, "{marked}");
    assert_eq!(of_end("server"), marked, "{files:#}");
    // What arrives last is answered without counts.
    assert!(
        (marked - 2..=marked).contains(&of_end("client")),
        "{files:#}"
    );
    assert!(
        transfers
            .iter()
            .all(|one| number(&one["client"]["lost"]) == 0)
    );
}
