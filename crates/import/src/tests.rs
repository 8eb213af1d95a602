//! Logs as others printed them, and what is made of them.

mod contradictions;

use super::*;
use caudal_core::plan::PlanKind;
use caudal_core::run::RunOutcome;
use caudal_core::text::ExternalText;
use proptest::prelude::*;
use serde_json::{Value, json};

/// iperf3 3.1's server, TCP, on one machine. Requia: Inanição de fluxos TCP, UDESC, 2023.
const SERVER_TCP: &str = "\
-----------------------------------------------------------
Server listening on 5201
-----------------------------------------------------------
Accepted connection from 192.168.0.136, port 36888
[  5] local 192.168.0.129 port 5201 connected to 192.168.0.136 port 36900
[ ID] Interval           Transfer     Bandwidth
[  5]   0.00-1.00   sec   265 MBytes  2.22 Gbits/sec
[  5]   1.00-2.00   sec   249 MBytes  2.09 Gbits/sec
[  5]   2.00-3.00   sec   282 MBytes  2.36 Gbits/sec
[  5]   3.00-4.00   sec   282 MBytes  2.37 Gbits/sec
[  5]   4.00-5.00   sec   290 MBytes  2.43 Gbits/sec
[  5]   5.00-6.00   sec   280 MBytes  2.35 Gbits/sec
[  5]   6.00-7.00   sec   285 MBytes  2.39 Gbits/sec
[  5]   7.00-8.00   sec   275 MBytes  2.31 Gbits/sec
[  5]   8.00-9.00   sec   258 MBytes  2.17 Gbits/sec
[  5]   9.00-10.00  sec   264 MBytes  2.21 Gbits/sec
[  5]  10.00-10.04  sec  11.0 MBytes  2.37 Gbits/sec
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bandwidth
[  5]   0.00-10.04  sec  0.00 Bytes  0.00 bits/sec                  sender
[  5]   0.00-10.04  sec  2.68 GBytes  2.29 Gbits/sec                  receiver
";

/// The same server, UDP, under more than it could take. Same source.
const SERVER_UDP: &str = "\
Server listening on 5201
Accepted connection from 192.168.0.136, port 36134
[  5] local 192.168.0.129 port 5201 connected to 192.168.0.136 port 52902
[ ID] Interval           Transfer     Bandwidth       Jitter    Lost/Total Datagrams
[  5]   0.00-1.00   sec  48.0 KBytes   393 Kbits/sec  2888.144 ms  0/6 (0%)
[  5]   1.00-2.00   sec  0.00 Bytes  0.00 bits/sec  2888.144 ms  0/0 (0%)
[  5]   2.00-3.00   sec  16.0 KBytes   131 Kbits/sec  2569.189 ms  537/539 (1e+02%)
[  5]   8.00-9.00   sec  32.0 KBytes   262 Kbits/sec  1007.069 ms  1221/1225 (1e+02%)
[  5]  10.00-10.62  sec  0.00 Bytes  0.00 bits/sec  946.131 ms  0/0 (0%)
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bandwidth       Jitter    Lost/Total Datagrams
[  5]   0.00-10.62  sec  0.00 Bytes  0.00 bits/sec  946.131 ms  4058/4083 (99%)
";

/// A client that receives, iperf3 3.1 for Windows, cut at its beginning. Same source.
const CLIENT_REVERSE: &str = "\
iperf3: OUT OF ORDER - incoming packet = 29539 and received packet = 89304 AND SP = 4
iperf3: OUT OF ORDER - incoming packet = 31836 and received packet = 93895 AND SP = 4
[  4]   8.00-9.00   sec  11.7 MBytes  98.3 Mbits/sec  14.059 ms  13215/14705 (90%)
iperf3: OUT OF ORDER - incoming packet = 33674 and received packet = 97543 AND SP = 4
[  4]   9.00-10.00  sec  10.9 MBytes  91.7 Mbits/sec  38.435 ms  13103/14489 (90%)
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bandwidth       Jitter    Lost/Total Datagrams
[  4]   0.00-10.00  sec   861 MBytes   722 Mbits/sec  22.320 ms  96638/110177 (88%)
[  4] Sent 110177 datagrams
[SUM]  0.0-10.0 sec  77 datagrams received out-of-order

