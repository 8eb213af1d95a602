//! Transfer times: TCP with its handshake and slow start, datagrams by their size.

use std::time::Duration;

use caudal_analysis::framing::Framing;
use caudal_core::prediction::{Prediction, Tolerance};
use caudal_core::quantity::{Unit, digits, rate, size, time};
use caudal_core::units::{BitRate, ByteCount};

use crate::efficiency::{TRANSFER_HEADER, over_udp_efficiency, tcp_wire_bound};
use crate::loss::{LossResponse, loss_bound};
use crate::rate_bounds::{LimitingFactor, RateBound, RateBounds};
use crate::rfc6349::{TransferObservation, metrics};
use crate::window::window_bound;

/// The initial window in segments (RFC 6928).
pub const INITIAL_WINDOW: u32 = 10;

/// The time a new TCP connection takes for an amount, by phase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SlowStart {
    /// The handshake: one round trip, s.
    pub handshake_s: f64,
    /// The number of rounds of slow start, one round trip each.
    pub rounds: u32,
    /// Bytes sent during slow start.
    pub bytes_in_rounds: u64,
    /// The remaining bytes at the full rate, s.
    pub rest_s: f64,
    /// The total, s.
    pub total_s: f64,
}

/// The time a new connection takes for `size` when slow start doubles its window from `initial` segments up to `max_rate`.
///
/// A handshake of one `rtt`; then rounds of one `rtt` each, in which `initial`, `2·initial`, … segments are sent, until
/// such a window takes a whole round at `max_rate`; the rest at `max_rate`. The time ends when the last byte is sent.
/// `None` for a segment size of zero, an initial window of zero, or a `max_rate` of zero.
///
/// Source: Cardwell, Savage and Anderson, "Modeling TCP Latency", 2000, without loss and delayed acknowledgements;
/// RFC 5681 section 3.1; RFC 6928.
#[must_use]
pub fn slow_start(
    size: ByteCount,
    mss: u32,
    rtt: Duration,
    max_rate: BitRate,
    initial: u32,
) -> Option<SlowStart> {
    if mss == 0 || initial == 0 || max_rate == BitRate::ZERO {
        return None;
    }
    let round_s = rtt.as_secs_f64();
    let (mut rounds, mut sent, mut window) = (0_u32, 0_u64, u64::from(initial) * u64::from(mss));
    // A window that takes the whole round at the maximum rate is as good as any larger one.
    while sent.saturating_add(window) < size.get()
        && window as f64 * 8.0 / max_rate.as_f64() < round_s
    {
        sent += window;
        window = window.saturating_mul(2);
        rounds += 1;
    }
    let rest_s = (size.get() - sent) as f64 * 8.0 / max_rate.as_f64();
    Some(SlowStart {
        handshake_s: round_s,
        rounds,
        bytes_in_rounds: sent,
        rest_s,
        total_s: round_s * f64::from(1 + rounds) + rest_s,
    })
}

/// The time that datagrams of `payload` bytes take for an amount when sent back to back at the line rate.
///
/// `None` for no payload, a rate of zero, and where the MTU carries no fragment. Source: IEEE 802.3 framing.
#[must_use]
pub fn datagram_transfer(
    framing: &Framing,
    size: ByteCount,
    payload: u32,
    line: BitRate,
) -> Option<Duration> {
    if payload == 0 || line == BitRate::ZERO {
        return None;
    }
    let whole = size.get() / u64::from(payload);
    let last = (size.get() % u64::from(payload)) as u32;
    let mut wire = whole as f64 * framing.udp_wire_bytes(payload)? as f64;
    if last > 0 {
        wire += framing.udp_wire_bytes(last)? as f64;
    }
    Duration::try_from_secs_f64(wire * 8.0 / line.as_f64()).ok()
}

