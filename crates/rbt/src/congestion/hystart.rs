//! HyStart++: leaving slow start when the round-trip time grows, before packets are lost.
//!
//! Source: RFC 9406.

use super::controller::AckedPackets;
use super::window::NOMINAL_DATAGRAM_BYTES;

/// Minimum growth of the round-trip time that counts (`MIN_RTT_THRESH`).
const MIN_RTT_THRESHOLD_NS: u64 = 4_000_000;
/// The growth of the round-trip time that always counts (`MAX_RTT_THRESH`).
const MAX_RTT_THRESHOLD_NS: u64 = 16_000_000;
/// Growth of the round-trip time that counts, as a fraction of it (`MIN_RTT_DIVISOR`).
const RTT_DIVISOR: u64 = 8;
/// Minimum samples of a round (`N_RTT_SAMPLE`).
const MIN_SAMPLES: u64 = 8;
/// The divisor of growth in conservative slow start (`CSS_GROWTH_DIVISOR`).
const CONSERVATIVE_DIVISOR: u64 = 4;
/// Rounds of conservative slow start (`CSS_ROUNDS`).
const CONSERVATIVE_ROUNDS: u32 = 5;

/// What HyStart++ makes of slow start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SlowStartPhase {
    /// The window grows by what is acknowledged.
    Standard,
    /// The round-trip time has grown: the window grows by a fraction while that is confirmed.
    Conservative,
    /// The growth of the round-trip time was confirmed: slow start is over.
    Over,
}

impl SlowStartPhase {
    /// The growth of the window for `bytes` acknowledged.
    pub fn growth(self, bytes: u64) -> u64 {
        match self {
            Self::Standard => bytes,
            Self::Conservative => bytes / CONSERVATIVE_DIVISOR,
            Self::Over => 0,
        }
    }
}

/// Conservative slow start.
#[derive(Debug, Clone, Copy)]
struct ConservativePhase {
    /// The round-trip time at which it began, ns: below it, slow start resumes.
    baseline_ns: u64,
    /// Rounds it has lasted.
    rounds: u32,
}

/// The rounds of slow start and the minimum round-trip time of each.
#[derive(Debug, Clone, Default)]
pub(super) struct HyStartRounds {
    /// The acknowledgement of this packet ends the round.
    end_pn: Option<u64>,
    last_min_ns: Option<u64>,
    current_min_ns: Option<u64>,
    samples: u64,
    conservative: Option<ConservativePhase>,
    is_over: bool,
}

impl HyStartRounds {
    /// Takes the samples of an acknowledgement.
    pub fn on_acked(&mut self, acked: &AckedPackets) -> SlowStartPhase {
        if self.end_pn.is_none_or(|end| acked.newest_pn >= end) {
            self.begin_round(acked.next_pn);
        }
        if let Some(rtt) = acked.rtt_ns {
            self.add_sample(rtt, acked.bytes);
        }
        self.phase()
    }

    fn begin_round(&mut self, next_pn: u64) {
        self.end_pn = Some(next_pn);
        self.last_min_ns = self.current_min_ns.take();
        self.samples = 0;
        if let Some(conservative) = &mut self.conservative {
            conservative.rounds += 1;
            self.is_over |= conservative.rounds >= CONSERVATIVE_ROUNDS;
        }
    }

    /// An acknowledgement of many packets counts for as many samples as TCP acknowledgements, one for every second segment, would
    /// have given: otherwise a round would end before it is judged.
    fn add_sample(&mut self, rtt_ns: u64, bytes: u64) {
        self.current_min_ns = Some(self.current_min_ns.map_or(rtt_ns, |min| min.min(rtt_ns)));
        let equivalent = bytes / (2 * NOMINAL_DATAGRAM_BYTES);
        self.samples = self.samples.saturating_add(equivalent.max(1));
        if self.samples < MIN_SAMPLES {
            return;
        }
        let Some(current) = self.current_min_ns else {
            return;
        };
        match self.conservative {
            None => self.compare_with_last_round(current),
            Some(conservative) if current < conservative.baseline_ns => self.conservative = None,
            Some(_) => {}
        }
    }

    fn compare_with_last_round(&mut self, current_ns: u64) {
        let Some(last) = self.last_min_ns else {
            return;
        };
        let threshold = (last / RTT_DIVISOR).clamp(MIN_RTT_THRESHOLD_NS, MAX_RTT_THRESHOLD_NS);
        if current_ns >= last.saturating_add(threshold) {
            self.conservative = Some(ConservativePhase {
                baseline_ns: current_ns,
                rounds: 0,
            });
        }
    }

    fn phase(&self) -> SlowStartPhase {
        if self.is_over {
            SlowStartPhase::Over
        } else if self.conservative.is_some() {
            SlowStartPhase::Conservative
        } else {
            SlowStartPhase::Standard
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::controller::sample_ack;

    /// Rounds of ten packets, each of which is acknowledged after the round-trip time of the round in ms.
    fn phases(rounds: &[u64]) -> Vec<SlowStartPhase> {
        let mut hystart = HyStartRounds::default();
        let mut pn = 0;
        let mut phases = Vec::new();
        for (round, rtt_ms) in (1..).zip(rounds) {
            let next_pn = round * 10;
            let mut phase = SlowStartPhase::Standard;
            for _ in 0..10 {
                phase = hystart.on_acked(&AckedPackets {
                    newest_pn: pn,
                    next_pn: next_pn.max(pn + 1),
                    rtt_ns: Some(rtt_ms * 1_000_000),
                    ..sample_ack(0, 1448)
                });
                pn += 1;
            }
            phases.push(phase);
        }
        phases
    }

    #[test]
    fn a_constant_round_trip_time_never_ends_slow_start() {
        assert_eq!(phases(&[50; 12]), [SlowStartPhase::Standard; 12]);
    }

    #[test]
    fn growth_of_an_eighth_is_confirmed_for_five_rounds_and_ends_slow_start() {
        use SlowStartPhase::{Conservative, Over, Standard};
        let seen = phases(&[50, 50, 57, 57, 57, 57, 57, 57]);
        let due = [
            Standard,
            Standard,
            Conservative,
            Conservative,
            Conservative,
            Conservative,
            Conservative,
            Over,
        ];
        assert_eq!(seen, due);
    }

    #[test]
    fn growth_that_passes_resumes_slow_start() {
        use SlowStartPhase::{Conservative, Standard};
        let seen = phases(&[50, 57, 55, 55]);
        assert_eq!(seen, [Standard, Conservative, Standard, Standard]);
    }

    #[test]
    fn growth_below_four_milliseconds_is_noise() {
        assert_eq!(phases(&[1, 4, 7, 10]), [SlowStartPhase::Standard; 4]);
    }

    #[test]
    fn a_few_acknowledgements_of_many_packets_are_enough() {
        let mut hystart = HyStartRounds::default();
        let mut last = SlowStartPhase::Standard;
        for (pn, rtt_ms) in [(63, 50), (127, 60), (191, 60)] {
            last = hystart.on_acked(&AckedPackets {
                newest_pn: pn,
                next_pn: pn + 1,
                rtt_ns: Some(rtt_ms * 1_000_000),
                ..sample_ack(0, 64 * 1448)
            });
        }
        assert_eq!(last, SlowStartPhase::Conservative);
    }
}