iperf Done.
";

/// A server that sends over a long path, cut off. Same source.
const STARVED: &str = "\
ubuntu@server:~$ iperf3 -s -p 5201
Server listening on 5201
Accepted connection from 177.34.71.239, port 52186
[  5] local 172.31.8.63 port 5201 connected to 177.34.71.239 port 52187
[ ID] Interval           Transfer     Bitrate         Retr  Cwnd
[  5]   3.00-4.00   sec  8.88 MBytes  74.5 Mbits/sec    0    419 KBytes
[  5]   4.00-5.00   sec  6.88 MBytes  57.7 Mbits/sec    0    419 KBytes
[  5]   7.00-8.00   sec  2.12 MBytes  17.8 Mbits/sec   12    292 KBytes
[  5]  16.00-17.00  sec   640 KBytes  5.24 Mbits/sec   24   1.43 KBytes
[  5]  17.00-18.00  sec  0.00 Bytes  0.00 bits/sec    1   1.43 KBytes
";

/// iperf 2.0.5 before and after a policer. Diniz da Silva, Alves Júnior: Ferramenta IPERF: geração e medição de tráfego TCP e UDP, CBPF, 2014.
const POLICED: &str = "\
user@cliente-iperf:~$ iperf -c 192.168.100.2 -u -b 100M
------------------------------------------------------------
Client connecting to 192.168.100.2, UDP port 5001
Sending 1470 byte datagrams
UDP buffer size:  110 KByte (default)
------------------------------------------------------------
[  3] local 192.168.0.2 port 33812 connected with 192.168.100.2 port 5001
[ ID] Interval       Transfer     Bandwidth
[  3]  0.0-10.0 sec   113 MBytes  94.5 Mbits/sec
[  3] Sent 80348 datagrams
[  3] Server Report:
[  3]  0.0-10.0 sec   113 MBytes  94.4 Mbits/sec   0.186 ms    0/80347 (0%)
[  3]  0.0-10.0 sec  1 datagrams received out-of-order
user@cliente-iperf:~$ iperf -c 192.168.100.2 -u -b 100M
------------------------------------------------------------
Client connecting to 192.168.100.2, UDP port 5001
Sending 1470 byte datagrams
UDP buffer size:  110 KByte (default)
------------------------------------------------------------
[  3] local 192.168.0.2 port 38951 connected with 192.168.100.2 port 5001
[ ID] Interval       Transfer     Bandwidth
[  3]  0.0-10.0 sec   113 MBytes  94.5 Mbits/sec
[  3] Sent 80354 datagrams
[  3] Server Report:
[  3]  0.0-10.2 sec  17.3 MBytes  14.2 Mbits/sec  15.600 ms 67977/80351 (85%)
[  3]  0.0-10.2 sec  1 datagrams received out-of-order
";

/// The same version with a larger socket buffer; one interval is missing in print. Same source.
const BUFFERED: &str = "\
Client connecting to 192.168.250.1, UDP port 5001
Sending 1470 byte datagrams
UDP buffer size:  300 KByte (default)
[  3] local 192.168.200.2 port 50355 connected with 192.168.250.1 port 5001
[ ID] Interval       Transfer     Bandwidth
[  3]  0.0- 5.0 sec   337 MBytes   565 Mbits/sec
[  3]  5.0-10.0 sec   352 MBytes   591 Mbits/sec
[  3] 10.0-15.0 sec   358 MBytes   600 Mbits/sec
[  3]  0.0-20.0 sec  1.37 GBytes   587 Mbits/sec
[  3] Sent 998107 datagrams
[  3] WARNING: did not receive ack of last datagram after 10 tries.
";

/// A server of iperf 2.0.5 with two flows at once. Same source.
const TWO_FLOWS: &str = "\
Server listening on TCP port 5001
TCP window size: 8.00 KByte (default)
[280] local 192.168.0.3 port 5001 connected with 192.168.0.4 port 50936
[308] local 192.168.0.3 port 5001 connected with 192.168.0.4 port 50937
[ ID] Interval       Transfer     Bandwidth
[308]  0.0-10.0 sec  54.0 MBytes  45.3 Mbits/sec
[280]  0.0-10.0 sec  54.0 MBytes  45.3 Mbits/sec
[SUM]  0.0-10.0 sec   108 MBytes  90.5 Mbits/sec
";

