//! Every text below is what iperf 2.1.8 printed for the same counts.

mod intervals;
mod one_way_times;

use super::Iperf2Printer;
use crate::iperf2::options::Options;
use caudal_core::event::{
    ConnectingSocket, DataConnection, EndReport, EndedFlow, Event, FlowTotals, ListeningSocket,
    ReportingEnd, View,
};
use caudal_core::plan::{Direction, PlannedFlow, Transport};
use caudal_core::sample::{
    Counters, FlowEnd, ReceiverCounters, Role, Sample, SenderCounters, TcpSnapshot,
};
use caudal_foreign::iperf2::{Iperf2Request, Iperf2Session};
use caudal_wire::iperf2::TestMode;

fn options(line: &str) -> Options {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    Options::parse(&words).unwrap()
}

fn printer(line: &str) -> Iperf2Printer {
    // 2026-11-22 00:15:13 UTC.
    Iperf2Printer::new(
        &options(line),
        19_380,
        |_| Some("lo".to_owned()),
        || 1_795_306_513,
    )
}

/// The session of a client's own test.
fn client() -> Iperf2Session {
    Iperf2Request::new("127.0.0.1:5001".parse().unwrap()).session()
}

/// The session of a client at a server.
fn server() -> Iperf2Session {
    Iperf2Session {
        peer: "127.0.0.1:37176".parse().unwrap(),
        number: 1,
        group: 1,
        ..client()
    }
}

fn opened(role: Role, number: u32) -> DataConnection {
    DataConnection {
        flow: PlannedFlow {
            id: number - 1,
            direction: match role {
                Role::Sender => Direction::Up,
                Role::Receiver => Direction::Down,
            },
        },
        number,
        role,
        transport: Transport::Tcp,
        local: "127.0.0.1:37176".parse().unwrap(),
        peer: "127.0.0.1:5001".parse().unwrap(),
        descriptor: 3,
        send_buffer_bytes: 16_384,
        receive_buffer_bytes: 131_072,
        mss: Some(32_741),
        initial_window_bytes: Some(327_410),
        handshake_rtt_us: Some(39),
        connect_us: Some(80.0),
    }
}

fn opened_udp(role: Role, number: u32) -> DataConnection {
    DataConnection {
        transport: Transport::Udp,
        mss: None,
        initial_window_bytes: None,
        handshake_rtt_us: None,
        connect_us: None,
        ..opened(role, number)
    }
}

/// The same at the server.
fn at_server(connection: &DataConnection) -> DataConnection {
    DataConnection {
        local: connection.peer,
        peer: connection.local,
        connect_us: None,
        ..connection.clone()
    }
}

fn connecting(transport: Transport, peer: &str, buffer_bytes: u32) -> Event {
    let is_udp = transport == Transport::Udp;
    Event::Connecting(ConnectingSocket {
        peer: peer.parse().unwrap(),
        transport,
        length: if is_udp { 1470 } else { 128 << 10 },
        rate_bps: is_udp.then_some(1 << 20),
        buffer_bytes,
    })
}

fn listening(transport: Transport, receive_buffer_bytes: u32) -> ListeningSocket {
    ListeningSocket {
        transport,
        port: 5001,
        receive_buffer_bytes,
    }
}

fn sent(bytes: u64) -> Counters {
    Counters::Sender(SenderCounters {
        bytes,
        ..SenderCounters::default()
    })
}

fn sent_datagrams(bytes: u64, datagrams: u64) -> Counters {
    Counters::Sender(SenderCounters {
        bytes,
        datagrams,
        ..SenderCounters::default()
    })
}

fn received(bytes: u64) -> Counters {
    Counters::Receiver(ReceiverCounters {
        bytes,
        ..ReceiverCounters::default()
    })
}

fn sampled(flow: u32, tick: u64, counters: Counters) -> Event {
    Event::Sampled(Sample {
        flow,
        tick,
        at_ns: tick * 500_000_000,
        counters,
    })
}

fn ended(flow: u32, at_ns: u64, counters: Counters) -> Event {
    Event::FlowEnded(EndedFlow {
        end: FlowEnd::from_counters(flow, counters),
        at_ns,
    })
}

fn reported(elapsed_s: f64, jitter_s: f64, reordered: u64) -> Event {
    Event::Reported(EndReport {
        end: ReportingEnd::Peer,
        flows: vec![FlowTotals {
            flow: 0,
            role: Role::Receiver,
            elapsed_s,
            bytes: 135_240,
            retransmits: None,
            datagrams: Some(93),
            lost: Some(1),
            reordered: Some(reordered),
            jitter_s: Some(jitter_s),
            transit: None,
        }],
        cpu: None,
        congestion: None,
        output: None,
    })
}

