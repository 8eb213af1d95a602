//! Windows: the bandwidth-delay product of a path, and the rate a window allows.

use std::time::Duration;

use caudal_analysis::framing::Framing;
pub use caudal_analysis::window::{bandwidth_delay_product, flows_needed, window_rate};
use caudal_core::prediction::{Prediction, Tolerance};
use caudal_core::quantity::{Unit, rate, size, time};
use caudal_core::units::{BitRate, ByteCount};

use crate::efficiency::tcp_wire_bound;
use crate::rate_bounds::{LimitingFactor, RateBound, RateBounds};

/// The window that Linux from 6.6 on advertises with a receive buffer set to `requested` bytes (`SO_RCVBUF`).
///
/// The kernel doubles the requested size and advertises the share of it that is payload: 161/256 with packets of up to
/// 1500 bytes, of which 1448 bytes take 2304 bytes of memory. With larger packets the share depends on the device, and
/// this gives the half that a connection starts with, as do older kernels with any packet. Source: `tcp_win_from_space()` and
/// `TCP_DEFAULT_SCALING_RATIO` in Linux include/net/tcp.h, `tcp_measure_rcv_mss()` in net/ipv4/tcp_input.c.
#[must_use]
pub fn advertised_window(requested: ByteCount, framing: &Framing) -> ByteCount {
    if framing.mtu > 1500 {
        return requested;
    }
    let doubled = requested.get().saturating_mul(2);
    ByteCount::new(doubled / 256 * 161 + doubled % 256 * 161 / 256)
}

/// The queue that keeps a bottleneck busy through the losses of one loss-based flow.
///
/// `BDP · (1/β − 1)` for a congestion control that multiplies its window by `β` at a loss: 0.5 for Reno, 0.7 for
/// CUBIC. `None` for a `β` outside (0, 1]. Source: Villamizar and Song 1994 for β = 0.5; RFC 9438 section 4.6 for 0.7.
#[must_use]
pub fn queue_needed(product: ByteCount, beta: f64) -> Option<ByteCount> {
    let bytes = product.as_f64() * (1.0 / beta - 1.0);
    (beta > 0.0 && beta <= 1.0).then(|| ByteCount::new(bytes.round() as u64))
}

/// The parameters of a path and the windows used on it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WindowParameters {
    /// The line rate of the bottleneck.
    pub rate: BitRate,
    /// The round-trip time without queues.
    pub rtt: Duration,
    /// The window of each flow, where it is known.
    pub window: Option<ByteCount>,
    /// The number of concurrent flows.
    pub flows: u32,
    /// The framing of the payload.
    pub framing: Framing,
}

/// The bound of a window over a round-trip time; `None` for a round-trip time of zero.
#[must_use]
pub fn window_bound(window: ByteCount, rtt: Duration, flows: u32) -> Option<RateBound> {
    let each = window_rate(window, rtt)?;
    let all = BitRate::from_bps(each.bps().saturating_mul(u64::from(flows.max(1))));
    let times = if flows > 1 {
        format!("{flows} × ")
    } else {
        String::new()
    };
    Some(RateBound {
        factor: LimitingFactor::Window,
        rate: all,
        derivation: format!(
            "{times}{} bytes × 8 / {} = {}",
            window.get(),
            time(rtt),
            rate(all)
        ),
        assumes: "the window and the round-trip time stay constant: no queue builds up".to_owned(),
        source: "RFC 6349 section 3.3.1; RFC 7323 section 1.1".to_owned(),
        tolerance: Tolerance::WINDOW,
    })
}

/// Predicts the bandwidth-delay product, and the goodput, flows and buffers that windows allow.
#[must_use]
pub fn predict_window(parameters: &WindowParameters) -> Vec<Prediction> {
    let WindowParameters {
        rate: line,
        rtt,
        window,
        flows,
        framing,
    } = *parameters;
    let product = bandwidth_delay_product(line, rtt);
    let mut predictions = vec![bdp_prediction(line, rtt, product)];
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
    let mut bounds = RateBounds::new();
    bounds.push(tcp_wire_bound(&framing, line));
    if let Some(window) = window {
        if let Some(bound) = window_bound(window, rtt, flows) {
            predictions.push(
                Prediction::new(
                    "window_goodput",
                    "the window allows",
                    bound.rate.as_f64(),
                    Unit::BitPerSecond,
                )
                .bound_by(LimitingFactor::Window.name())
                .detail(format!("{} B per round trip", window.get()))
                .assumes(bound.assumes.clone())
                .source(bound.source.clone())
                .within(bound.tolerance)
                .step(bound.derivation.clone()),
            );
            bounds.push(bound);
        }
        predictions.extend(flows_prediction(product, window));
    }
    predictions.extend(bounds.prediction("tcp_goodput", "TCP goodput"));
    predictions.extend(buffers(product, flows));
    predictions
}