/// nttcp 1.47 over 100 Mbit/s, as printed on the linux-kernel list in 2004.
const NTTCP: &str = "\
     Bytes  Real s   CPU s Real-MBit/s  CPU-MBit/s   Calls  Real-C/s   CPU-C/s
l  8388608    0.71    0.01     94.9903   7457.3690    2048   2898.87  227580.8
1  8388608    0.71    0.04     93.9984   1598.0964    5794   8115.57  137975.4
";

/// The same over UDP, with loss: the sender's calls hold three marks of the end.
const NTTCP_UDP: &str = "\
l  8388608    0.70    0.01     95.8700   6710.8864    2051   2930.00  205100.0
1  7725056    0.71    0.04     87.0400   1545.0112    1887   2657.70   47175.0
";

fn document(run: &ImportedRun) -> Value {
    json!(run.run)
}

fn command(run: &ImportedRun) -> &str {
    run.run
        .header
        .command
        .as_ref()
        .map(ExternalText::as_received)
        .unwrap_or_default()
}

fn runs(text: &str) -> Vec<ImportedRun> {
    read(text.as_bytes(), "a.log").unwrap_or_else(|error| panic!("{error}"))
}

fn only(text: &str) -> ImportedRun {
    let mut runs = runs(text);
    assert_eq!(runs.len(), 1);
    runs.remove(0)
}

/// The goodput of a run of one direction, bit/s.
fn goodput_bps(run: &ImportedRun) -> Option<f64> {
    run.run.directions()[0].goodput_mean()
}

/// The part of the datagrams that was lost.
fn loss_fraction(run: &ImportedRun) -> Option<f64> {
    let loss = run.run.directions()[0].loss.as_ref()?;
    Some(loss.fraction.as_ref()?.mean)
}

/// The segments that were sent again.
fn retransmits(run: &ImportedRun) -> Option<u64> {
    run.run.directions()[0].tcp?.retransmits
}

fn is_near(value: &Value, expected: f64) -> bool {
    let value = value.as_f64().expect("a number");
    (value - expected).abs() <= expected.abs() * 1e-9
}

#[test]
fn a_server_that_does_not_know_what_was_sent_says_nothing_of_it() {
    let run = only(SERVER_TCP);
    assert_eq!(run.description, "iperf3, TCP up, 10.0 s, 2.290 Gbit/s");
    assert_eq!(
        (run.run.kind(), run.outcome),
        (Some(PlanKind::Tcp), RunOutcome::Done)
    );
    let flow = document(&run)["flows"][0].clone();
    assert_eq!(flow["counted_by"], "receiver");
    assert!(flow["sender"].is_null());
    assert_eq!(flow["intervals"].as_array().unwrap().len(), 11);
    assert!(is_near(&flow["intervals"][0]["goodput_bps"], 2.22e9));
    assert!(is_near(&flow["intervals"][10]["end_s"], 10.04));
    assert_eq!(flow["intervals"][0]["bytes"], 265 << 20);
    assert!(document(&run)["summary"]["directions"][0]["tcp"].is_null());
}

#[test]
fn losses_that_are_printed_as_powers_of_ten_are_counted() {
    let run = only(SERVER_UDP);
    assert_eq!(run.run.kind(), Some(PlanKind::Udp));
    let loss = document(&run)["summary"]["directions"][0]["loss"].clone();
    assert_eq!(
        (&loss["lost"], &loss["received"]),
        (&json!(4058), &json!(25))
    );
    assert!((loss_fraction(&run).unwrap() - 4058.0 / 4083.0).abs() < 1e-12);
    let flow = document(&run)["flows"][0].clone();
    assert_eq!(flow["intervals"][2]["udp"]["lost"], 537);
    // The sum of an old server is that of what it sent: nothing, which says nothing.
    assert!(flow["sender"].is_null() && flow["receiver"]["bytes"].is_null());
    // A hole stays one.
    assert_eq!(flow["intervals"].as_array().unwrap().len(), 5);
    assert_eq!(flow["intervals"][3]["start_s"], 8.0);
}