fn show(printer: &mut Iperf2Printer, session: &Iperf2Session, events: &[Event]) -> String {
    for event in events {
        printer.session(session).event(event);
    }
    printer.take_text()
}

#[test]
fn a_client_over_tcp_looks_like_2_1_8() {
    let out = show(
        &mut printer("-c 127.0.0.1 -t 1 -i 0.5"),
        &client(),
        &[
            connecting(Transport::Tcp, "127.0.0.1:5001", 16_384),
            Event::Opened(opened(Role::Sender, 1)),
            sampled(0, 1, sent(3_145_728)),
            sampled(0, 2, sent(6_291_456)),
            ended(0, 1_010_700_000, sent(6_422_588)),
        ],
    );
    assert_eq!(
        out,
        "\
------------------------------------------------------------
Client connecting to 127.0.0.1, TCP port 5001
TCP window size: 16.0 KByte (default)
------------------------------------------------------------
[  1] local 127.0.0.1 port 37176 connected with 127.0.0.1 port 5001 (icwnd/mss/irtt=319/32741/39)
[ ID] Interval       Transfer     Bandwidth
[  1] 0.0000-0.5000 sec  3.00 MBytes  50.3 Mbits/sec
[  1] 0.5000-1.0000 sec  3.00 MBytes  50.3 Mbits/sec
[  1] 0.0000-1.0107 sec  6.13 MBytes  50.8 Mbits/sec
"
    );
}

#[test]
fn parallel_connections_are_added_up() {
    let session = Iperf2Session {
        members: 3,
        ..client()
    };
    let mut events: Vec<Event> = (1..=3)
        .map(|number| Event::Opened(opened(Role::Sender, number)))
        .collect();
    events.extend((0..3).map(|flow| ended(flow, 1_049_400_000, sent(2_752_572))));
    let out = show(&mut printer("-c 127.0.0.1 -P 3 -x C"), &session, &events);
    assert_eq!(
        out,
        "\
[ ID] Interval       Transfer     Bandwidth
[  1] 0.0000-1.0494 sec  2.63 MBytes  21.0 Mbits/sec
[  2] 0.0000-1.0494 sec  2.63 MBytes  21.0 Mbits/sec
[  3] 0.0000-1.0494 sec  2.63 MBytes  21.0 Mbits/sec
[SUM] 0.0000-1.0494 sec  7.88 MBytes  63.0 Mbits/sec
"
    );
}

#[test]
fn a_client_over_udp_shows_the_servers_report() {
    let out = show(
        &mut printer("-c 127.0.0.1 -u -b 1048576 -l 1470"),
        &client(),
        &[
            connecting(Transport::Udp, "127.0.0.1:5001", 212_992),
            Event::Opened(opened_udp(Role::Sender, 1)),
            ended(0, 1_009_500_000, sent_datagrams(135_240, 93)),
            reported(1.0131, 0.000_005, 2),
        ],
    );
    assert_eq!(
        out,
        "\
------------------------------------------------------------
Client connecting to 127.0.0.1, UDP port 5001
Sending 1470 byte datagrams, IPG target: 11215.21 us (kalman adjust)
UDP buffer size:  208 KByte (default)
------------------------------------------------------------
[  1] local 127.0.0.1 port 37176 connected with 127.0.0.1 port 5001
[ ID] Interval       Transfer     Bandwidth
[  1] 0.0000-1.0095 sec   132 KBytes  1.07 Mbits/sec
[  1] Sent 93 datagrams
[  1] Server Report:
[ ID] Interval       Transfer     Bandwidth        Jitter   Lost/Total Datagrams
[  1] 0.0000-1.0131 sec   132 KBytes  1.07 Mbits/sec   0.005 ms 1/93 (1.1%)
[  1] 0.0000-1.0131 sec  2 datagrams received out-of-order
"
    );
}

#[test]
fn a_report_that_does_not_arrive_is_a_warning() {
    let events = [
        Event::Opened(opened_udp(Role::Sender, 1)),
        Event::NotReported {
            flow: 0,
            attempts: 18,
        },
    ];
    let out = show(&mut printer("-c 127.0.0.1 -u -x C"), &client(), &events);
    assert_eq!(
        out,
        "[  1] WARNING: did not receive ack of last datagram after 18 tries.\n"
    );
}

