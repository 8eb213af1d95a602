//! Each bottleneck by recorded measurements of a situation in which it was the known one.

use super::loss_pattern::tests::{at_random, policed};
use super::{Evidence, find};
use crate::timeline::MeasuredFlow;
use caudal_core::bottleneck::{Bottleneck, Cause, LimitedBy};
use caudal_core::readings::{ReceiverReadings, SenderReadings};
use caudal_core::sample::TcpSnapshot;
use caudal_core::tcp_trace::TcpReading;

/// A connection of 2 s whose sender had data at all times, over a path of 20 ms without loss or queue.
struct Recorded {
    flow: MeasuredFlow,
    first: TcpSnapshot,
    last: TcpSnapshot,
    sender: SenderReadings,
    receiver: ReceiverReadings,
    asked_bps: Option<u64>,
    window_set: bool,
    machine_busy: bool,
    is_loopback: bool,
    ceiling_share: Option<f64>,
    ceiling_bps: Option<f64>,
    both_directions: bool,
    is_udp: bool,
    congestion: &'static str,
    trace: Vec<TcpReading>,
}

fn recorded() -> Recorded {
    let first = TcpSnapshot {
        busy_us: Some(0),
        receiver_window_limited_us: Some(0),
        send_buffer_limited_us: Some(0),
        retransmitted_bytes: Some(0),
        bytes_sent: Some(0),
        ..TcpSnapshot::default()
    };
    Recorded {
        flow: MeasuredFlow {
            bytes: 2_500_000,
            elapsed_ns: 2_000_000_000,
            receiver_cpu: Some(0.1),
            sender_cpu: Some(0.1),
            sender_bytes: Some(2_600_000),
            sender_elapsed_ns: Some(2_000_000_000),
            ..MeasuredFlow::default()
        },
        last: TcpSnapshot {
            busy_us: Some(2_000_000),
            rtt_us: 20_300,
            min_rtt_us: Some(20_000),
            mss: 1448,
            bytes_sent: Some(2_500_000),
            receiver_window_bytes: Some(3_000_000),
            ..first
        },
        first,
        sender: SenderReadings {
            count: 100,
            rtt_sum_us: 100 * 20_300,
            max_receiver_window_bytes: 3_000_000,
            ..SenderReadings::default()
        },
        receiver: ReceiverReadings {
            count: 100,
            ..ReceiverReadings::default()
        },
        asked_bps: None,
        window_set: false,
        machine_busy: false,
        is_loopback: false,
        ceiling_share: None,
        ceiling_bps: None,
        both_directions: false,
        is_udp: false,
        congestion: "cubic",
        trace: Vec::new(),
    }
}

fn limited_by(change: impl FnOnce(&mut Recorded)) -> LimitedBy {
    let mut all = recorded();
    change(&mut all);
    let measured = MeasuredFlow {
        tcp: (!all.is_udp).then_some((all.first, all.last)),
        sender_readings: Some(all.sender).filter(|readings| readings.count > 0),
        receiver_readings: Some(all.receiver).filter(|readings| readings.count > 0),
        ..all.flow
    };
    find(&Evidence {
        measured: &measured,
        trace: &all.trace,
        congestion: Some(all.congestion),
        asked_bps: all.asked_bps,
        window_set: all.window_set,
        machine_busy: all.machine_busy,
        is_loopback: all.is_loopback,
        ceiling_share: all.ceiling_share,
        ceiling_bps: all.ceiling_bps,
        both_directions: all.both_directions,
        is_udp: all.is_udp,
    })
}

fn found(change: impl FnOnce(&mut Recorded)) -> (Bottleneck, Option<Cause>) {
    let by = limited_by(change);
    (by.limit, by.cause)
}

/// 100 readings of a queue of `ms` on average.
fn queue(all: &mut Recorded, ms: u64) {
    all.sender.queued = 90;
    all.sender.rtt_sum_us += 100 * ms * 1000;
}

fn losses(all: &mut Recorded, segments: u64) {
    all.last.retransmits = segments;
    all.last.retransmitted_bytes = Some(segments * 1448);
}

#[test]
fn a_queue_before_a_link_is_told_from_one_that_is_too_long() {
    let network = Bottleneck::Network;
    assert_eq!(
        found(|all| queue(all, 15)),
        (network, Some(Cause::LinkRate))
    );
    assert_eq!(
        found(|all| queue(all, 81)),
        (network, Some(Cause::Bufferbloat))
    );
    // A tail drop with a queue is the link's, not a policer's or a bad line's.
    assert_eq!(
        found(|all| {
            queue(all, 15);
            losses(all, 40);
        }),
        (network, Some(Cause::LinkRate))
    );
}

