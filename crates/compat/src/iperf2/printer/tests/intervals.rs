//! The intervals at the end of a test, and the sums over both directions of a connection.

use super::{
    Event, Role, TestMode, client, ended, opened, opened_udp, printer, received, sampled, sent,
    sent_datagrams, show,
};
use caudal_core::event::DataConnection;
use caudal_core::plan::{Direction, PlannedFlow};
use caudal_foreign::iperf2::Iperf2Session;

/// The other direction of a connection.
fn reverse_of(connection: &DataConnection, flow: u32) -> DataConnection {
    DataConnection {
        flow: PlannedFlow {
            id: flow,
            direction: Direction::Down,
        },
        role: Role::Receiver,
        ..connection.clone()
    }
}

#[test]
fn what_follows_the_last_interval_has_one_of_its_own_from_a_quarter_of_an_interval_on() {
    let lines = |at_ns| {
        show(
            &mut printer("-c 127.0.0.1 -i 0.5 -x CS"),
            &client(),
            &[
                Event::Opened(opened(Role::Sender, 1)),
                sampled(0, 1, sent(3_145_728)),
                ended(0, at_ns, sent(3_932_160)),
            ],
        )
    };
    assert_eq!(
        lines(612_700_000),
        "\
[ ID] Interval       Transfer     Bandwidth
[  1] 0.0000-0.5000 sec  3.00 MBytes  50.3 Mbits/sec
[  1] 0.0000-0.6127 sec  3.75 MBytes  51.3 Mbits/sec
"
    );
    assert_eq!(
        lines(640_000_000),
        "\
[ ID] Interval       Transfer     Bandwidth
[  1] 0.0000-0.5000 sec  3.00 MBytes  50.3 Mbits/sec
[  1] 0.5000-0.6400 sec   768 KBytes  44.9 Mbits/sec
[  1] 0.0000-0.6400 sec  3.75 MBytes  49.2 Mbits/sec
"
    );
}

#[test]
fn a_receiver_has_that_interval_too() {
    let out = show(
        &mut printer("-c 127.0.0.1 -R -i 0.5 -x CS"),
        &Iperf2Session {
            mode: TestMode::Reverse,
            ..client()
        },
        &[
            Event::Opened(opened(Role::Receiver, 1)),
            sampled(0, 1, received(3_145_728)),
            ended(0, 650_000_000, received(4_194_304)),
        ],
    );
    assert_eq!(
        out,
        "\
[ ID] Interval       Transfer     Bandwidth
[ *1] 0.0000-0.5000 sec  3.00 MBytes  50.3 Mbits/sec
[ *1] 0.5000-0.6500 sec  1.00 MBytes  55.9 Mbits/sec
[ *1] 0.0000-0.6500 sec  4.00 MBytes  51.6 Mbits/sec
"
    );
}

#[test]
fn a_test_shorter_than_an_interval_is_one_and_a_sender_of_datagrams_has_none() {
    let out = show(
        &mut printer("-c 127.0.0.1 -n 1M -i 0.5 -x CS"),
        &client(),
        &[
            Event::Opened(opened(Role::Sender, 1)),
            ended(0, 388_700_000, sent(1 << 20)),
        ],
    );
    assert_eq!(
        out,
        "\
[ ID] Interval       Transfer     Bandwidth
[  1] 0.0000-0.3887 sec  1.00 MBytes  21.6 Mbits/sec
[  1] 0.0000-0.3887 sec  1.00 MBytes  21.6 Mbits/sec
"
    );
    let out = show(
        &mut printer("-c 127.0.0.1 -u -i 0.5 -x CS"),
        &client(),
        &[
            Event::Opened(opened_udp(Role::Sender, 1)),
            sampled(0, 1, sent_datagrams(67_620, 46)),
            ended(0, 718_800_000, sent_datagrams(97_020, 66)),
        ],
    );
    assert_eq!(
        out,
        "\
[ ID] Interval       Transfer     Bandwidth
[  1] 0.0000-0.5000 sec  66.0 KBytes  1.08 Mbits/sec
[  1] 0.0000-0.7188 sec  94.7 KBytes  1.08 Mbits/sec
[  1] Sent 66 datagrams
"
    );
}

#[test]
fn the_sum_over_flows_has_that_interval_over_what_its_flows_sent_in_it() {
    let session = Iperf2Session {
        members: 2,
        ..client()
    };
    let out = show(
        &mut printer("-c 127.0.0.1 -P 2 -i 0.5 -x CS"),
        &session,
        &[
            Event::Opened(opened(Role::Sender, 1)),
            Event::Opened(opened(Role::Sender, 2)),
            sampled(0, 1, sent(655_360)),
            sampled(1, 1, sent(655_360)),
            ended(0, 743_600_000, sent(1_048_576)),
            ended(1, 735_200_000, sent(1_048_576)),
        ],
    );
    assert_eq!(
        out,
        "\
[ ID] Interval       Transfer     Bandwidth
[  1] 0.0000-0.5000 sec   640 KBytes  10.5 Mbits/sec
[  2] 0.0000-0.5000 sec   640 KBytes  10.5 Mbits/sec
[SUM] 0.0000-0.5000 sec  1.25 MBytes  21.0 Mbits/sec
[  1] 0.5000-0.7436 sec   384 KBytes  12.9 Mbits/sec
[  1] 0.0000-0.7436 sec  1.00 MBytes  11.3 Mbits/sec
[  2] 0.5000-0.7352 sec   384 KBytes  13.4 Mbits/sec
[  2] 0.0000-0.7352 sec  1.00 MBytes  11.4 Mbits/sec
[SUM] 0.5000-0.7436 sec   768 KBytes  25.8 Mbits/sec
[SUM] 0.0000-0.7436 sec  2.00 MBytes  22.6 Mbits/sec
"
    );
}

#[test]
fn both_directions_of_a_connection_have_a_sum_among_enhanced_lines() {
    let session = Iperf2Session {
        mode: TestMode::FullDuplex,
        ..client()
    };
    let up = opened(Role::Sender, 1);
    let out = show(
        &mut printer("-c 127.0.0.1 --full-duplex -e -i 0.5 -x CS"),
        &session,
        &[
            Event::Opened(up.clone()),
            Event::Opened(reverse_of(&up, 1)),
            sampled(0, 1, sent(1_310_720)),
            sampled(1, 1, received(1_310_720)),
            ended(0, 737_400_000, sent(1_966_080)),
            ended(1, 786_400_000, received(1_966_080)),
        ],
    );
    let sums: Vec<&str> = out.lines().filter(|line| line.contains("FD")).collect();
    assert_eq!(
        sums,
        [
            "[FD1] 0.0000-0.5000 sec  2.50 MBytes  41.9 Mbits/sec",
            "[FD1] 0.5000-0.7864 sec  1.25 MBytes  36.6 Mbits/sec",
            "[FD1] 0.0000-0.7864 sec  3.75 MBytes  40.0 Mbits/sec",
        ]
    );
    assert!(
        !out.contains("[SUM]"),
        "one connection needs no other sum: {out}"
    );
    let headers = out.lines().filter(|line| line.starts_with("[ ID]"));
    assert_eq!(
        headers.count(),
        3,
        "each kind of line has its header once: {out}"
    );
}