/// The parameters of a transfer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TransferParameters {
    /// The amount.
    pub bytes: ByteCount,
    /// The line rate.
    pub rate: BitRate,
    /// The round-trip time without queues.
    pub rtt: Duration,
    /// The initial window, segments.
    pub initial: u32,
    /// The window, where it limits the rate.
    pub window: Option<ByteCount>,
    /// The share of segments lost, where it limits the rate.
    pub loss: Option<f64>,
    /// Bytes of payload in a datagram; the largest that is not fragmented when `None`.
    pub datagram: Option<u32>,
    /// The framing of the payload.
    pub framing: Framing,
    /// The observation of such a transfer.
    pub observed: TransferObservation,
}

/// Predicts the transfer time by each protocol. Empty when the MTU leaves no payload.
#[must_use]
pub fn predict_transfer(parameters: &TransferParameters) -> Vec<Prediction> {
    let TransferParameters {
        bytes,
        rate: line,
        rtt,
        framing,
        ..
    } = *parameters;
    let mss = framing.tcp_payload_per_frame();
    let mut bounds = RateBounds::new();
    bounds.push(tcp_wire_bound(&framing, line));
    if let Some(window) = parameters.window {
        bounds.extend(window_bound(window, rtt, 1));
    }
    if let Some(loss) = parameters.loss {
        bounds.extend(loss_bound(LossResponse::Cubic, mss, rtt, loss, 1));
    }
    let mut all = Vec::new();
    if let Some(bound) = bounds.binding() {
        all.extend(
            tcp_predictions(parameters, mss, bound)
                .into_iter()
                .flatten(),
        );
        all.extend(bounds.prediction("tcp_ceiling", "TCP, steady state"));
    }
    all.extend(udp_time(parameters));
    all.extend(datagram_transfer_time(parameters));
    if let Some(bound) = bounds.all().first() {
        all.extend(metrics(bytes, bound.rate, rtt, &parameters.observed));
    }
    all
}

/// The time of the transfer in datagrams without a protocol of their own; `None` when nothing can be sent.
fn udp_time(parameters: &TransferParameters) -> Option<Prediction> {
    let TransferParameters {
        bytes,
        rate: line,
        framing,
        ..
    } = *parameters;
    let datagram = parameters
        .datagram
        .unwrap_or_else(|| framing.udp_payload_per_frame());
    let duration = datagram_transfer(&framing, bytes, datagram, line)?;
    let wire = framing.udp_wire_bytes(datagram)?;
    Some(
        Prediction::new(
            "udp_time",
            "UDP time",
            duration.as_secs_f64(),
            Unit::Seconds,
        )
        .bound_by(LimitingFactor::Wire.name())
        .detail(format!("datagrams of {datagram} B"))
        .assumes("datagrams back to back at the line rate, no loss, no waiting for replies")
        .source("IEEE 802.3 framing")
        .step(format!(
            "{} datagrams of {datagram} bytes, each {wire} bytes of wire time, at {} = {}",
            bytes.get().div_ceil(u64::from(datagram.max(1))),
            rate(line),
            time(duration)
        )),
    )
}

/// The time of a reliable transfer over datagrams; `None` when the headers fill the MTU.
fn datagram_transfer_time(parameters: &TransferParameters) -> Option<Prediction> {
    let TransferParameters {
        bytes,
        rate: line,
        rtt,
        framing,
        ..
    } = *parameters;
    let efficiency = over_udp_efficiency(&framing, TRANSFER_HEADER)?;
    let seconds = rtt.as_secs_f64() + bytes.as_f64() * 8.0 / (line.as_f64() * efficiency);
    Some(
            Prediction::new("transfer_time", "datagram transfer time", seconds, Unit::Seconds)
                .bound_by(LimitingFactor::Wire.name())
                .detail(format!("{TRANSFER_HEADER} B of header per block"))
                .assumes("one round trip to start, then a full link; a transfer that probes for the rate takes longer")
                .source("IEEE 802.3 framing")
                .within(Tolerance::SHARE)
                .step(format!("{} + {} × 8 / ({} × {efficiency:.4}) = {}", time(rtt), size(bytes), rate(line), Unit::Seconds.show(seconds))),
    )
}

