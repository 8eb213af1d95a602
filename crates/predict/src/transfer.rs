//! How long an amount takes: TCP with its handshake and slow start, datagrams by their size.

use super::ceilings::{Ceilings, Term};
use super::efficiency::{TRANSFER_HEADER, over_udp_efficiency, tcp_wire};
use super::loss::{Congestion, loss_ceiling};
use super::rfc6349::{Seen, metrics};
use super::window::window_ceiling;
use caudal_core::framing::Framing;
use caudal_core::prediction::{Prediction, Tolerance};
use caudal_core::quantity::{Unit, digits, rate, size, time};
use caudal_core::units::{BitRate, ByteCount};
use std::time::Duration;

/// The initial window in segments (RFC 6928).
pub const INITIAL_WINDOW: u32 = 10;

/// How long a new TCP connection takes for an amount, and of what that is made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SlowStart {
    /// The handshake: one round trip, s.
    pub handshake_s: f64,
    /// Rounds of slow start, a round trip each.
    pub rounds: u32,
    /// Bytes sent in them.
    pub bytes_in_rounds: u64,
    /// The rest at the full rate, s.
    pub rest_s: f64,
    /// All of it, s.
    pub total_s: f64,
}

/// The time a new connection takes for `size` when slow start doubles from `initial` segments up to `ceiling`.
///
/// A handshake of one `rtt`; then rounds of one `rtt` each, in which `initial`, `2·initial`, … segments go out, for as
/// long as such a window does not keep `ceiling` busy for the whole round; the rest at `ceiling`. Until the last byte
/// leaves. `None` for no segment size, no initial window, or a ceiling of zero.
///
/// Source: Cardwell, Savage and Anderson, "Modeling TCP Latency", 2000, without loss and delayed acknowledgements;
/// RFC 5681 section 3.1; RFC 6928.
#[must_use]
pub fn slow_start(
    size: ByteCount,
    mss: u32,
    rtt: Duration,
    ceiling: BitRate,
    initial: u32,
) -> Option<SlowStart> {
    if mss == 0 || initial == 0 || ceiling == BitRate::ZERO {
        return None;
    }
    let round_s = rtt.as_secs_f64();
    let (mut rounds, mut sent, mut window) = (0_u32, 0_u64, u64::from(initial) * u64::from(mss));
    // A window that fills the round at the ceiling is as good as any larger one.
    while sent.saturating_add(window) < size.get()
        && window as f64 * 8.0 / ceiling.as_f64() < round_s
    {
        sent += window;
        window = window.saturating_mul(2);
        rounds += 1;
    }
    let rest_s = (size.get() - sent) as f64 * 8.0 / ceiling.as_f64();
    Some(SlowStart {
        handshake_s: round_s,
        rounds,
        bytes_in_rounds: sent,
        rest_s,
        total_s: round_s * f64::from(1 + rounds) + rest_s,
    })
}

/// The time datagrams of `payload` bytes take for an amount at the line rate, one behind the other.
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

/// What is asked about a transfer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TransferQuestion {
    /// The amount.
    pub bytes: ByteCount,
    /// The line rate.
    pub rate: BitRate,
    /// The round-trip time without queues.
    pub rtt: Duration,
    /// The initial window, segments.
    pub initial: u32,
    /// The window, where it bounds.
    pub window: Option<ByteCount>,
    /// The share of segments lost, where it bounds.
    pub loss: Option<f64>,
    /// Bytes of the datagrams; the largest that is not fragmented when `None`.
    pub datagram: Option<u32>,
    /// What surrounds the payload.
    pub framing: Framing,
    /// What was seen of such a transfer.
    pub seen: Seen,
}