#[test]
fn losses_without_a_queue_are_random_or_those_of_a_policer() {
    let policed = |all: &mut Recorded| {
        losses(all, 40);
        all.trace = policed();
    };
    assert_eq!(found(policed), (Bottleneck::Network, Some(Cause::Policer)));
    let random = |all: &mut Recorded| {
        losses(all, 20);
        all.trace = at_random();
    };
    assert_eq!(
        found(random),
        (Bottleneck::Network, Some(Cause::RandomLoss))
    );
    // Bursts queue at a faster link before a policer.
    assert_eq!(
        found(|all| {
            policed(all);
            queue(all, 5);
        })
        .1,
        Some(Cause::Policer)
    );
    // At 8.5 Mbit/s: a link of that rate whose queue was not seen, and a faster one behind a policer.
    for (ceiling_bps, cause) in [
        (9.0e6, Some(Cause::LinkRate)),
        (11.0e6, None),
        (94e6, Some(Cause::Policer)),
    ] {
        let found = found(|all| {
            policed(all);
            all.ceiling_bps = Some(ceiling_bps);
        });
        assert_eq!(found.1, cause, "{ceiling_bps}");
    }
    // Without the course of the connection nothing is told of its losses.
    assert_eq!(found(|all| losses(all, 40)), (Bottleneck::Network, None));
}

#[test]
fn segments_that_overtake_others_are_told_from_lost_ones() {
    let reordered = |all: &mut Recorded| {
        losses(all, 60);
        (all.first.duplicate_sacks, all.first.reordering_seen) = (Some(2), Some(0));
        (all.last.duplicate_sacks, all.last.reordering_seen) = (Some(58), Some(17));
    };
    let by = limited_by(reordered);
    assert_eq!(
        (by.limit, by.cause),
        (Bottleneck::Network, Some(Cause::Reordering))
    );
    assert!(
        by.evidence
            .contains("60 segments retransmitted, of which 56 had arrived after all; 17 times"),
        "{}",
        by.evidence
    );
    // A queue is told from delays that differ from segment to segment, of 1726.
    for (events, cause) in [(17, Cause::LinkRate), (400, Cause::Reordering)] {
        let found = found(|all| {
            reordered(all);
            queue(all, 15);
            all.last.reordering_seen = Some(events);
        });
        assert_eq!(found.1, Some(cause), "{events}");
    }
    // Too few retransmissions to matter, though none was needed.
    let few = found(|all| {
        reordered(all);
        queue(all, 15);
        all.last.bytes_sent = Some(200_000_000);
        all.last.reordering_seen = Some(40_000);
    });
    assert_eq!(few.1, Some(Cause::LinkRate));
    // Most of what was retransmitted was needed; nothing overtook anything; nothing is known of it.
    for change in [
        |all: &mut Recorded| all.last.duplicate_sacks = Some(20),
        |all: &mut Recorded| all.last.reordering_seen = Some(0),
        |all: &mut Recorded| all.last.reordering_seen = None,
    ] {
        let found = found(|all| {
            reordered(all);
            change(all);
        });
        assert_eq!(found, (Bottleneck::Network, None));
    }
}

#[test]
fn timeouts_that_take_the_time_are_the_evidence() {
    let timeouts = |all: &mut Recorded, count: u64| {
        losses(all, 3);
        (all.first.timeouts, all.last.timeouts) = (Some(1), Some(1 + count));
    };
    // 600 ms of 2 s, and 200 ms.
    let by = limited_by(|all| timeouts(all, 3));
    assert_eq!((by.limit, by.cause), (Bottleneck::Network, None));
    assert!(
        by.evidence.starts_with("3 retransmission timeouts"),
        "{}",
        by.evidence
    );
    let by = limited_by(|all| timeouts(all, 1));
    assert!(
        by.evidence.starts_with("the congestion window"),
        "{}",
        by.evidence
    );
}

#[test]
fn a_queue_that_marks_congestion_is_named_where_it_marked_more_than_was_lost() {
    let marks = |all: &mut Recorded, marked: u64, lost: u64| {
        losses(all, lost);
        (all.first.delivered, all.last.delivered) = (Some(1000), Some(5000));
        (all.first.delivered_ce, all.last.delivered_ce) = (Some(10), Some(10 + marked));
    };
    let by = limited_by(|all| marks(all, 200, 0));
    let expected = (Bottleneck::Network, Some(Cause::CongestionMarks));
    assert_eq!((by.limit, by.cause), expected, "{}", by.evidence);
    assert!(
        by.evidence.contains("while 5 % of the segments"),
        "{}",
        by.evidence
    );
    assert_ne!(limited_by(|all| marks(all, 2, 3)).cause, expected.1);
    assert_ne!(limited_by(|all| marks(all, 0, 0)).cause, expected.1);
}

