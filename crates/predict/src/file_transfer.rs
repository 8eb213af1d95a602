//! The time of a file transfer over TCP, TLS, RBT and QUIC.

use std::time::Duration;

use caudal_analysis::framing::Framing;
use caudal_core::plan::FileProtocol;
use caudal_core::prediction::{Prediction, Tolerance};
use caudal_core::quantity::{Unit, digits, rate, time};
use caudal_core::units::{BitRate, ByteCount};

use crate::efficiency::{FRAMING_SOURCE, FULL_FRAMES, TRANSFER_HEADER};
use crate::loss::{LossResponse, loss_bound};
use crate::rate_bounds::{LimitingFactor, RateBound, RateBounds};
use crate::transfer::{INITIAL_WINDOW, SlowStart, slow_start};

/// The initial window of QUIC, bytes, but at most ten datagrams and at least two (RFC 9002 section 7.2); RBT has the same.
const INITIAL_WINDOW_BYTES: u32 = 14_720;
/// The largest content of a TLS record (RFC 8446 section 5.1).
const TLS_RECORD: u32 = 16_384;
/// Header, content type and tag of a TLS record with AES-128-GCM (RFC 8446 section 5.2, RFC 5116 section 5.1).
const TLS_OVERHEAD: u32 = 5 + 1 + 16;
/// The UDP payload of a full datagram of QUIC, bytes.
const QUIC_DATAGRAM: u32 = 1400;
/// What of it is not content: short header with a connection ID of 8 bytes and a packet number of 2, tag, and the frame's type, stream,
/// offset and length (RFC 9000 sections 17.3.1 and 19.8, RFC 9001 section 5.3).
const QUIC_OVERHEAD: u32 = 1 + 8 + 2 + 16 + 1 + 1 + 8 + 2;

/// The parameters of a file transfer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FileTransferParameters {
    /// The protocol.
    pub protocol: FileProtocol,
    /// The size of the file.
    pub bytes: ByteCount,
    /// The line rate.
    pub rate: BitRate,
    /// The round-trip time without queues.
    pub rtt: Duration,
    /// The share of packets lost on the way of the file, 0 to below 1.
    pub loss: f64,
    /// File bytes in a packet of RBT, or in a segment or a write of TCP and TLS; full packets when `None`. QUIC has its own.
    pub packet: Option<u32>,
    /// The response of the congestion control to loss; `None` for one that random loss does not hold back, such as BBR, or a fixed rate.
    pub response: Option<LossResponse>,
    /// The maximum rate asked for.
    pub max_rate: Option<BitRate>,
    /// The framing of the payload.
    pub framing: Framing,
}

/// What of a protocol matters to the time that a file takes.
#[derive(Debug, Clone, Copy, PartialEq)]
struct ProtocolShape {
    /// Round trips before the first file byte.
    handshake_rounds: u32,
    /// File bytes in a packet.
    content: u32,
    /// Bytes of wire time of such a packet.
    wire: u64,
    /// Packets in the initial window.
    initial: u32,
}

impl FileTransferParameters {
    /// `None` when the headers fill the MTU.
    fn shape(&self) -> Option<ProtocolShape> {
        let framing = &self.framing;
        let segment = framing.tcp_payload_per_frame();
        match self.protocol {
            // RFC 9293 section 3.5, RFC 6928.
            FileProtocol::Tcp => {
                let content = self.packet.unwrap_or(segment).min(segment);
                Some(ProtocolShape {
                    handshake_rounds: 1,
                    content,
                    wire: framing.tcp_wire_bytes(u64::from(content))?,
                    initial: INITIAL_WINDOW,
                })
            }
            // One more round trip than TCP: RFC 8446 section 2.
            FileProtocol::Tls => {
                let record = self.packet.unwrap_or(TLS_RECORD).min(TLS_RECORD);
                let full = (u64::from(segment) * u64::from(record)
                    / u64::from(record + TLS_OVERHEAD)) as u32;
                let content = record.min(full);
                let encrypted = segment.min(record + TLS_OVERHEAD);
                Some(ProtocolShape {
                    handshake_rounds: 2,
                    content,
                    wire: framing.tcp_wire_bytes(u64::from(encrypted))?,
                    initial: INITIAL_WINDOW,
                })
            }
            // One round trip where the address was proved before.
            FileProtocol::Rbt => {
                let room = framing.udp_payload_per_frame();
                let content = self
                    .packet
                    .unwrap_or_else(|| room.saturating_sub(TRANSFER_HEADER));
                datagram_shape(framing, content, content.checked_add(TRANSFER_HEADER)?)
            }
            // RFC 9000 section 7, RFC 9002 section 7.2.
            FileProtocol::Quic => {
                datagram_shape(framing, QUIC_DATAGRAM - QUIC_OVERHEAD, QUIC_DATAGRAM)
            }
        }
        .filter(|shape| shape.content > 0)
    }