fn flows_prediction(product: ByteCount, window: ByteCount) -> Option<Prediction> {
    let needed = flows_needed(product, window)?;
    Some(
        Prediction::new(
            "flows_needed",
            "flows that fill it",
            needed as f64,
            Unit::Flows,
        )
        .detail(format!("of {} B each", window.get()))
        .assumes("each flow has its own window and keeps it full")
        .source("RFC 6349 section 3.3.1")
        .step(format!(
            "{} / {} rounded up = {needed}",
            product.get(),
            window.get()
        )),
    )
}

fn bdp_prediction(line: BitRate, rtt: Duration, product: ByteCount) -> Prediction {
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
        Prediction::new("receive_buffer_max", "tcp_rmem, maximum", 2.0 * product.as_f64(), Unit::Bytes)
            .detail("twice the window: half is overhead of the kernel")
            .assumes("about half of a Linux receive buffer holds payload; the kernel adapts that to the packets it receives")
            .source("tcp(7), tcp_adv_win_scale and tcp_rmem")
            .within(Tolerance::FACTOR_TWO)
            .step(format!("2 × {} bytes", product.get())),
        Prediction::new("socket_buffer", "SO_RCVBUF, SO_SNDBUF", product.as_f64(), Unit::Bytes)
            .detail("the size to set; the kernel doubles it")
            .assumes("net.core.rmem_max and wmem_max allow it; setting it disables autotuning")
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
            let (title, factor) = if flows > 1 {
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
                    .detail(format!("at the bottleneck, so that it never runs empty{factor}"))
                    .assumes("drop-tail; flows that lose at different times")
                    .source("Villamizar and Song 1994; Appenzeller, Keslassy and McKeown 2004 for √n; RFC 9438 section 4.6")
                    .within(Tolerance::FACTOR_TWO)
                    .step(format!("{} × (1/{beta} − 1){factor} = {}", product.get(), Unit::Bytes.show(bytes))),
            );
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_advertised_window_is_the_payload_share_of_the_doubled_buffer() {
        let advertised = |asked, mtu| {
            let framing = Framing {
                mtu,
                ..Framing::default()
            };
            advertised_window(ByteCount::new(asked), &framing).get()
        };
        // Observed on Linux 6.18 between network namespaces: 82944 and 17408, rounded up by the window scale.
        assert_eq!(advertised(64 << 10, 1500).next_multiple_of(1024), 82_944);
        assert_eq!(advertised(13 << 10, 1500).next_multiple_of(1024), 17_408);
        assert_eq!(advertised(64 << 10, 9000), 64 << 10);
        assert_eq!(advertised(u64::MAX, 1500) / 161, u64::MAX / 256);
    }

    fn mega(megabits: u64) -> BitRate {
        BitRate::from_bps(megabits * 1_000_000)
    }

    #[test]
    fn a_path_of_60_megabit_and_50_ms() {
        let parameters = WindowParameters {
            rate: mega(60),
            rtt: Duration::from_millis(50),
            window: Some(ByteCount::new(65_535)),
            flows: 1,
            framing: Framing {
                timestamps: false,
                ..Framing::default()
            },
        };
        let all = predict_window(&parameters);
        let named = |name: &str| all.iter().find(|one| one.name == name).unwrap();
        assert_eq!(named("bdp").unit_value().to_string(), "375 000 B");
        assert_eq!(named("segments").value, 257.0);
        assert_eq!(named("flows_needed").value, 6.0);
        assert_eq!(
            named("tcp_goodput").unit_value().to_string(),
            "10.49 Mbit/s"
        );
        assert_eq!(named("tcp_goodput").binding.as_deref(), Some("window"));
        assert_eq!(named("queue_reno").value, 375_000.0);
        assert_eq!(named("queue_cubic").value, 160_714.0);
        let wide = predict_window(&WindowParameters {
            window: Some(ByteCount::new(4_000_000)),
            ..parameters
        });
        let bound = wide.iter().find(|one| one.name == "tcp_goodput").unwrap();
        assert_eq!(bound.binding.as_deref(), Some("wire"));
        assert_eq!(bound.unit_value().to_string(), "56.96 Mbit/s");
    }

    proptest! {
        #[test]
        fn goodput_never_exceeds_the_line_rate_and_a_longer_path_never_increases_it(bps in 1_000_u64..1 << 40, us in 1_u64..1 << 30, more in 0_u64..1 << 30, window_bytes in 1_u64..1 << 32) {
            let parameters = WindowParameters {
                rate: BitRate::from_bps(bps),
                rtt: Duration::from_micros(us),
                window: Some(ByteCount::new(window_bytes)),
                flows: 1,
                framing: Framing::default(),
            };
            let goodput = |parameters: &WindowParameters| predict_window(parameters).iter().find(|one| one.name == "tcp_goodput").unwrap().value;
            let longer = WindowParameters { rtt: Duration::from_micros(us + more), ..parameters };
            prop_assert!(goodput(&parameters) <= bps as f64);
            prop_assert!(goodput(&longer) <= goodput(&parameters));
        }
    }
}