const TCP_ASSUMPTIONS: &str = "no loss below the ceiling, an acknowledgement for every segment, no TLS, until the last byte is sent";
const TCP_SOURCE: &str = "Cardwell, Savage and Anderson 2000; RFC 5681 section 3.1; RFC 6928";

/// The time of the transfer over TCP and its mean goodput; `None` when nothing can be sent.
fn tcp_predictions(
    parameters: &TransferParameters,
    mss: u32,
    bound: &RateBound,
) -> Option<[Prediction; 2]> {
    let TransferParameters {
        bytes,
        rtt,
        initial,
        ..
    } = *parameters;
    let transfer = slow_start(bytes, mss, rtt, bound.rate, initial)?;
    let slow_start_s = transfer.handshake_s + f64::from(transfer.rounds) * rtt.as_secs_f64();
    let binding = if slow_start_s > transfer.rest_s {
        LimitingFactor::SlowStart
    } else {
        bound.factor
    };
    Some([
        tcp_time(parameters, mss, bound, &transfer).bound_by(binding.name()),
        tcp_mean_goodput(bytes, bound, &transfer).bound_by(binding.name()),
    ])
}

fn tcp_time(
    parameters: &TransferParameters,
    mss: u32,
    bound: &RateBound,
    transfer: &SlowStart,
) -> Prediction {
    let TransferParameters {
        bytes,
        rtt,
        initial,
        ..
    } = *parameters;
    let segments = |bytes: u64| bytes.div_ceil(u64::from(mss));
    Prediction::new("tcp_time", "TCP time", transfer.total_s, Unit::Seconds)
        .detail(format!(
            "handshake, {} round{} of slow start, then {}",
            transfer.rounds,
            if transfer.rounds == 1 { "" } else { "s" },
            rate(bound.rate)
        ))
        .assumes(TCP_ASSUMPTIONS)
        .source(TCP_SOURCE)
        .within(Tolerance::TIME)
        .step(format!("handshake: {}", time(rtt)))
        .step(format!(
            "slow start from {initial} segments: {} doubling rounds of {} carry {} of {} segments",
            transfer.rounds,
            time(rtt),
            segments(transfer.bytes_in_rounds),
            segments(bytes.get())
        ))
        .step(format!(
            "the rest, {} bytes, at {} ({}): {}",
            bytes.get() - transfer.bytes_in_rounds,
            rate(bound.rate),
            bound.factor,
            Unit::Seconds.show(transfer.rest_s)
        ))
        .step(format!(
            "{} × {} + {} = {}",
            transfer.rounds + 1,
            time(rtt),
            Unit::Seconds.show(transfer.rest_s),
            Unit::Seconds.show(transfer.total_s)
        ))
}

