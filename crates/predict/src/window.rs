//! Windows: how much must be under way to fill a path, and what a window allows.

use super::ceilings::{Ceiling, Ceilings, Term};
use super::efficiency::tcp_wire;
use caudal_core::framing::Framing;
use caudal_core::prediction::{Prediction, Tolerance};
use caudal_core::quantity::{Unit, rate, size, time};
use caudal_core::units::{BitRate, ByteCount};
use std::time::Duration;

/// The bandwidth-delay product: what is under way when a path of `rate` and `rtt` is full.
///
/// `rate · rtt / 8`, to the nearest byte. Source: RFC 6349 section 3.3.1; RFC 1072.
#[must_use]
pub fn bandwidth_delay_product(rate: BitRate, rtt: Duration) -> ByteCount {
    let bit_nanos = u128::from(rate.bps()).saturating_mul(rtt.as_nanos());
    let bytes = bit_nanos.saturating_add(4_000_000_000) / 8_000_000_000;
    ByteCount::new(u64::try_from(bytes).unwrap_or(u64::MAX))
}

/// The most that a window lets through: a window each round trip.
///
/// `8 · window / rtt`; `None` for a round trip of no time. Source: RFC 6349 section 3.3.1; RFC 7323 section 1.1.
#[must_use]
pub fn window_rate(window: ByteCount, rtt: Duration) -> Option<BitRate> {
    window.per(rtt)
}

/// The window that Linux from 6.6 on offers of a receive buffer of `asked` bytes (`SO_RCVBUF`).
///
/// The kernel doubles what is asked for and offers the share of it that payload takes of the memory it lies in: with
/// packets of up to 1500 bytes 161/256, of 1448 in 2304 bytes; with larger ones it depends on the device, and this gives the
/// half that a connection begins with, as do older kernels whatever the packet. Source: `tcp_win_from_space()` and
/// `TCP_DEFAULT_SCALING_RATIO` in Linux include/net/tcp.h, `tcp_measure_rcv_mss()` in net/ipv4/tcp_input.c.
#[must_use]
pub fn offered_window(asked: ByteCount, framing: &Framing) -> ByteCount {
    if framing.mtu > 1500 {
        return asked;
    }
    let doubled = asked.get().saturating_mul(2);
    ByteCount::new(doubled / 256 * 161 + doubled % 256 * 161 / 256)
}

/// The flows of `window` each that fill a path; `None` for a window of nothing.
///
/// `⌈BDP / window⌉`, at least 1. Source: RFC 6349 section 3.3.1, the number of connections.
#[must_use]
pub fn flows_needed(product: ByteCount, window: ByteCount) -> Option<u64> {
    (window.get() > 0).then(|| product.get().div_ceil(window.get()).max(1))
}

/// The queue a bottleneck needs so that one loss-based flow never leaves it idle.
///
/// `BDP · (1/β − 1)` for a congestion control that goes on with `β` of its window after a loss: 0.5 for Reno, 0.7 for
/// CUBIC. `None` for a `β` outside (0, 1]. Source: Villamizar and Song 1994 for β = 0.5; RFC 9438 section 4.6 for 0.7.
#[must_use]
pub fn queue_needed(product: ByteCount, beta: f64) -> Option<ByteCount> {
    let bytes = product.as_f64() * (1.0 / beta - 1.0);
    (beta > 0.0 && beta <= 1.0).then(|| ByteCount::new(bytes.round() as u64))
}

/// What is asked about windows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WindowQuestion {
    /// The line rate of the bottleneck.
    pub rate: BitRate,
    /// The round-trip time without queues.
    pub rtt: Duration,
    /// The window each flow has, where it is known.
    pub window: Option<ByteCount>,
    /// Flows at once.
    pub flows: u32,
    /// What surrounds the payload.
    pub framing: Framing,
}

/// The ceiling of a window over a round-trip time; `None` for a round trip of no time.
#[must_use]
pub fn window_ceiling(window: ByteCount, rtt: Duration, flows: u32) -> Option<Ceiling> {
    let each = window_rate(window, rtt)?;
    let all = BitRate::from_bps(each.bps().saturating_mul(u64::from(flows.max(1))));
    let times = if flows > 1 {
        format!("{flows} × ")
    } else {
        String::new()
    };
    Some(Ceiling {
        term: Term::Window,
        rate: all,
        why: format!(
            "{times}{} bytes × 8 / {} = {}",
            window.get(),
            time(rtt),
            rate(all)
        ),
        assumes: "the window stays this large and the round trip this short: no queue builds up"
            .to_owned(),
        source: "RFC 6349 section 3.3.1; RFC 7323 section 1.1".to_owned(),
        tolerance: Tolerance::WINDOW,
    })
}