    /// The bounds of the steady state.
    fn bounds(&self, shape: &ProtocolShape) -> RateBounds {
        let mut bounds = RateBounds::new();
        bounds.extend(self.wire_bound(shape));
        if let Some(max) = self.max_rate {
            bounds.push(requested_bound(max));
        }
        if let Some(response) = self.response {
            bounds.extend(loss_bound(response, shape.content, self.rtt, self.loss, 1));
        }
        bounds
    }

    /// The rate of file bytes that the link carries, less what is lost and sent again.
    fn wire_bound(&self, shape: &ProtocolShape) -> Option<RateBound> {
        let arriving = 1.0 - self.loss;
        let share = f64::from(shape.content) / shape.wire as f64;
        let all = BitRate::from_f64(self.rate.as_f64() * share * arriving)?;
        Some(RateBound {
            factor: LimitingFactor::Wire,
            rate: all,
            derivation: format!(
                "{} × {} / {} × {} = {}",
                rate(self.rate),
                shape.content,
                shape.wire,
                digits(arriving),
                rate(all)
            ),
            assumes: FULL_FRAMES.to_owned(),
            source: FRAMING_SOURCE.to_owned(),
            tolerance: Tolerance::EXACT,
        })
    }
}

/// A protocol over UDP with a handshake of one round trip and `content` file bytes in each datagram.
fn datagram_shape(framing: &Framing, content: u32, datagram: u32) -> Option<ProtocolShape> {
    let window = INITIAL_WINDOW_BYTES
        .max(datagram.saturating_mul(2))
        .min(datagram.saturating_mul(10));
    Some(ProtocolShape {
        handshake_rounds: 1,
        content,
        wire: framing.udp_wire_bytes(datagram)?,
        initial: window.checked_div(datagram)?,
    })
}

fn requested_bound(max: BitRate) -> RateBound {
    RateBound {
        factor: LimitingFactor::Requested,
        rate: max,
        derivation: format!("asked for: {}", rate(max)),
        assumes: "the sender keeps its rate".to_owned(),
        source: "the request".to_owned(),
        tolerance: Tolerance::EXACT,
    }
}

/// The time of a file transfer, by phase.
#[derive(Debug, Clone, PartialEq)]
pub struct FileTransferTime {
    /// The handshake, s.
    pub handshake_s: f64,
    /// Rounds of slow start, one round trip each.
    pub slow_start_rounds: u32,
    /// The rest of the file at the steady rate, s.
    pub steady_s: f64,
    /// The last byte's way and the receiver's answer, s.
    pub answer_s: f64,
    /// The total, s: from the first byte of the handshake until the sender knows that everything arrived.
    pub total_s: f64,
    /// The steady rate of file bytes, with what limits it.
    pub steady: RateBound,
    /// The factor that decides the total.
    pub factor: LimitingFactor,
}

/// The time of a file transfer: the handshake, slow start from the initial window, the rest at the steady rate, and one round trip for the
/// last byte and the answer to it.
///
/// The steady rate is the lowest of the line's, less what is lost and sent again, the one that the congestion control keeps under loss, and the
/// one asked for. `None` where the MTU carries no such packet, for a line rate of zero, and for a loss outside 0 to below 1.
///
/// Source: Cardwell, Savage and Anderson, "Modeling TCP Latency", 2000, without the time of single repairs; RFC 9438 section 5.1 and Mathis
/// et al. 1997 for the rate under loss; RFC 9293, 8446, 9000 for handshakes.
#[must_use]
pub fn file_transfer_time(parameters: &FileTransferParameters) -> Option<FileTransferTime> {
    let shape = parameters.shape()?;
    if !(0.0..1.0).contains(&parameters.loss) {
        return None;
    }
    let steady = parameters.bounds(&shape).binding()?.clone();
    let SlowStart { rounds, rest_s, .. } = slow_start(
        parameters.bytes,
        shape.content,
        parameters.rtt,
        steady.rate,
        shape.initial,
    )?;
    let round_s = parameters.rtt.as_secs_f64();
    let handshake_s = f64::from(shape.handshake_rounds) * round_s;
    let waiting_s = handshake_s + f64::from(rounds + 1) * round_s;
    Some(FileTransferTime {
        handshake_s,
        slow_start_rounds: rounds,
        steady_s: rest_s,
        answer_s: round_s,
        total_s: waiting_s + rest_s,
        factor: if waiting_s > rest_s {
            LimitingFactor::SlowStart
        } else {
            steady.factor
        },
        steady,
    })
}