#[test]
fn what_an_old_client_prints_for_both_ends_is_not_taken_for_what_arrived() {
    let run = only(CLIENT_REVERSE);
    let flow = document(&run)["flows"][0].clone();
    assert!(is_near(&flow["sender"]["sent_bps"], 722e6));
    assert!(flow["receiver"]["bytes"].is_null());
    assert_eq!(flow["sender"]["datagrams"], 110_177);
    assert_eq!(flow["receiver"]["reordered"], 77);
    assert_eq!(flow["receiver"]["lost"], 96_638);
    assert!(is_near(&flow["intervals"][0]["goodput_bps"], 98.3e6));
}

#[test]
fn a_log_that_breaks_off_is_a_run_cut_short_with_what_there_is() {
    let run = only(STARVED);
    assert_eq!(run.outcome, RunOutcome::CutShort);
    assert_eq!(
        run.run.plan.peer().map(ExternalText::as_received),
        Some("177.34.71.239")
    );
    assert_eq!(command(&run), "iperf3 -s -p 5201");
    assert_eq!(document(&run)["plan"]["directions"], "down");
    assert_eq!(goodput_bps(&run), None);
    assert_eq!(retransmits(&run), Some(37));
    let rows = document(&run)["flows"][0]["intervals"]
        .as_array()
        .unwrap()
        .clone();
    assert_eq!(
        rows.last().unwrap()["tcp"],
        json!({"retransmits": 1, "cwnd_bytes": 1464})
    );
    assert_eq!(rows.last().unwrap()["sent_bytes"], 0);
    assert_eq!(document(&run)["warnings"][0]["code"], "log_cut_short");
}

#[test]
fn a_clients_rate_is_what_it_sent_and_the_servers_report_what_arrived() {
    let [before, after] = runs(POLICED).try_into().expect("two tests");
    assert_eq!(
        before.description,
        "iperf, UDP up, 10.0 s, 94.40 Mbit/s, 0.00 % lost"
    );
    assert_eq!(
        after.description,
        "iperf, UDP up, 10.2 s, 14.20 Mbit/s, 84.60 % lost"
    );
    assert_eq!(command(&after), "iperf -c 192.168.100.2 -u -b 100M");
    assert_eq!(
        after.run.plan.peer().map(ExternalText::as_received),
        Some("192.168.100.2:5001")
    );
    let of = document(&after)["summary"]["directions"][0].clone();
    assert!(is_near(&of["sent_bps"], 94.5e6) && is_near(&of["goodput_bps"]["mean"], 14.2e6));
    assert_eq!(
        (&of["loss"]["sent"], &of["loss"]["lost"]),
        (&json!(80_354), &json!(67_977))
    );
    assert_eq!(of["loss"]["reordered"], 1);
    assert_ne!(before.run.header.id, after.run.header.id);
}

#[test]
fn a_report_that_never_came_leaves_what_was_sent() {
    let run = only(BUFFERED);
    assert_eq!(run.description, "iperf, UDP up, 20.0 s, 587 Mbit/s sent");
    assert_eq!((goodput_bps(&run), loss_fraction(&run)), (None, None));
    let flow = document(&run)["flows"][0].clone();
    assert_eq!(flow["intervals"].as_array().unwrap().len(), 3);
    assert!(flow["receiver"].is_null());
    assert_eq!(document(&run)["warnings"][0]["code"], "no_server_report");
}

#[test]
fn flows_at_once_are_one_run() {
    let run = only(TWO_FLOWS);
    assert_eq!(
        run.description,
        "iperf, TCP up, 2 flows, 10.0 s, 90.60 Mbit/s"
    );
}

#[test]
fn rows_of_nttcp_tell_who_sent_by_their_calls() {
    for text in [NTTCP, NTTCP.split_once('\n').unwrap().1] {
        let run = only(text);
        assert_eq!(run.description, "nttcp, TCP up, 0.7 s, 94.00 Mbit/s");
        let flow = document(&run)["flows"][0].clone();
        assert!(is_near(&flow["sender"]["sent_bps"], 94.9903e6));
        assert!(is_near(&flow["receiver"]["goodput_bps"], 93.9984e6));
        assert_eq!(document(&run)["plan"]["length"], 4096);
        assert_eq!(document(&run)["warnings"], json!([]));
    }
    let run = only(NTTCP_UDP);
    assert_eq!(
        run.description,
        "nttcp, UDP up, 0.7 s, 87.04 Mbit/s, 7.91 % lost"
    );
    let loss = document(&run)["summary"]["directions"][0]["loss"].clone();
    assert_eq!((&loss["sent"], &loss["lost"]), (&json!(2048), &json!(162)));
}