fn tcp_mean_goodput(bytes: ByteCount, bound: &RateBound, transfer: &SlowStart) -> Prediction {
    let mean = bytes.as_f64() * 8.0 / transfer.total_s.max(f64::MIN_POSITIVE);
    Prediction::new(
        "tcp_mean_goodput",
        "TCP, mean rate",
        mean,
        Unit::BitPerSecond,
    )
    .detail(format!(
        "{} of the ceiling",
        Unit::Share.show(mean / bound.rate.as_f64())
    ))
    .assumes(TCP_ASSUMPTIONS)
    .source(TCP_SOURCE)
    .within(Tolerance::TIME)
    .step(format!(
        "{} × 8 / {} = {} (a share of {} of the ceiling)",
        size(bytes),
        Unit::Seconds.show(transfer.total_s),
        Unit::BitPerSecond.show(mean),
        digits(mean / bound.rate.as_f64())
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parameters() -> TransferParameters {
        TransferParameters {
            bytes: ByteCount::new(1_000_000),
            rate: BitRate::from_bps(100_000_000),
            rtt: Duration::from_millis(40),
            initial: INITIAL_WINDOW,
            window: None,
            loss: None,
            datagram: None,
            framing: Framing::default(),
            observed: TransferObservation::default(),
        }
    }

    #[test]
    fn a_megabyte_over_40_ms_is_bound_by_slow_start() {
        let bound_rate = Framing::default().tcp_ceiling(parameters().rate);
        let time_taken =
            slow_start(parameters().bytes, 1448, parameters().rtt, bound_rate, 10).unwrap();
        assert_eq!(
            (time_taken.rounds, time_taken.bytes_in_rounds / 1448),
            (6, 630)
        );
        assert_eq!(format!("{:.1} ms", time_taken.rest_s * 1e3), "7.5 ms");
        assert_eq!(format!("{:.1} ms", time_taken.total_s * 1e3), "287.5 ms");
        let all = predict_transfer(&parameters());
        let of = |name: &str| all.iter().find(|one| one.name == name).unwrap();
        assert_eq!(of("tcp_time").unit_value().to_string(), "287.5 ms");
        assert_eq!(of("tcp_time").binding.as_deref(), Some("slow_start"));
        assert_eq!(format!("{:.1}", of("tcp_mean_goodput").value / 1e6), "27.8");
        assert!(of("tcp_time").explanation[1].contains("630 of 691 segments"));
    }

    #[test]
    fn a_long_transfer_is_bound_by_the_bound_of_its_rate() {
        let long = TransferParameters {
            bytes: ByteCount::new(1_000_000_000),
            ..parameters()
        };
        let bound = |parameters: &TransferParameters| {
            let all = predict_transfer(parameters);
            let one = all.iter().find(|one| one.name == "tcp_time").unwrap();
            one.binding.clone().unwrap()
        };
        assert_eq!(bound(&long), "wire");
        let narrow = TransferParameters {
            window: Some(ByteCount::new(65_535)),
            ..long
        };
        assert_eq!(bound(&narrow), "window");
        let lossy = TransferParameters {
            loss: Some(0.01),
            ..long
        };
        assert_eq!(bound(&lossy), "loss");
    }

    #[test]
    fn small_datagrams_take_longer() {
        let framing = Framing::default();
        let time_taken = |payload| {
            let time = datagram_transfer(
                &framing,
                ByteCount::new(1_000_000_000),
                payload,
                BitRate::from_bps(1_000_000_000),
            );
            format!("{:.2}", time.unwrap().as_secs_f64())
        };
        assert_eq!(
            [100, 500, 1000, 1400].map(time_taken),
            ["13.28", "9.06", "8.53", "8.38"]
        );
        assert_eq!(
            datagram_transfer(&framing, ByteCount::new(1), 0, parameters().rate),
            None
        );
        assert_eq!(
            datagram_transfer(&framing, ByteCount::new(1), 1, BitRate::ZERO),
            None
        );
    }

    proptest! {
        #[test]
        fn more_bytes_or_a_longer_path_never_take_less_time(bytes in 0_u64..1 << 40, more in 0_u64..1 << 40, us in 0_u64..1_000_000, later in 0_u64..1_000_000) {
            let bound_rate = BitRate::from_bps(94_148_244);
            let time_taken = |bytes, us| slow_start(ByteCount::new(bytes), 1448, Duration::from_micros(us), bound_rate, 10).unwrap();
            let one = time_taken(bytes, us);
            prop_assert!(one.total_s >= bytes as f64 * 8.0 / bound_rate.as_f64() * (1.0 - 1e-12));
            prop_assert!(time_taken(bytes + more, us).total_s >= one.total_s * (1.0 - 1e-12));
            prop_assert!(time_taken(bytes, us + later).total_s >= one.total_s * (1.0 - 1e-12));
        }
    }
}