/// Predicts the time of a file transfer and its goodput. Empty where nothing can be sent.
#[must_use]
pub fn predict_file_transfer(parameters: &FileTransferParameters) -> Vec<Prediction> {
    let Some(found) = file_transfer_time(parameters) else {
        return Vec::new();
    };
    let name = name_of(parameters.protocol);
    let goodput = parameters.bytes.as_f64() * 8.0 / found.total_s.max(f64::MIN_POSITIVE);
    let tolerance = match found.factor {
        LimitingFactor::Loss => Tolerance::FACTOR_TWO,
        _ => Tolerance::TIME,
    };
    let finish = |prediction: Prediction| {
        prediction
            .bound_by(found.factor.name())
            .assumes(ASSUMPTIONS)
            .source(SOURCE)
            .within(tolerance)
    };
    let seconds = Unit::Seconds;
    let duration = Prediction::new(
        "file_time",
        format!("file over {name}"),
        found.total_s,
        seconds,
    )
    .detail(format!("steady at {}", rate(found.steady.rate)))
    .step(format!("handshake: {}", seconds.show(found.handshake_s)))
    .step(format!(
        "slow start: {} × {}",
        found.slow_start_rounds,
        time(parameters.rtt)
    ))
    .step(format!(
        "the rest at {}: {}",
        found.steady.derivation,
        seconds.show(found.steady_s)
    ))
    .step(format!(
        "the last byte and its answer: {}",
        seconds.show(found.answer_s)
    ));
    let goodput = Prediction::new(
        "file_goodput",
        format!("goodput of a file over {name}"),
        goodput,
        Unit::BitPerSecond,
    );
    vec![finish(duration), finish(goodput)]
}

const ASSUMPTIONS: &str = "random independent losses, hosts that are never the limit, queues that hold slow start, nothing else on the link";
const SOURCE: &str =
    "Cardwell, Savage and Anderson 2000; RFC 9438 section 5.1; RFC 9293, 8446, 9000, 9002";