#[test]
fn a_connection_still_in_slow_start_is_named() {
    assert_eq!(
        found(|all| all.sender.slow_start = 80),
        (Bottleneck::Network, Some(Cause::SlowStart))
    );
}

#[test]
fn a_small_send_buffer_is_named_though_the_kernel_does_not_report_it() {
    // As the kernel showed 4608 bytes on a path of 40 ms: cwnd 184 segments, 92 in flight, `sndbuf_limited` 0.
    let small = |all: &mut Recorded| {
        all.sender.out_of_data = 97;
        all.sender.in_flight_sum_bytes = 100 * 92 * 1448;
        all.sender.cwnd_sum_bytes = 100 * 184 * 1448;
    };
    let by = limited_by(small);
    assert_eq!(by.limit, Bottleneck::SendBuffer);
    assert!(
        by.evidence
            .contains("133216 bytes in flight in a congestion window of 266432"),
        "{}",
        by.evidence
    );
    assert_eq!(
        found(|all| all.last.send_buffer_limited_us = Some(1_000_000)).0,
        Bottleneck::SendBuffer
    );
    // A sender without readings shows it at the ends of the intervals.
    let old = |all: &mut Recorded, app_limited: f64, source_wait: f64| {
        all.sender.count = 0;
        all.flow.app_limited = app_limited;
        all.flow.source_wait = source_wait;
    };
    assert_eq!(found(|all| old(all, 0.9, 0.0)).0, Bottleneck::SendBuffer);
    assert_eq!(found(|all| old(all, 0.4, 0.0)).0, Bottleneck::Network);
    assert_eq!(found(|all| old(all, 0.9, 0.5)).0, Bottleneck::Sender);
    // The same readings of a sender that had no time to write are no small buffer.
    assert_eq!(
        found(|all| {
            small(all);
            all.flow.sender_cpu = Some(0.9);
        }),
        (Bottleneck::Sender, Some(Cause::Cpu))
    );
}

#[test]
fn a_window_that_is_full_is_the_limit_though_the_kernel_paced_below_it() {
    // As bbr showed on 100 Mbit/s and 50 ms with half the window that it needs.
    let full = |all: &mut Recorded| {
        all.last.receiver_window_limited_us = Some(300_000);
        all.sender.max_receiver_window_bytes = 520_192;
        all.sender.in_flight_sum_bytes = 100 * 504_332;
        all.sender.receiver_window_filled = 85;
    };
    let by = limited_by(full);
    assert_eq!(by.limit, Bottleneck::ReceiverWindow);
    assert!(
        by.evidence
            .ends_with("at most 520192 bytes, 504332 in flight on average"),
        "{}",
        by.evidence
    );
    for change in [
        |all: &mut Recorded| all.sender.receiver_window_filled = 40,
        |all: &mut Recorded| all.is_loopback = true,
        |all: &mut Recorded| queue(all, 15),
    ] {
        let found = found(|all| {
            full(all);
            change(all);
        });
        assert_eq!(found.0, Bottleneck::Network);
    }
}

#[test]
fn what_a_paced_connection_delivers_in_a_round_trip_shows_a_window_that_limits_it() {
    // bbr at 27 Mbit/s over 36 ms with a window of 136 kB, of which it seldom has nine tenths in flight.
    let paced = |all: &mut Recorded| {
        all.congestion = "bbr";
        all.flow.bytes = 6_750_000;
        all.sender.rtt_sum_us = 100 * 36_000;
        all.sender.max_receiver_window_bytes = 136_192;
    };
    let by = limited_by(paced);
    assert_eq!(by.limit, Bottleneck::ReceiverWindow);
    assert!(
        by.evidence.starts_with("89 % of it was delivered"),
        "{}",
        by.evidence
    );
    for change in [
        |all: &mut Recorded| all.sender.max_receiver_window_bytes = 400_000,
        |all: &mut Recorded| all.last.retransmits = 40,
        |all: &mut Recorded| all.sender.queued = 90,
    ] {
        let found = found(|all| {
            paced(all);
            change(all);
        });
        assert_eq!(found.0, Bottleneck::Network);
    }
}