/// All that is known of windows on a path.
#[must_use]
pub fn window(question: &WindowQuestion) -> Vec<Prediction> {
    let WindowQuestion {
        rate: line,
        rtt,
        window,
        flows,
        framing,
    } = *question;
    let product = bandwidth_delay_product(line, rtt);
    let mut predictions = vec![bdp(line, rtt, product)];
    let payload = framing.tcp_payload_per_frame();
    if payload > 0 {
        let segments = (product.as_f64() / f64::from(payload)).ceil();
        predictions.push(
            Prediction::new("segments", "in full segments", segments, Unit::Segments)
                .detail(format!("{payload} bytes each"))
                .assumes("full segments")
                .source("RFC 6349 section 3.3.1")
                .step(format!(
                    "{} / {payload} = {segments:.0}, rounded up",
                    product.get()
                )),
        );
    }
    let mut ceilings = Ceilings::new();
    ceilings.push(tcp_wire(&framing, line));
    if let Some(window) = window {
        if let Some(ceiling) = window_ceiling(window, rtt, flows) {
            predictions.push(
                Prediction::new(
                    "window_goodput",
                    "the window allows",
                    ceiling.rate.as_f64(),
                    Unit::BitPerSecond,
                )
                .bound_by(Term::Window.name())
                .detail(format!("{} B a round trip", window.get()))
                .assumes(ceiling.assumes.clone())
                .source(ceiling.source.clone())
                .within(ceiling.tolerance)
                .step(ceiling.why.clone()),
            );
            ceilings.push(ceiling);
        }
        if let Some(needed) = flows_needed(product, window) {
            predictions.push(
                Prediction::new(
                    "flows_needed",
                    "flows that fill it",
                    needed as f64,
                    Unit::Flows,
                )
                .detail(format!("of {} B each", window.get()))
                .assumes("each flow has a window of its own and keeps it full")
                .source("RFC 6349 section 3.3.1")
                .step(format!(
                    "{} / {} rounded up = {needed}",
                    product.get(),
                    window.get()
                )),
            );
        }
    }
    predictions.extend(ceilings.prediction("tcp_goodput", "TCP goodput"));
    predictions.extend(buffers(product, flows));
    predictions
}

fn bdp(line: BitRate, rtt: Duration, product: ByteCount) -> Prediction {
    Prediction::new(
        "bdp",
        "bandwidth-delay product",
        product.as_f64(),
        Unit::Bytes,
    )
    .detail("the window that fills the path")
    .assumes("the rate is that of the bottleneck, the round-trip time that without queues")
    .source("RFC 6349 section 3.3.1")
    .step(format!(
        "{} × {} = {} bits",
        rate(line),
        time(rtt),
        line.as_f64() * rtt.as_secs_f64()
    ))
    .step(format!("/ 8 = {}", size(product)))
}