/// How long the amount takes by each protocol. Empty when the MTU carries no payload.
#[must_use]
pub fn transfer(question: &TransferQuestion) -> Vec<Prediction> {
    let TransferQuestion {
        bytes,
        rate: line,
        rtt,
        framing,
        ..
    } = *question;
    let mss = framing.tcp_payload_per_frame();
    let mut ceilings = Ceilings::new();
    ceilings.push(tcp_wire(&framing, line));
    if let Some(window) = question.window {
        ceilings.extend(window_ceiling(window, rtt, 1));
    }
    if let Some(loss) = question.loss {
        ceilings.extend(loss_ceiling(Congestion::Cubic, mss, rtt, loss, 1));
    }
    let mut all = Vec::new();
    if let Some(ceiling) = ceilings.binding() {
        all.extend(
            tcp_time(question, mss, ceiling.rate, ceiling.term)
                .into_iter()
                .flatten(),
        );
        all.extend(ceilings.prediction("tcp_ceiling", "TCP, steady state"));
    }
    let datagram = question
        .datagram
        .unwrap_or_else(|| framing.udp_payload_per_frame());
    if let Some(took) = datagram_transfer(&framing, bytes, datagram, line) {
        let wire = framing.udp_wire_bytes(datagram).unwrap_or(0);
        all.push(
            Prediction::new("udp_time", "UDP time", took.as_secs_f64(), Unit::Seconds)
                .bound_by(Term::Wire.name())
                .detail(format!("datagrams of {datagram} B"))
                .assumes(
                    "datagrams one behind the other at the line rate, none lost, none waited for",
                )
                .source("IEEE 802.3 framing")
                .step(format!(
                    "{} datagrams of {datagram} bytes, each {wire} bytes of wire time, at {} = {}",
                    bytes.get().div_ceil(u64::from(datagram.max(1))),
                    rate(line),
                    time(took)
                )),
        );
    }
    if let Some(efficiency) = over_udp_efficiency(&framing, TRANSFER_HEADER) {
        let seconds = rtt.as_secs_f64() + bytes.as_f64() * 8.0 / (line.as_f64() * efficiency);
        all.push(
            Prediction::new("transfer_time", "datagram transfer time", seconds, Unit::Seconds)
                .bound_by(Term::Wire.name())
                .detail(format!("{TRANSFER_HEADER} B of header a block"))
                .assumes("one round trip to begin, then the link filled at once; a transfer that probes for the rate takes longer")
                .source("IEEE 802.3 framing")
                .within(Tolerance::SHARE)
                .step(format!("{} + {} × 8 / ({} × {efficiency:.4}) = {}", time(rtt), size(bytes), rate(line), Unit::Seconds.show(seconds))),
        );
    }
    if let Some(ceiling) = ceilings.all().first() {
        all.extend(metrics(bytes, ceiling.rate, rtt, &question.seen));
    }
    all
}