#[test]
fn the_same_content_is_the_same_run_whatever_it_is_called() {
    let again = read(NTTCP.as_bytes(), "other.txt").unwrap();
    assert_eq!(only(NTTCP).run.header.id, again[0].run.header.id);
    assert_ne!(only(NTTCP).run.header.id, only(TWO_FLOWS).run.header.id);
}

#[test]
fn what_is_no_log_is_refused_in_a_line() {
    let refused = |text: &str| read(text.as_bytes(), "a").unwrap_err();
    assert_eq!(refused(" \n"), ImportError::Empty);
    assert_eq!(refused("PING 192.0.2.1"), ImportError::Unknown);
    assert_eq!(refused("{\"a\": 1}"), ImportError::Unknown);
    assert!(matches!(
        refused("{\"start\": {\"version"),
        ImportError::Broken { .. }
    ));
    let error = refused("iperf3: error - unable to connect to server: Connection refused");
    assert!(error.to_string().contains("Connection refused"), "{error}");
    assert_eq!(
        read(&vec![b' '; MAX_LOG_BYTES + 1], "a").unwrap_err(),
        ImportError::TooLarge
    );
}

/// One test of iperf3's as `-J` prints it, by two streams over three seconds.
fn object() -> Value {
    let stream = |socket: u64, second: u64| {
        json!({"socket": socket, "start": second, "end": second + 1, "seconds": 1, "bytes": 1_000_000 + second,
            "bits_per_second": 8e6, "retransmits": 0, "snd_cwnd": 50_000, "rtt": 120, "omitted": false, "sender": true})
    };
    let end = |socket: u64| {
        json!({"sender": {"socket": socket, "start": 0, "end": 3, "bytes": 3_000_003, "bits_per_second": 8e6,
            "retransmits": 2, "sender": true},
            "receiver": {"socket": socket, "start": 0, "end": 3.1, "bytes": 3_000_003, "bits_per_second": 7.7e6, "sender": true}})
    };
    json!({
        "start": {"version": "iperf 3.12", "timestamp": {"timesecs": 1_795_318_448},
            "connecting_to": {"host": "192.0.2.1", "port": 5201},
            "test_start": {"protocol": "TCP", "num_streams": 2, "duration": 3, "reverse": 0, "omit": 0}},
        "intervals": (0..3).map(|second| json!({"streams": [stream(5, second), stream(7, second)]})).collect::<Vec<_>>(),
        "end": {"streams": [end(5), end(7)]},
    })
}

#[test]
fn objects_after_one_another_are_as_many_runs() {
    let text = format!("warning: x\n{:#}\n{}\n", object(), object());
    let found = runs(&text);
    assert_eq!(found.len(), 2);
    assert_eq!(
        found[0].description,
        "iperf3 3.12, TCP up, 2 flows, 3.0 s, 15.40 Mbit/s".replace("3.0", "3.1")
    );
    assert_eq!(found[0].started_ns, Some(1_795_318_448_000_000_000));
    assert_ne!(found[0].run.header.id, found[1].run.header.id);
}

#[test]
fn an_object_that_breaks_off_anywhere_keeps_what_was_whole_or_says_that_nothing_is() {
    let text = format!("{:#}", object());
    let mut most = 0;
    for end in (1..text.len()).step_by(7) {
        match read(&text.as_bytes()[..end], "a") {
            Ok(found) => {
                let rows = document(&found[0])["flows"][0]["intervals"]
                    .as_array()
                    .unwrap()
                    .clone();
                assert!(rows.len() >= most);
                most = rows.len();
                assert_ne!(found[0].outcome, RunOutcome::Failed);
            }
            Err(error) => assert!(
                matches!(error, ImportError::Broken { .. }),
                "{end}: {error}"
            ),
        }
    }
    assert_eq!(most, 3);
}