#[test]
fn a_server_looks_like_2_1_8_over_both() {
    let mut tcp = printer("-s");
    tcp.listening(&listening(Transport::Tcp, 131_072));
    let session = Iperf2Session {
        mode: TestMode::Reverse,
        ..server()
    };
    let connection = at_server(&opened(Role::Sender, 1));
    let out = show(&mut tcp, &session, &[Event::Opened(connection)]);
    assert_eq!(
        out,
        "\
------------------------------------------------------------
Server listening on TCP port 5001
TCP window size:  128 KByte (default)
------------------------------------------------------------
[  1] local 127.0.0.1 port 5001 connected with 127.0.0.1 port 37176 (reverse) (icwnd/mss/irtt=319/32741/39)
"
    );
    let mut udp_server = printer("-s -u -w 100K");
    udp_server.listening(&listening(Transport::Udp, 204_800));
    let out = udp_server.take_text();
    assert!(
        out.contains("UDP buffer size:  200 KByte (WARNING: requested  100 KByte)\n"),
        "{out}"
    );
}

#[test]
fn a_server_that_connects_back_shows_both_directions_and_their_sum() {
    let session = Iperf2Session {
        mode: TestMode::Dual,
        ..server()
    };
    let back = DataConnection {
        flow: PlannedFlow {
            id: 1,
            direction: Direction::Down,
        },
        peer: "127.0.0.1:5002".parse().unwrap(),
        connect_us: None,
        ..opened(Role::Sender, 2)
    };
    let out = show(
        &mut printer("-s"),
        &session,
        &[
            Event::Opened(at_server(&opened(Role::Receiver, 1))),
            connecting(Transport::Tcp, "127.0.0.1:5002", 16_384),
            Event::Opened(back),
            ended(0, 1_048_800_000, received(2_752_572)),
            ended(1, 1_100_500_000, sent(2_752_512)),
        ],
    );
    assert_eq!(
        out,
        "\
[  1] local 127.0.0.1 port 5001 connected with 127.0.0.1 port 37176 (icwnd/mss/irtt=319/32741/39)
------------------------------------------------------------
Client connecting to 127.0.0.1, TCP port 5002
TCP window size: 16.0 KByte (default)
------------------------------------------------------------
[ *2] local 127.0.0.1 port 37176 connected with 127.0.0.1 port 5002 (reverse) (icwnd/mss/irtt=319/32741/39)
[ ID] Interval       Transfer     Bandwidth
[  1] 0.0000-1.0488 sec  2.63 MBytes  21.0 Mbits/sec
[ *2] 0.0000-1.1005 sec  2.62 MBytes  20.0 Mbits/sec
[SUM] 0.0000-1.1005 sec  5.25 MBytes  40.0 Mbits/sec
"
    );
}

#[test]
fn both_directions_on_one_connection_have_a_star_and_a_sum() {
    let session = Iperf2Session {
        mode: TestMode::FullDuplex,
        ..client()
    };
    let down = DataConnection {
        flow: PlannedFlow {
            id: 1,
            direction: Direction::Down,
        },
        ..opened(Role::Receiver, 1)
    };
    let out = show(
        &mut printer("-c 127.0.0.1 --full-duplex"),
        &session,
        &[
            Event::Opened(opened(Role::Sender, 1)),
            Event::Opened(down),
            ended(0, 1_048_800_000, sent(2_752_572)),
            ended(1, 1_100_500_000, received(2_752_512)),
        ],
    );
    assert_eq!(
        out,
        "\
[  1] local 127.0.0.1 port 37176 connected with 127.0.0.1 port 5001 (full-duplex) (icwnd/mss/irtt=319/32741/39)
[ ID] Interval       Transfer     Bandwidth
[  1] 0.0000-1.0488 sec  2.63 MBytes  21.0 Mbits/sec
[ *1] 0.0000-1.1005 sec  2.62 MBytes  20.0 Mbits/sec
[SUM] 0.0000-1.1005 sec  5.25 MBytes  40.0 Mbits/sec
"
    );
}

#[test]
fn enhanced_lines_of_a_tcp_sender_have_the_columns_of_2_1_8() {
    let counters = Counters::Sender(SenderCounters {
        bytes: 1_310_720,
        calls: 10,
        tcp: Some(TcpSnapshot {
            cwnd_bytes: 1151 << 10,
            rtt_us: 1361,
            rttvar_us: 2543,
            ..TcpSnapshot::default()
        }),
        ..SenderCounters::default()
    });
    let out = show(
        &mut printer("-c 127.0.0.1 -e --utc -i 0.5"),
        &client(),
        &[
            Event::Opened(opened(Role::Sender, 1)),
            sampled(0, 1, counters),
        ],
    );
    assert_eq!(
        out,
        "\
[  1] local 127.0.0.1%lo port 37176 connected with 127.0.0.1 port 5001 (sock=3) (icwnd/mss/irtt=319/32741/39) (ct=0.08 ms) on 2026-11-22 00:15:13 (UTC)
[ ID] Interval            Transfer    Bandwidth       Write/Err  Rtry     Cwnd/RTT(var)        NetPwr
[  1] 0.0000-0.5000 sec  1.25 MBytes  21.0 Mbits/sec  10/0          0     1151K/1361(2543) us  1926
"
    );
}