/// A steady course of 8 s at this rate in Mbit/s after two seconds of start, without loss.
fn started(mbps: f64) -> Vec<TcpReading> {
    let reading = |nth: u64| {
        let started = (nth as f64 / 100.0).min(1.0);
        TcpReading {
            at_us: nth * 20_000,
            rtt_us: 20_100,
            min_rtt_us: 20_000,
            delivery_bps: (mbps * 1e6 * started) as u64,
            retransmits: 0,
            acknowledged_bytes: (mbps * 1e6 / 8.0 * 0.02 * (nth as f64 - 50.0).max(0.0)) as u64,
        }
    };
    (0..400).map(reading).collect()
}

#[test]
fn a_link_that_is_full_once_the_connection_has_started_is_the_limit() {
    let limit = |ceiling_mbps: Option<f64>, congestion| {
        found(|all| {
            all.trace = started(20.0);
            all.ceiling_bps = ceiling_mbps.map(|mbps| mbps * 1e6);
            all.ceiling_share = ceiling_mbps.map(|mbps| 17.5 / mbps);
            all.congestion = congestion;
        })
    };
    let link = (Bottleneck::Network, Some(Cause::LinkRate));
    assert_eq!(limit(Some(20.4), "cubic"), link);
    assert_eq!(limit(Some(30.0), "cubic"), (Bottleneck::Network, None));
    // bbr sends at the rate at which the path delivers.
    assert_eq!(limit(None, "bbr"), link);
    assert_eq!(limit(None, "cubic"), (Bottleneck::Network, None));
}

#[test]
fn the_queue_of_the_other_direction_is_not_taken_for_that_of_this_one() {
    let found = |both_directions| {
        found(|all| {
            queue(all, 81);
            all.both_directions = both_directions;
            all.trace = at_random();
        })
        .1
    };
    assert_eq!(found(false), Some(Cause::Bufferbloat));
    assert_eq!(found(true), None);
    let even = limited_by(|all| {
        queue(all, 81);
        all.both_directions = true;
        all.trace = started(20.0);
    });
    assert_eq!(even.cause, Some(Cause::Bufferbloat));
}

#[test]
fn an_application_that_does_not_read_is_told_from_a_small_window() {
    let window = |all: &mut Recorded| all.last.receiver_window_limited_us = Some(1_900_000);
    assert_eq!(found(window), (Bottleneck::ReceiverWindow, None));
    let unread = |all: &mut Recorded| {
        window(all);
        all.receiver.unread = 95;
    };
    assert_eq!(
        found(unread),
        (Bottleneck::Receiver, Some(Cause::Application))
    );
    assert_eq!(
        found(|all| {
            unread(all);
            all.flow.receiver_cpu = Some(0.3);
            all.flow.receiver_cpu_wait = 0.65;
        }),
        (Bottleneck::Receiver, Some(Cause::Cpu))
    );
    assert_eq!(
        found(|all| {
            unread(all);
            all.receiver.runnable = 80;
        }),
        (Bottleneck::Receiver, Some(Cause::Cpu))
    );
    // One reading says nothing of the time between all the others.
    assert_eq!(
        found(|all| {
            window(all);
            all.receiver.unread = 1;
            all.receiver.runnable = 1;
        })
        .1,
        found(window).1
    );
    // A receiver that does not report its buffer shows it by the window it advertises.
    assert_eq!(
        found(|all| {
            window(all);
            all.receiver.count = 0;
            all.sender.receiver_window_shrunk = 90;
        }),
        (Bottleneck::Receiver, Some(Cause::Application))
    );
}

#[test]
fn a_receiver_without_processor_time_is_the_only_queue_of_a_loopback() {
    let starved = |all: &mut Recorded| {
        all.flow.receiver_cpu = Some(0.03);
        all.flow.receiver_cpu_wait = 0.93;
        queue(all, 15);
    };
    // Between hosts the queue may be the path's.
    assert_eq!(found(starved), (Bottleneck::Network, Some(Cause::LinkRate)));
    assert_eq!(
        found(|all| {
            starved(all);
            all.is_loopback = true;
        }),
        (Bottleneck::Receiver, Some(Cause::Cpu))
    );
}

#[test]
fn a_starved_receiver_is_the_limit_where_nothing_speaks_for_the_network() {
    // A tenth of a core, as the quota of a control group leaves it.
    let starved = |all: &mut Recorded| {
        all.flow.receiver_cpu = Some(0.1);
        all.flow.receiver_cpu_wait = 0.85;
    };
    assert_eq!(found(|_| {}), (Bottleneck::Network, None));
    assert_eq!(found(starved), (Bottleneck::Receiver, Some(Cause::Cpu)));
}