#[test]
fn a_value_that_is_not_a_number_leaves_the_others_valid() {
    let text = object()
        .to_string()
        .replacen("\"rtt\":120", "\"rtt\":-nan", 1);
    let run = only(&text);
    assert!(document(&run)["flows"][0]["intervals"][0]["tcp"]["rtt_us"].is_null());
    assert_eq!(
        document(&run)["flows"][0]["intervals"][1]["tcp"]["rtt_us"],
        120
    );
}

#[test]
fn events_are_the_same_test_as_the_object() {
    let whole = object();
    let mut lines = vec![json!({"event": "start", "data": whole["start"]})];
    for interval in whole["intervals"].as_array().unwrap() {
        lines.push(json!({"event": "interval", "data": interval}));
    }
    let text = |lines: &[Value]| {
        lines
            .iter()
            .map(|line| format!("{line}\n"))
            .collect::<String>()
    };
    let cut = only(&text(&lines));
    assert_eq!(cut.outcome, RunOutcome::CutShort);
    lines.push(json!({"event": "end", "data": whole["end"]}));
    let run = only(&text(&lines));
    assert_eq!(document(&run)["imported"]["format"], "iperf3 json-stream");
    assert_eq!(
        document(&run)["flows"],
        document(&only(&whole.to_string()))["flows"]
    );
}

#[test]
fn columns_of_iperf_2_are_told_from_its_text() {
    let rows = "\
20261122033445,127.0.0.1,34414,127.0.0.1,15002,1,0.0-1.0,1312710,10501680,0.001,0,893,0.000,0
20261122033446,127.0.0.1,34414,127.0.0.1,15002,1,1.0-2.0,1309770,10478160,0.001,3,891,0.337,0
20261122033446,127.0.0.1,34414,127.0.0.1,15002,1,0.0-2.0,2626890,10495490,0.001,3,1787,0.168,0
";
    let run = only(rows);
    assert_eq!(
        run.description,
        "iperf, UDP up, 2.0 s, 10.50 Mbit/s, 0.17 % lost"
    );
    assert_eq!(document(&run)["imported"]["side"], "server");
    // Without a time, and with the count of datagrams lost: what 2.1.8's client prints of two flows.
    let rows = "\
19700101000000,127.0.0.1,35694,127.0.0.1,15002,1,0.0-2.0,2626890,10497078,0.000,0,-1,-0.000,0
19700101000000,127.0.0.1,47345,127.0.0.1,15002,2,0.0-2.0,2626890,10497078,0.000,0,-1,-0.000,0
";
    let run = only(rows);
    assert_eq!(
        run.description,
        "iperf, UDP up, 2 flows, 2.0 s, 20.99 Mbit/s sent"
    );
    assert_eq!((loss_fraction(&run), run.started_ns), (None, None));
}

proptest! {
    #[test]
    fn any_bytes_are_runs_or_an_error(bytes: Vec<u8>) {
        let _ = read(&bytes, "a");
    }

    #[test]
    fn any_mixture_of_logs_is_runs_or_an_error(parts in proptest::collection::vec((0_usize..9, any::<u16>(), any::<u8>()), 1..6)) {
        const LOGS: [&str; 9] = [SERVER_TCP, SERVER_UDP, CLIENT_REVERSE, STARVED, POLICED, BUFFERED, TWO_FLOWS, NTTCP, NTTCP_UDP];
        let mut bytes = Vec::new();
        for (which, cut, damaged) in parts {
            let text = LOGS[which].as_bytes();
            let at = usize::from(cut) % text.len();
            bytes.extend_from_slice(&text[at / 2..at]);
            bytes.push(damaged);
        }
        if let Ok(runs) = read(&bytes, "a") {
            for run in runs {
                prop_assert_eq!(run.run.header.id.len(), 32);
                prop_assert!(run.description.lines().count() == 1);
            }
        }
    }
}