fn tcp_time(
    question: &TransferQuestion,
    mss: u32,
    ceiling: BitRate,
    term: Term,
) -> Option<[Prediction; 2]> {
    let TransferQuestion {
        bytes,
        rtt,
        initial,
        ..
    } = *question;
    let took = slow_start(bytes, mss, rtt, ceiling, initial)?;
    let starting = took.handshake_s + f64::from(took.rounds) * rtt.as_secs_f64();
    let binding = if starting > took.rest_s {
        Term::SlowStart
    } else {
        term
    };
    let segments = |bytes: u64| bytes.div_ceil(u64::from(mss));
    let mean = bytes.as_f64() * 8.0 / took.total_s.max(f64::MIN_POSITIVE);
    let assumes = "no loss before the ceiling, an acknowledgement for every segment, no TLS, until the last byte leaves";
    let source = "Cardwell, Savage and Anderson 2000; RFC 5681 section 3.1; RFC 6928";
    let time_of = Prediction::new("tcp_time", "TCP time", took.total_s, Unit::Seconds)
        .bound_by(binding.name())
        .detail(format!(
            "handshake, {} round{} of slow start, then {}",
            took.rounds,
            if took.rounds == 1 { "" } else { "s" },
            rate(ceiling)
        ))
        .assumes(assumes)
        .source(source)
        .within(Tolerance::TIME)
        .step(format!("handshake: {}", time(rtt)))
        .step(format!(
            "slow start from {initial} segments: {} doubling rounds of {} carry {} of {} segments",
            took.rounds,
            time(rtt),
            segments(took.bytes_in_rounds),
            segments(bytes.get())
        ))
        .step(format!(
            "the rest, {} bytes, at {} ({}): {}",
            bytes.get() - took.bytes_in_rounds,
            rate(ceiling),
            term.words(),
            Unit::Seconds.show(took.rest_s)
        ))
        .step(format!(
            "{} × {} + {} = {}",
            took.rounds + 1,
            time(rtt),
            Unit::Seconds.show(took.rest_s),
            Unit::Seconds.show(took.total_s)
        ));
    let mean_of = Prediction::new(
        "tcp_mean_goodput",
        "TCP, mean of it",
        mean,
        Unit::BitPerSecond,
    )
    .bound_by(binding.name())
    .detail(format!(
        "{} of the ceiling",
        Unit::Share.show(mean / ceiling.as_f64())
    ))
    .assumes(assumes)
    .source(source)
    .within(Tolerance::TIME)
    .step(format!(
        "{} × 8 / {} = {} (a part of {} of the ceiling)",
        size(bytes),
        Unit::Seconds.show(took.total_s),
        Unit::BitPerSecond.show(mean),
        digits(mean / ceiling.as_f64())
    ));
    Some([time_of, mean_of])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn question() -> TransferQuestion {
        TransferQuestion {
            bytes: ByteCount::new(1_000_000),
            rate: BitRate::from_bps(100_000_000),
            rtt: Duration::from_millis(40),
            initial: INITIAL_WINDOW,
            window: None,
            loss: None,
            datagram: None,
            framing: Framing::default(),
            seen: Seen::default(),
        }
    }

    #[test]
    fn a_megabyte_over_40_ms_is_mostly_slow_start() {
        let ceiling = Framing::default().tcp_ceiling(question().rate);
        let took = slow_start(question().bytes, 1448, question().rtt, ceiling, 10).unwrap();
        assert_eq!((took.rounds, took.bytes_in_rounds / 1448), (6, 630));
        assert_eq!(format!("{:.1} ms", took.rest_s * 1e3), "7.5 ms");
        assert_eq!(format!("{:.4} s", took.total_s), "0.2875 s");
        let all = transfer(&question());
        let of = |name: &str| all.iter().find(|one| one.name == name).unwrap();
        assert_eq!(of("tcp_time").shown(), "0.2875 s");
        assert_eq!(of("tcp_time").binding.as_deref(), Some("slow_start"));
        assert_eq!(format!("{:.1}", of("tcp_mean_goodput").value / 1e6), "27.8");
        assert!(of("tcp_time").explanation[1].contains("630 of 691 segments"));
    }

    #[test]
    fn a_long_transfer_is_bound_by_what_binds_its_rate() {
        let long = TransferQuestion {
            bytes: ByteCount::new(1_000_000_000),
            ..question()
        };
        let bound = |question: &TransferQuestion| {
            let all = transfer(question);
            let one = all.iter().find(|one| one.name == "tcp_time").unwrap();
            one.binding.clone().unwrap()
        };
        assert_eq!(bound(&long), "wire");
        let narrow = TransferQuestion {
            window: Some(ByteCount::new(65_535)),
            ..long
        };
        assert_eq!(bound(&narrow), "window");
        let lossy = TransferQuestion {
            loss: Some(0.01),
            ..long
        };
        assert_eq!(bound(&lossy), "loss");
    }

    #[test]
    fn small_datagrams_take_longer() {
        let framing = Framing::default();
        let took = |payload| {
            let time = datagram_transfer(
                &framing,
                ByteCount::new(1_000_000_000),
                payload,
                BitRate::from_bps(1_000_000_000),
            );
            format!("{:.2}", time.unwrap().as_secs_f64())
        };
        assert_eq!(
            [100, 500, 1000, 1400].map(took),
            ["13.28", "9.06", "8.53", "8.38"]
        );
        assert_eq!(
            datagram_transfer(&framing, ByteCount::new(1), 0, question().rate),
            None
        );
        assert_eq!(
            datagram_transfer(&framing, ByteCount::new(1), 1, BitRate::ZERO),
            None
        );
    }

    proptest! {
        #[test]
        fn more_bytes_or_a_longer_path_never_take_less(bytes in 0_u64..1 << 40, more in 0_u64..1 << 40, us in 0_u64..1_000_000, later in 0_u64..1_000_000) {
            let ceiling = BitRate::from_bps(94_148_244);
            let took = |bytes, us| slow_start(ByteCount::new(bytes), 1448, Duration::from_micros(us), ceiling, 10).unwrap();
            let one = took(bytes, us);
            prop_assert!(one.total_s >= bytes as f64 * 8.0 / ceiling.as_f64() * (1.0 - 1e-12));
            prop_assert!(took(bytes + more, us).total_s >= one.total_s * (1.0 - 1e-12));
            prop_assert!(took(bytes, us + later).total_s >= one.total_s * (1.0 - 1e-12));
        }
    }
}