#[test]
fn a_busy_receiver_that_keeps_up_is_not_the_bottleneck() {
    let busy = |all: &mut Recorded| {
        all.flow.receiver_cpu = Some(0.7);
        all.flow.receiver_cpu_wait = 0.3;
    };
    assert_eq!(
        found(|all| {
            busy(all);
            queue(all, 15);
        }),
        (Bottleneck::Network, Some(Cause::LinkRate))
    );
    for is_udp in [false, true] {
        assert_eq!(
            found(|all| {
                busy(all);
                all.is_udp = is_udp;
                all.ceiling_share = Some(0.98);
                all.last.receiver_window_limited_us = Some(1_900_000);
            }),
            (Bottleneck::Network, Some(Cause::LinkRate)),
            "udp: {is_udp}"
        );
    }
}

#[test]
fn a_window_that_only_bounds_a_full_queue_is_not_the_bottleneck() {
    let full = |all: &mut Recorded| {
        all.flow.bytes = 23_900_000;
        all.last.receiver_window_limited_us = Some(1_800_000);
        all.last.receiver_window_bytes = Some(80_896);
        all.last.rtt_us = 6_700;
        all.last.min_rtt_us = Some(10);
    };
    assert_eq!(found(full).0, Bottleneck::Network);
    assert_eq!(
        found(|all| {
            full(all);
            all.last.min_rtt_us = Some(6_500);
        })
        .0,
        Bottleneck::ReceiverWindow
    );
}

#[test]
fn a_rate_is_the_limit_where_it_was_reached() {
    assert_eq!(
        found(|all| all.asked_bps = Some(10_400_000)).0,
        Bottleneck::Pacing
    );
    assert_eq!(
        found(|all| all.asked_bps = Some(80_000_000)).0,
        Bottleneck::Network
    );
    let paced = |all: &mut Recorded| {
        all.last.max_pacing_rate_bps = Some(10_200_000);
        all.sender.paced = 90;
    };
    let by = limited_by(paced);
    assert_eq!(by.limit, Bottleneck::Pacing);
    assert!(
        by.evidence.contains("SO_MAX_PACING_RATE"),
        "{}",
        by.evidence
    );
    assert_eq!(
        found(|all| {
            paced(all);
            all.last.max_pacing_rate_bps = Some(100_000_000);
        })
        .0,
        Bottleneck::Network
    );
}

#[test]
fn a_sender_is_the_limit_where_it_had_no_data_or_no_processor() {
    let (sender, cpu) = (Bottleneck::Sender, Some(Cause::Cpu));
    assert_eq!(found(|all| all.flow.sender_cpu = Some(0.97)), (sender, cpu));
    assert_eq!(
        found(|all| {
            all.flow.sender_cpu = Some(0.47);
            all.flow.sender_cpu_wait = 0.45;
        }),
        (sender, cpu),
        "a thread that waits for a processor is out of CPU too"
    );
    assert_eq!(
        found(|all| {
            all.sender.out_of_data = 96;
            all.sender.runnable = 90;
            all.last.busy_us = Some(300_000);
        }),
        (sender, cpu),
        "a wait that lasts is not in the kernel's account of the thread"
    );
    assert_eq!(found(|all| all.machine_busy = true), (sender, cpu));
    assert_eq!(
        found(|all| {
            all.is_udp = true;
            all.flow.sender_cpu = Some(1.0);
        }),
        (sender, cpu)
    );
    let application = Some(Cause::Application);
    assert_eq!(
        found(|all| all.flow.source_wait = 0.9),
        (sender, application)
    );
    assert_eq!(
        found(|all| all.last.busy_us = Some(300_000)),
        (sender, None)
    );
    // A sender with nothing in flight does not wait for room in its buffer.
    assert_eq!(
        found(|all| {
            all.sender.out_of_data = 100;
            all.last.busy_us = Some(300_000);
        }),
        (sender, None)
    );
}

#[test]
fn nothing_is_named_without_evidence() {
    let unknown = Bottleneck::Unknown;
    assert_eq!(found(|all| all.flow.elapsed_ns = 1_000_000).0, unknown);
    assert_eq!(found(|all| all.last.busy_us = None).0, unknown);
}

#[test]
fn a_server_without_readings_is_judged_by_the_kernels_account() {
    let old = |all: &mut Recorded| {
        all.sender.count = 0;
        all.receiver.count = 0;
    };
    assert_eq!(found(old), (Bottleneck::Network, None));
    assert_eq!(
        found(|all| {
            old(all);
            all.last.receiver_window_limited_us = Some(1_800_000);
            all.flow.receiver_cpu = Some(0.99);
        }),
        (Bottleneck::Receiver, Some(Cause::Cpu))
    );
}