fn buffers(product: ByteCount, flows: u32) -> Vec<Prediction> {
    let mut all = vec![
        Prediction::new("receive_buffer_max", "tcp_rmem, largest", 2.0 * product.as_f64(), Unit::Bytes)
            .detail("twice the window: half is the kernel's own")
            .assumes("about half of a Linux receive buffer holds payload; the kernel scales that by what it sees")
            .source("tcp(7), tcp_adv_win_scale and tcp_rmem")
            .within(Tolerance::FACTOR_TWO)
            .step(format!("2 × {} bytes", product.get())),
        Prediction::new("socket_buffer", "SO_RCVBUF, SO_SNDBUF", product.as_f64(), Unit::Bytes)
            .detail("to ask for; the kernel doubles it")
            .assumes("net.core.rmem_max and wmem_max allow it; setting it turns autotuning off")
            .source("socket(7), SO_RCVBUF; RFC 6349 section 3.3.1")
            .within(Tolerance::FACTOR_TWO)
            .step(format!("the window needed: {} bytes", product.get())),
    ];
    for (name, title, beta) in [
        ("queue_reno", "queue for one Reno flow", 0.5),
        ("queue_cubic", "queue for one CUBIC flow", 0.7),
    ] {
        if let Some(queue) = queue_needed(product, beta) {
            let shared = (f64::from(flows.max(1))).sqrt();
            let bytes = queue.as_f64() / shared;
            let (title, by) = if flows > 1 {
                (
                    title
                        .replace("one", &flows.to_string())
                        .replace("flow", "flows"),
                    format!(" / √{flows}"),
                )
            } else {
                (title.to_owned(), String::new())
            };
            all.push(
                Prediction::new(name, title, bytes, Unit::Bytes)
                    .detail(format!("at the bottleneck, so that it never runs dry{by}"))
                    .assumes("drop-tail; flows that lose at different times")
                    .source("Villamizar and Song 1994; Appenzeller, Keslassy and McKeown 2004 for √n; RFC 9438 section 4.6")
                    .within(Tolerance::FACTOR_TWO)
                    .step(format!("{} × (1/{beta} − 1){by} = {}", product.get(), Unit::Bytes.show(bytes))),
            );
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_offers_the_share_of_its_double_that_payload_takes() {
        let offered = |asked, mtu| {
            let framing = Framing {
                mtu,
                ..Framing::default()
            };
            offered_window(ByteCount::new(asked), &framing).get()
        };
        // Seen on Linux 6.18 between network namespaces: 82944 and 17408, which the window's scale rounds up to.
        assert_eq!(offered(64 << 10, 1500).next_multiple_of(1024), 82_944);
        assert_eq!(offered(13 << 10, 1500).next_multiple_of(1024), 17_408);
        assert_eq!(offered(64 << 10, 9000), 64 << 10);
        assert_eq!(offered(u64::MAX, 1500) / 161, u64::MAX / 256);
    }
    use proptest::prelude::*;

    fn mega(megabits: u64) -> BitRate {
        BitRate::from_bps(megabits * 1_000_000)
    }

    fn bdp_of(bps: u64, ms: u64) -> u64 {
        bandwidth_delay_product(BitRate::from_bps(bps), Duration::from_millis(ms)).get()
    }

    #[test]
    fn bandwidth_delay_products_of_usual_paths() {
        assert_eq!(bdp_of(60_000_000, 50), 375_000);
        // A T3: about 138 KB.
        assert_eq!(bdp_of(44_210_000, 25), 138_156);
        assert_eq!(bdp_of(100_000_000, 2), 25_000);
        assert_eq!(bdp_of(1_000_000_000, 1), 125_000);
        assert_eq!(bdp_of(1_000_000_000, 20), 2_500_000);
        assert_eq!(bdp_of(u64::MAX, 1_000_000_000), u64::MAX);
    }

    #[test]
    fn a_window_over_a_round_trip_is_a_rate() {
        let allowed = window_rate(ByteCount::new(65_535), Duration::from_millis(50)).unwrap();
        assert_eq!(rate(allowed), "10.49 Mbit/s");
        // Advertised windows as Linux chose them, on a path of 50.5 ms.
        for (window, megabits) in [
            (20_272, "3.21"),
            (86_446, "13.69"),
            (173_360, "27.46"),
            (347_184, "55.00"),
        ] {
            let rtt = Duration::from_micros(50_500);
            let allowed = window_rate(ByteCount::new(window), rtt).unwrap();
            assert_eq!(format!("{:.2}", allowed.as_f64() / 1e6), megabits);
        }
        assert_eq!(window_rate(ByteCount::new(1), Duration::ZERO), None);
    }

    #[test]
    fn a_path_of_60_megabit_and_50_ms() {
        let question = WindowQuestion {
            rate: mega(60),
            rtt: Duration::from_millis(50),
            window: Some(ByteCount::new(65_535)),
            flows: 1,
            framing: Framing {
                timestamps: false,
                ..Framing::default()
            },
        };
        let all = window(&question);
        let of = |name: &str| all.iter().find(|one| one.name == name).unwrap();
        assert_eq!(of("bdp").shown(), "375 000 B");
        assert_eq!(of("segments").value, 257.0);
        assert_eq!(of("flows_needed").value, 6.0);
        assert_eq!(of("tcp_goodput").shown(), "10.49 Mbit/s");
        assert_eq!(of("tcp_goodput").binding.as_deref(), Some("window"));
        assert_eq!(of("queue_reno").value, 375_000.0);
        assert_eq!(of("queue_cubic").value, 160_714.0);
        let wide = window(&WindowQuestion {
            window: Some(ByteCount::new(4_000_000)),
            ..question
        });
        let bound = wide.iter().find(|one| one.name == "tcp_goodput").unwrap();
        assert_eq!(bound.binding.as_deref(), Some("wire"));
        assert_eq!(bound.shown(), "56.96 Mbit/s");
    }

    proptest! {
        #[test]
        fn the_flows_needed_fill_the_path_and_one_less_does_not(bps in 1_u64..1 << 40, us in 1_u64..1 << 30, window in 1_u64..1 << 32) {
            let product = bandwidth_delay_product(BitRate::from_bps(bps), Duration::from_micros(us));
            let flows = flows_needed(product, ByteCount::new(window)).unwrap();
            prop_assert!(flows.saturating_mul(window) >= product.get());
            prop_assert!(flows == 1 || (flows - 1) * window < product.get());
        }

        #[test]
        fn goodput_never_exceeds_the_line_and_a_longer_path_never_gives_more(bps in 1_000_u64..1 << 40, us in 1_u64..1 << 30, more in 0_u64..1 << 30, window_bytes in 1_u64..1 << 32) {
            let question = WindowQuestion {
                rate: BitRate::from_bps(bps),
                rtt: Duration::from_micros(us),
                window: Some(ByteCount::new(window_bytes)),
                flows: 1,
                framing: Framing::default(),
            };
            let goodput = |question: &WindowQuestion| window(question).iter().find(|one| one.name == "tcp_goodput").unwrap().value;
            let longer = WindowQuestion { rtt: Duration::from_micros(us + more), ..question };
            prop_assert!(goodput(&question) <= bps as f64);
            prop_assert!(goodput(&longer) <= goodput(&question));
        }
    }
}
