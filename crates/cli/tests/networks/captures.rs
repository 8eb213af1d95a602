//! `caudal pcap` against tshark and against the lab's own counters, on captures of known loss, reordering, duplication and offloads.

mod ends;
mod flow_agreement;
mod lab_capture;
mod routed;
mod routed_network;
mod sequence_model;
mod tcpdump;
mod tshark;

use crate::support::network::missing;
use crate::support::trial;
use lab_capture::LabCapture;
use libtest_mimic::Trial;
use routed_network::missing_translation;

/// What a case must show, so that the comparison is not one of nothing.
#[derive(Debug, Clone, Copy)]
struct ExpectedImpairments {
    loss: bool,
    reordering: bool,
    duplication: bool,
}

pub fn trials() -> Vec<Trial> {
    let in_lab = || missing(&["tshark", "tcpdump", "ss"]);
    let routed = || missing(&["tshark", "tcpdump", "ethtool", "nft", "sysctl"]);
    let cases = [
        ("a_clean_link", "", [false, false, false]),
        ("loss", r#", loss = "3%""#, [true, false, false]),
        (
            "reordering",
            r#", reorder = { share = "3%" }"#,
            [false, true, false],
        ),
        ("duplication", r#", duplicate = "3%""#, [false, false, true]),
        (
            "loss_reordering_and_duplication",
            r#", loss = "2%", duplicate = "2%", reorder = { share = "2%" }"#,
            [true, true, true],
        ),
    ];
    let mut trials: Vec<Trial> = Vec::new();
    for (name, link, [loss, reordering, duplication]) in cases {
        let expected = ExpectedImpairments {
            loss,
            reordering,
            duplication,
        };
        trials.push(trial(
            &format!("tcp_and_udp_over_{name}_agree_with_tshark_and_with_the_lab"),
            in_lab(),
            move || over_a_link(link, expected),
        ));
    }
    trials.push(trial(
        "windows_of_zero_agree_with_tshark",
        in_lab(),
        zero_windows,
    ));
    trials.push(trial(
        "super_packets_agree_with_tshark_and_their_segments_with_the_receiving_kernel",
        routed(),
        routed::super_packets,
    ));
    trials.push(trial(
        "translated_addresses_are_compared_by_what_stays_the_same",
        routed().or_else(missing_translation),
        routed::translated,
    ));
    trials
}

/// TCP and UDP over a link of the lab, captured at both ends.
fn over_a_link(link: &str, expected: ExpectedImpairments) {
    let lab = LabCapture::take(
        &format!(r#"rate = "5M", delay = "10ms"{link}"#),
        &["tcp h2 -t 0.8 -C cubic", "udp h2 -t 0.8 -b 2M -l 1000"],
    );
    let [sent, arrived] = [0, 1].map(|end| flow_agreement::agree(&lab.file(end)));
    // A machine that stalls makes senders repeat segments on any link.
    let is_late = expected.loss || expected.reordering;
    assert!(!is_late || arrived.late > 0, "{arrived:?}");
    assert!(!expected.loss || sent.late > 0, "{sent:?}");
    assert_eq!(arrived.copies > 0, expected.duplication, "{arrived:?}");
    assert!(
        arrived.out_of_order > 0 || !expected.reordering,
        "{arrived:?}"
    );
    ends::agree_with_the_lab(&lab, expected);
}

/// A receiver that does not read for a while.
fn zero_windows() {
    let lab = LabCapture::take_with_a_pause(
        r#"rate = "20M", delay = "2ms""#,
        "tcp h2 -t 2 -b 1M -w 16Ki -C cubic",
    );
    for end in [0, 1] {
        let seen = flow_agreement::agree(&lab.file(end));
        assert!(seen.zero_windows > 0, "{seen:?}");
    }
}