const fn name_of(protocol: FileProtocol) -> &'static str {
    match protocol {
        FileProtocol::Tcp => "TCP",
        FileProtocol::Tls => "TLS",
        FileProtocol::Rbt => "RBT",
        FileProtocol::Quic => "QUIC",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: [FileProtocol; 4] = [
        FileProtocol::Tcp,
        FileProtocol::Tls,
        FileProtocol::Rbt,
        FileProtocol::Quic,
    ];

    fn parameters(protocol: FileProtocol) -> FileTransferParameters {
        FileTransferParameters {
            protocol,
            bytes: ByteCount::new(100_000_000),
            rate: BitRate::from_bps(100_000_000),
            rtt: Duration::from_millis(50),
            loss: 0.0,
            packet: None,
            response: Some(LossResponse::Cubic),
            max_rate: None,
            framing: Framing::default(),
        }
    }

    fn steady(parameters: &FileTransferParameters) -> String {
        rate(file_transfer_time(parameters).unwrap().steady.rate)
    }

    #[test]
    fn the_link_carries_as_much_as_the_headers_leave() {
        let all = ALL.map(|protocol| steady(&parameters(protocol)));
        assert_eq!(
            all,
            [
                "94.15 Mbit/s",
                "94.02 Mbit/s",
                "94.41 Mbit/s",
                "92.84 Mbit/s"
            ]
        );
    }

    #[test]
    fn the_shares_of_rbt_by_packet_are_those_of_its_headers() {
        let shares = [100, 500, 1000, 1400].map(|packet| {
            let packet = Some(packet);
            steady(&FileTransferParameters {
                packet,
                ..parameters(FileProtocol::Rbt)
            })
        });
        assert_eq!(
            shares,
            [
                "53.76 Mbit/s",
                "85.32 Mbit/s",
                "92.08 Mbit/s",
                "94.21 Mbit/s"
            ]
        );
    }

    #[test]
    fn writes_of_100_bytes_without_nagle_are_segments_of_their_own() {
        let small = |protocol| {
            let packet = Some(100);
            steady(&FileTransferParameters {
                packet,
                ..parameters(protocol)
            })
        };
        // 100 of 190 bytes of wire time, and 100 of 212.
        assert_eq!(small(FileProtocol::Tcp), "52.63 Mbit/s");
        assert_eq!(small(FileProtocol::Tls), "47.17 Mbit/s");
    }

    #[test]
    fn a_handshake_takes_one_round_trip_and_that_of_tls_two() {
        let handshakes = ALL.map(|protocol| {
            let found = file_transfer_time(&parameters(protocol)).unwrap();
            (found.handshake_s * 1e3).round() as u32
        });
        assert_eq!(handshakes, [50, 100, 50, 50]);
    }

    #[test]
    fn a_small_file_is_slow_start_and_round_trips() {
        let small = FileTransferParameters {
            bytes: ByteCount::new(100_000),
            ..parameters(FileProtocol::Tcp)
        };
        let found = file_transfer_time(&small).unwrap();
        // 10 and 20 segments, then 40 of the remaining 39.06.
        assert_eq!(
            (found.slow_start_rounds, found.factor),
            (2, LimitingFactor::SlowStart)
        );
        let rest = (100_000.0 - 30.0 * 1448.0) * 8.0 / found.steady.rate.as_f64();
        assert!(
            (found.total_s - (0.05 * 4.0 + rest)).abs() < 1e-9,
            "{found:?}"
        );
    }

    #[test]
    fn loss_holds_cubic_back_and_not_a_control_without_a_response_to_it() {
        let lossy = FileTransferParameters {
            loss: 0.01,
            ..parameters(FileProtocol::Rbt)
        };
        let cubic = file_transfer_time(&lossy).unwrap();
        assert_eq!(cubic.factor, LimitingFactor::Loss);
        let bbr = file_transfer_time(&FileTransferParameters {
            response: None,
            ..lossy
        })
        .unwrap();
        assert_eq!(bbr.factor, LimitingFactor::Wire);
        assert!(cubic.total_s > 5.0 * bbr.total_s);
        assert_eq!(rate(bbr.steady.rate), "93.46 Mbit/s");
    }

    #[test]
    fn a_rate_that_was_asked_for_is_kept() {
        let slow = FileTransferParameters {
            max_rate: Some(BitRate::from_bps(10_000_000)),
            ..parameters(FileProtocol::Quic)
        };
        let found = file_transfer_time(&slow).unwrap();
        assert_eq!(found.factor, LimitingFactor::Requested);
        assert!((80.0..80.3).contains(&found.total_s), "{found:?}");
        let names: Vec<String> = predict_file_transfer(&slow)
            .into_iter()
            .map(|one| one.name)
            .collect();
        assert_eq!(names, ["file_time", "file_goodput"]);
    }

    #[test]
    fn what_cannot_be_sent_is_not_predicted() {
        let usual = parameters(FileProtocol::Rbt);
        let narrow = Framing {
            mtu: 40,
            ..Framing::default()
        };
        for wrong in [
            FileTransferParameters { loss: 1.0, ..usual },
            FileTransferParameters {
                loss: f64::NAN,
                ..usual
            },
            FileTransferParameters {
                rate: BitRate::ZERO,
                ..usual
            },
            FileTransferParameters {
                packet: Some(0),
                ..usual
            },
            FileTransferParameters {
                framing: narrow,
                ..usual
            },
        ] {
            assert_eq!(file_transfer_time(&wrong), None, "{wrong:?}");
            assert!(predict_file_transfer(&wrong).is_empty());
        }
    }

    proptest! {
        #[test]
        fn more_bytes_loss_or_distance_never_take_less_time(
            protocol in prop::sample::select(&ALL[..]), bytes in 0_u64..1 << 40, more in 0_u64..1 << 40,
            loss in 0.0..0.3_f64, worse in 0.0..0.3_f64, ms in 1_u64..500, later in 0_u64..500,
        ) {
            let total = |bytes, loss, ms| file_transfer_time(&FileTransferParameters {
                bytes: ByteCount::new(bytes), loss, rtt: Duration::from_millis(ms), ..parameters(protocol)
            }).unwrap().total_s;
            let one = total(bytes, loss, ms) * (1.0 - 1e-9);
            prop_assert!(total(bytes + more, loss, ms) >= one);
            prop_assert!(total(bytes, loss, ms + later) >= one);
            // A lower steady rate ends slow start earlier, by up to a round or so.
            prop_assert!(total(bytes, loss + worse, ms) >= one - 3.0 * ms as f64 / 1e3);
        }
    }
}