#[test]
fn enhanced_lines_have_the_reads_of_a_tcp_receiver_and_the_datagrams_of_a_udp_sender() {
    let reads = Counters::Receiver(ReceiverCounters {
        bytes: 1_310_720,
        calls: 12,
        read_sizes: Some([2, 0, 0, 0, 0, 0, 0, 10]),
        ..ReceiverCounters::default()
    });
    let receiver = Event::Opened(at_server(&opened(Role::Receiver, 1)));
    let events = [receiver, sampled(0, 1, reads)];
    let out = show(&mut printer("-s -e -i 0.5"), &server(), &events);
    assert!(
        out.ends_with("21.0 Mbits/sec  12=2:0:0:0:0:0:0:10\n"),
        "{out}"
    );
    let sender = Event::Opened(opened_udp(Role::Sender, 1));
    let events = [sender, sampled(0, 1, sent_datagrams(67_620, 45))];
    let out = show(&mut printer("-c h -u -e -i 0.5"), &client(), &events);
    assert!(
        out.ends_with("66.0 KBytes  1.08 Mbits/sec  45/0       90 pps\n"),
        "{out}"
    );
}

#[test]
fn values_separated_by_commas_have_nine_columns_or_fourteen() {
    let out = show(
        &mut printer("-c 127.0.0.1 -y C --utc -i 0.5"),
        &client(),
        &[
            connecting(Transport::Tcp, "127.0.0.1:5001", 16_384),
            Event::Opened(opened(Role::Sender, 2)),
            sampled(1, 1, sent(1_310_780)),
        ],
    );
    assert_eq!(
        out,
        "20261122001513,127.0.0.1,37176,127.0.0.1,5001,2,0.0-0.5,1310780,20972480\n"
    );
    let counters = Counters::Receiver(ReceiverCounters {
        bytes: 135_240,
        datagrams: 92,
        lost: 1,
        jitter_rfc3550_ns: 4000,
        ..ReceiverCounters::default()
    });
    let connection = DataConnection {
        peer: "127.0.0.1:46488".parse().unwrap(),
        ..at_server(&opened_udp(Role::Receiver, 1))
    };
    let out = show(
        &mut printer("-s -u -y C --utc"),
        &server(),
        &[Event::Opened(connection), ended(0, 1_011_900_000, counters)],
    );
    assert_eq!(
        out,
        "20261122001513,127.0.0.1,46488,127.0.0.1,5001,1,0.0-1.0,135240,1069196,0.004,1,93,1.075,0\n"
    );
}

#[test]
fn units_and_what_is_left_out_follow_the_options() {
    let events = [
        Event::Opened(opened(Role::Sender, 1)),
        ended(0, 1_012_800_000, sent(2_509_908)),
    ];
    let line = |words: &str| {
        let out = show(&mut printer(words), &client(), &events);
        out.lines().last().unwrap_or("").to_owned()
    };
    assert_eq!(
        line("-c h -f k"),
        "[  1] 0.0000-1.0128 sec  2451 KBytes  19825 Kbits/sec"
    );
    assert_eq!(
        line("-c h -f M"),
        "[  1] 0.0000-1.0128 sec  2.39 MBytes  2.36 MBytes/sec"
    );
    assert_eq!(line("-c h -x CD"), "");
    let out = show(
        &mut printer("-c 192.0.2.7 --hide-ips"),
        &client(),
        &[
            connecting(Transport::Tcp, "192.0.2.7:5001", 16_384),
            Event::Opened(opened(Role::Sender, 1)),
        ],
    );
    assert!(
        out.contains("Client connecting to (**hidden**), TCP port 5001\n"),
        "{out}"
    );
    assert!(
        out.contains("local *.*.*.1 port 37176 connected with *.*.*.1 port 5001"),
        "{out}"
    );
}

#[test]
fn the_segment_size_of_2_0_5_stands_at_the_end() {
    let connection = DataConnection {
        mss: Some(1448),
        ..opened(Role::Sender, 3)
    };
    let out = show(
        &mut printer("-c h -m"),
        &client(),
        &[
            Event::Opened(connection),
            ended(2, 10_000_000_000, sent(1000)),
        ],
    );
    assert!(
        out.ends_with("[  3] MSS size 1448 bytes (MTU 1500 bytes, ethernet)\n"),
        "{out}"
    );
}