/// Beginnings of what other tools write, which any damage may follow.
const OTHERS: [&str; 9] = [
    "PING a (192.0.2.1) 56(84) bytes of data.\n64 bytes from 192.0.2.1: icmp_seq=1 ttl=64 time=0.084 ms\n64 bytes from 192.0.2.1: \
     icmp_seq=18446744073709551615 ttl=64 time=1e9 ms\n5 packets transmitted, 9 received, 0% packet loss, time 823ms\n",
    "a : [0], 64 bytes, 0.022 ms (0.022 avg, 0% loss)\na : [18446744073709551615], timed out\na : xmt/rcv/%loss = 5/9/0%, min/avg/max = 0/1/2\n",
    "MIGRATED UDP STREAM TEST from a () port 0 AF_INET to b () port 0 AF_INET\nbytes secs 10^6bits/sec\n1 1 0 5 0 7\n1 0 9 1\n",
    "1.0 MB / 0.50 sec = 1.0 Mbps 45 %TX 0 %RX 7 / 3 drop/pkt 2.30 %loss\nnuttcp-r: v6: socket\nnuttcp-r: 1.0 MB in 0.0 real seconds = 1 KB/sec = 1 Mbps\n",
    "{\"report\": {\"mtr\": {\"dst\": \"a\", \"psize\": \"1e300\", \"tos\": -1}, \"hubs\": [{\"count\": 1, \"host\": \"b\", \"Loss%\": 1e9, \"Snt\": 1e18, \"Avg\": -1}]}}\n",
    "{\"version\": {\"irtt\": \"0\"}, \"config\": {\"params\": {\"interval\": -1, \"dscp\": 1e9}}, \"stats\": {}, \"round_trips\": [{}, {\"delay\": {\"rtt\": -5, \"send\": 1e300}}]}\n",
    "{\"metadata\": {\"NAME\": \"x\"}, \"x_values\": [], \"results\": {\"TCP upload\": [], \"Ping (ms) ICMP\": []}, \"raw_values\": {\"TCP upload\": \
     [{\"t\": 1e300, \"val\": 1e300}, {\"t\": 5, \"dur\": 9, \"val\": 1}], \"Ping (ms) ICMP\": [{\"t\": 1, \"val\": 2, \"seq\": 1e18}, {\"t\": 2, \"val\": 2, \"seq\": 5}]}}\n",
    "{\"type\": \"result\", \"download\": {\"bandwidth\": 1e300, \"elapsed\": 0}, \"upload\": {\"bandwidth\": 0}}\n",
    "{\"Key\": \"measurement\", \"Value\": {\"Test\": \"upload\", \"Origin\": \"server\", \"TCPInfo\": {\"ElapsedTime\": 1, \"BytesReceived\": 1e300}}}\n",
];

#[test]
fn what_other_tools_would_never_write_is_runs_or_an_error() {
    for text in OTHERS {
        for end in 0..=text.len() {
            let Some(beginning) = text.get(..end) else {
                continue;
            };
            for run in read(beginning.as_bytes(), "a").into_iter().flatten() {
                assert!(serde_json::to_value(&run.run).is_ok(), "{beginning}");
                assert_eq!(run.description.lines().count(), 1);
            }
        }
    }
}

#[test]
fn a_file_that_gzip_packed_is_read_and_one_that_would_fill_memory_is_not() {
    use std::io::Write;
    let packed = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let file = packed(SERVER_TCP.as_bytes());
    assert_eq!(read(&file, "a").unwrap().len(), 1);
    assert!(matches!(
        read(&file[..9], "a"),
        Err(ImportError::Broken { .. })
    ));
    let bomb = packed(&vec![b' '; super::error::MAX_LOG_BYTES + 2]);
    assert_eq!(read(&bomb, "a"), Err(ImportError::TooLarge));
}

