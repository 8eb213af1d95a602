//! Logs that contradict themselves.

use super::*;

fn contradictions(run: &ImportedRun) -> Vec<String> {
    let warnings = document(run)["warnings"].clone();
    let all = warnings.as_array().unwrap().iter();
    let of_code = all.filter(|warning| warning["code"] == "log_contradictory");
    of_code
        .map(|warning| warning["message"].as_str().unwrap().to_owned())
        .collect()
}

/// One stream of iperf3 3.3's `-R -O 2 -t 3 -J`: the end counts the warm-up, and the first interval behind it has times of its own.
fn warm_up_counted() -> Value {
    let row = |start: f64, end: f64, bytes: u64, omitted: bool| {
        json!({"streams": [{"socket": 5, "start": start, "end": end, "bytes": bytes, "bits_per_second": 2e7,
            "omitted": omitted, "sender": false}]})
    };
    let end = json!({"socket": 5, "start": 0, "end": 3.000013, "bytes": 12_451_840, "bits_per_second": 33.2e6, "sender": false});
    json!({
        "start": {"version": "iperf 3.3", "connecting_to": {"host": "192.0.2.1", "port": 5201},
            "test_start": {"protocol": "TCP", "num_streams": 1, "duration": 3, "reverse": 1, "omit": 2}},
        "intervals": [row(0.0, 1.000075, 2_621_440, true),
            row(1.000005, 1.000073, 2_490_368, false), row(1.000073, 2.000074, 2_490_368, false),
            row(2.000074, 3.000013, 2_490_368, false)],
        "end": {"streams": [{"sender": end, "receiver": end}], "sum_sent": end, "sum_received": end},
    })
}

#[test]
fn an_end_that_counts_the_warm_up_gives_way_to_the_intervals() {
    let run = only(&warm_up_counted().to_string());
    assert_eq!(run.description, "iperf3 3.3, TCP down, 3.0 s, 19.92 Mbit/s");
    let of = document(&run)["summary"]["directions"][0].clone();
    assert_eq!(of["received_bytes"], 7_471_104);
    // What the sender counted behind the warm-up is not known.
    assert!(of["sent_bytes"].is_null() && of["sent_bps"].is_null());
    assert_eq!(
        contradictions(&run),
        [
            "the end of the log has 12.45 MB, its intervals 7 471 104 B, which are taken: the end counts the warm-up as well"
        ]
    );
}

#[test]
fn counters_that_wrapped_are_taken_from_the_intervals_or_the_rate() {
    let mut whole = object();
    for interval in whole["intervals"].as_array_mut().unwrap() {
        for stream in interval["streams"].as_array_mut().unwrap() {
            stream["bytes"] = json!(2_000_000_000_u64);
            stream["bits_per_second"] = json!(16e9);
        }
    }
    for stream in whole["end"]["streams"].as_array_mut().unwrap() {
        for end in ["sender", "receiver"] {
            stream[end]["bytes"] = json!(6_000_000_000_u64 - 4_294_967_296);
            stream[end]["bits_per_second"] = json!(4.5e9);
        }
    }
    let run = only(&whole.to_string());
    let of = document(&run)["summary"]["directions"][0].clone();
    assert_eq!(of["sent_bytes"], 12_000_000_000_u64);
    assert!(contradictions(&run)[0].ends_with("a counter of 32 bits wrapped"));
    let rows = "20261122033446,127.0.0.1,34414,127.0.0.1,15002,1,0.0-10.0,705032704,4000000000\n";
    let run = only(rows);
    assert_eq!(
        document(&run)["flows"][0]["sender"]["bytes"],
        5_000_000_000_u64
    );
    assert_eq!(contradictions(&run).len(), 1);
}

#[test]
fn counts_that_cannot_be_are_left_out_and_said() {
    let text = SERVER_UDP.replace("4058/4083 (99%)", "5000/4083 (122%)");
    let run = only(&text);
    assert_eq!(
        contradictions(&run),
        ["the log has 5000 of 4083 datagrams lost: both counts are left out"]
    );
    // The intervals tell how many.
    assert_eq!(document(&run)["flows"][0]["receiver"]["lost"], 537 + 1221);
    let run = only(&SERVER_UDP.replace("4058/4083 (99%)", "-3/4083 (0%)"));
    assert_eq!(
        contradictions(&run),
        ["the log has counts below zero, which are left out"]
    );
}

#[test]
fn an_end_without_time_takes_that_of_the_intervals_or_has_no_rate() {
    let mut whole = object();
    for stream in whole["end"]["streams"].as_array_mut().unwrap() {
        (
            stream["receiver"]["end"],
            stream["receiver"]["bits_per_second"],
        ) = (json!(0), json!(9e18));
    }
    let run = only(&whole.to_string());
    assert_eq!(
        run.description,
        "iperf3 3.12, TCP up, 2 flows, 3.0 s, 16.00 Mbit/s"
    );
    assert_eq!(
        contradictions(&run),
        ["the end of the log has 3 000 003 B in 0 s: the time of the intervals is taken"]
    );
    whole["intervals"] = json!([]);
    let run = only(&whole.to_string());
    assert!(contradictions(&run)[0].ends_with("in 0 s: the rate is not known"));
    assert!(goodput_bps(&run).is_none());
}

#[test]
fn logs_of_the_tools_contradict_nothing() {
    let object = object().to_string();
    for text in [
        SERVER_TCP,
        SERVER_UDP,
        CLIENT_REVERSE,
        STARVED,
        POLICED,
        BUFFERED,
        TWO_FLOWS,
        NTTCP,
        NTTCP_UDP,
        &object,
    ] {
        for run in runs(text) {
            assert_eq!(contradictions(&run), [""; 0]);
        }
    }
}