/// iperf3 as a service, as `journalctl` shows it.
const JOURNAL: &str = "\
Mar 05 10:00:00 h2 iperf3[123]: Connecting to host 192.0.2.1, port 5201
Mar 05 10:00:00 h2 iperf3[123]: [  5] local 192.0.2.2 port 50000 connected to 192.0.2.1 port 5201
Mar 05 10:00:01 h2 iperf3[123]: [ ID] Interval           Transfer     Bitrate         Retr  Cwnd
Mar 05 10:00:01 h2 iperf3[123]: [  5]   0.00-1.00   sec  11.2 MBytes  94.0 Mbits/sec    0    255 KBytes
Mar 05 10:00:02 h2 iperf3[123]: [  5]   1.00-2.00   sec  11.1 MBytes  93.2 Mbits/sec    3    255 KBytes
Mar 05 10:00:02 h2 iperf3[123]: - - - - - - - - - - - - - - - - - - - - - - - - -
Mar 05 10:00:02 h2 iperf3[123]: [ ID] Interval           Transfer     Bitrate         Retr
Mar 05 10:00:02 h2 iperf3[123]: [  5]   0.00-2.00   sec  22.3 MBytes  93.6 Mbits/sec    3             sender
Mar 05 10:00:02 h2 iperf3[123]: [  5]   0.00-2.00   sec  22.2 MBytes  93.1 Mbits/sec                  receiver
Mar 05 10:00:02 h2 iperf3[123]:
Mar 05 10:00:02 h2 iperf3[123]: iperf Done.
";

#[test]
fn a_journal_tells_of_a_test_as_the_terminal_does() {
    let prefix = "Mar 05 10:00:02 h2 iperf3[123]: ";
    let plain: String = JOURNAL
        .lines()
        .map(|line| format!("{}\n", line.get(prefix.len()..).unwrap_or("")))
        .collect();
    let expected = document(&only(&plain));
    let run = only(JOURNAL);
    assert_eq!(run.description, "iperf3, TCP up, 2.0 s, 93.10 Mbit/s");
    assert_eq!(run.outcome, RunOutcome::Done);
    assert_eq!(retransmits(&run), Some(3));
    assert_eq!(
        (&document(&run)["flows"], &document(&run)["summary"]),
        (&expected["flows"], &expected["summary"])
    );
    assert_eq!(document(&run)["warnings"], json!([]));
    // As other loggers write it.
    for prefix in [
        "2026-03-05T10:00:00+0100 h2 iperf3[123]: ",
        "2026-03-05T09:00:00.123456789Z ",
        "iperf3[123]: ",
        "iperf3-1  | ",
    ] {
        let text: String = plain
            .lines()
            .map(|line| format!("{prefix}{line}\n"))
            .collect();
        let run = only(&text);
        assert_eq!(document(&run)["flows"], expected["flows"], "{prefix}");
        let dated = prefix
            .starts_with("2026")
            .then_some(1_772_701_200_000_000_000);
        assert_eq!(run.started_ns, dated, "{prefix}");
    }
    let lines = plain.lines().map(|line| {
        format!(
            "{}\n",
            json!({"log": format!("{line}\n"), "stream": "stdout"})
        )
    });
    assert_eq!(
        document(&only(&lines.collect::<String>()))["flows"],
        expected["flows"]
    );
    let rows = NTTCP
        .lines()
        .chain(["x"])
        .map(|line| format!("Mar  5 10:00:02 h2 nttcp[9]: {line}\n"));
    assert_eq!(
        only(&rows.collect::<String>()).description,
        only(NTTCP).description
    );
    let two = TWO_FLOWS
        .lines()
        .map(|line| format!("Mar  5 10:00:02 h2 iperf[9]: {line}\n"));
    assert_eq!(
        only(&two.collect::<String>()).description,
        only(TWO_FLOWS).description
    );
}

#[test]
fn utf_16_is_read_in_every_format() {
    for text in [
        JOURNAL,
        NTTCP,
        TWO_FLOWS,
        SERVER_TCP,
        &format!("{:#}", object()),
    ] {
        let bytes: Vec<u8> = format!("\u{feff}{text}")
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        let runs = read(&bytes, "a").unwrap();
        assert_eq!(document(&runs[0])["flows"], document(&only(text))["flows"]);
    }
}

#[test]
fn objects_in_a_list_or_under_names_are_as_many_runs() {
    let (one, two) = (object(), object());
    let list = json!([one, two]);
    for text in [
        list.to_string(),
        format!("$ ./measure.sh\n{list:#}\n$ "),
        json!({"host": "a", "results": {"first": one, "second": [two]}}).to_string(),
        format!("{one} {two}\ndone\n"),
    ] {
        assert_eq!(runs(&text).len(), 2, "{text}");
    }
    assert!(matches!(
        read(b"[{\"a\": 1}]", "a").unwrap_err(),
        ImportError::Unknown
    ));
}
