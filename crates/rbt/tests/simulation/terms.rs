//! What a simulated session is like: its configuration, its path, and what happens to it.

use crate::path::{HeldBack, PathTerms};
use caudal_rbt::{Arq, RbtCongestion, TransferConfig};
use caudal_stats::random::SplitMix64;

const MS: u64 = 1_000_000;
/// The limit of what a random session carries, so that many of them can be run.
const MAX_RANDOM_BYTES: u64 = 150_000;
/// The same in packets.
const MAX_RANDOM_BLOCKS: u64 = 400;

/// Something that happens at one end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Incident {
    /// The sender stops existing; a new session resumes.
    SenderDies,
    /// The receiver stops existing; a new session resumes.
    ReceiverDies,
    /// The receiver is replaced by one that has the same session and remembers nothing.
    ReceiverForgets,
    /// The sender's address changes, and the receiver answers to where it hears it from.
    SenderMoves,
    /// The sender's address changes, and the receiver answers to the old one.
    SenderIsCutOff,
    /// The program around the sender stops the session.
    SenderStops,
    /// The program around the receiver stops the session.
    ReceiverStops,
}

/// What a simulated session is like.
#[derive(Debug, Clone)]
pub struct SessionTerms {
    pub seed: u64,
    pub config: TransferConfig,
    pub total: u64,
    /// The congestion controller, and the rate of `fixed` in bits a second.
    pub control: (&'static str, u64),
    pub budget: u64,
    pub there: PathTerms,
    pub back: PathTerms,
    /// The end that proposes the session in-band, `true` for the sender; `None` without a handshake.
    pub handshake: Option<bool>,
    /// Whether the initiator holds a token.
    pub has_token: bool,
    pub incident: Option<(u64, Incident)>,
    pub source_bytes_per_s: Option<u64>,
    pub sink_bytes_per_s: Option<u64>,
    pub sink_stalled_until_ns: u64,
    /// How long the receiver's digest takes, ns.
    pub verify_ns: u64,
    /// The most datagrams that leave in a batch.
    pub batch: usize,
    /// Both ends wake up at multiples of this only, ns.
    pub clock_ns: u64,
    /// `true` when the receiver is told that nothing more has arrived for now.
    pub is_idle_told: bool,
    /// `true` when the source has another digest than it says.
    pub is_digest_wrong: bool,
}

impl SessionTerms {
    /// A session of `total` bytes over the same path both ways, with nothing in its way.
    pub fn plain(total: u64, packet_bytes: u32, path: &PathTerms) -> Self {
        Self {
            seed: 1,
            config: TransferConfig {
                session: 77,
                packet_bytes,
                total_bytes: Some(total),
                max_ack_delay_ns: MS,
                seed: 1,
                ..TransferConfig::default()
            },
            total,
            control: ("cubic", 0),
            budget: 4 << 20,
            there: path.clone(),
            back: path.clone(),
            handshake: None,
            has_token: false,
            incident: None,
            source_bytes_per_s: None,
            sink_bytes_per_s: None,
            sink_stalled_until_ns: 0,
            verify_ns: 0,
            batch: 64,
            clock_ns: 1,
            is_idle_told: false,
            is_digest_wrong: false,
        }
    }

    /// The congestion controller.
    pub fn controller(&self) -> RbtCongestion {
        let (name, rate) = self.control;
        RbtCongestion::from_name(name, self.config.packet_bytes, Some(rate.max(8)), self.seed)
            .unwrap()
    }

    /// Whether something stands in the way of completion for good, or may: half of all datagrams lost, say.
    pub fn is_hopeless(&self) -> bool {
        self.is_obstructed() || self.is_lossy()
    }

    /// Whether something else than loss stands in the way.
    pub fn is_obstructed(&self) -> bool {
        let has_shrunk = self.there.mtu.is_some() || self.back.mtu.is_some();
        // Who moves before the session is set up cannot be reached.
        let is_ended = self.incident.is_some_and(|(_, incident)| {
            incident != Incident::SenderMoves || self.handshake == Some(false)
        });
        // A queue that is always full may drop the one block that go-back-n waits for, every time.
        let is_overloaded =
            self.config.arq == Arq::GoBackN && self.control.1 > self.there.bits_per_s;
        has_shrunk || is_ended || self.is_digest_wrong || is_overloaded
    }

    /// Whether loss may look like a peer that is gone.
    fn is_lossy(&self) -> bool {
        [&self.there, &self.back].into_iter().any(|path| {
            // A frame of a few hundred bytes at least: damaged as often as that.
            let datagram = f64::from(self.config.packet_bytes.max(500)) * 8.0 * 2.0;
            let bursts = path.bursts.map_or(
                0.0,
                |(mean, fraction)| if mean > 2.0 { 1.0 } else { fraction },
            );
            path.loss + bursts + path.bit_errors * datagram > 0.2
        })
    }

    /// A random session.
    pub fn random(seed: u64) -> Self {
        let mut draw = Draw(SplitMix64::new(seed));
        let arq = draw.of(&[
            Arq::Sack,
            Arq::Sack,
            Arq::Sack,
            Arq::NakBitmap,
            Arq::GoBackN,
            Arq::StopAndWait,
        ]);
        let packet_bytes = draw.packet_bytes();
        let total = draw.total(packet_bytes, arq);
        let mut terms = Self::plain(total, packet_bytes, &PathTerms::clean(8_000_000, MS));
        terms.seed = seed;
        terms.config = draw.config(&terms.config, arq);
        let rate = draw.between_log(64_000, 1_000_000_000) * 8;
        let delay_ns = draw.between_log(20_000, 150 * MS);
        terms.there = draw.path(rate, delay_ns);
        terms.back = draw.path(rate, delay_ns);
        if draw.one_in(4) {
            terms.back.loss = 0.5;
        }
        terms.control = draw.of(&[
            ("cubic", 0),
            ("cubic", 0),
            ("newreno", 0),
            ("bbr", 0),
            ("fixed", rate / 10 * 8),
            ("fixed", rate * 2),
        ]);
        terms.budget = draw.of(&[1000, 20_000, 212_992, 4 << 20]);
        draw.incidents(&mut terms);
        draw.ends(&mut terms);
        terms
    }
}

/// Random decisions.
struct Draw(SplitMix64);

impl Draw {
    fn one_in(&mut self, count: u64) -> bool {
        self.0.below(count) == 0
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.0.below(choices.len() as u64) as usize]
    }

    fn fraction(&mut self, max: f64) -> f64 {
        self.0.below(1 << 32) as f64 / (1_u64 << 32) as f64 * max
    }

    /// A number between two, small ones as often as large ones.
    fn between_log(&mut self, min: u64, max: u64) -> u64 {
        let ratio = max as f64 / min as f64;
        (min as f64 * ratio.powf(self.fraction(1.0))) as u64
    }

    fn packet_bytes(&mut self) -> u32 {
        match self.0.below(8) {
            0 => self.of(&[1, 2, 9000]),
            1..=3 => self.of(&[100, 500, 1000, 1400]),
            _ => self.between_log(1, 9000) as u32,
        }
    }

    fn total(&mut self, packet_bytes: u32, arq: Arq) -> u64 {
        let blocks = if arq == Arq::StopAndWait {
            20
        } else {
            MAX_RANDOM_BLOCKS
        };
        let max = (blocks * u64::from(packet_bytes)).min(MAX_RANDOM_BYTES);
        match self.0.below(12) {
            0 => 0,
            1 => 1,
            2 => u64::from(packet_bytes),
            3 => u64::from(packet_bytes) + 1,
            _ => self.0.below(max) + 1,
        }
    }

    fn config(&mut self, base: &TransferConfig, arq: Arq) -> TransferConfig {
        let total = base.total_bytes.unwrap_or_default();
        TransferConfig {
            session: self.0.next_u64() as u32,
            arq,
            total_bytes: (!self.one_in(4)).then_some(total),
            start_bytes: if self.one_in(4) {
                self.0.below(total + 1)
            } else {
                0
            },
            window_bytes: if self.one_in(3) {
                self.between_log(1, 200_000)
            } else {
                16 << 20
            },
            granularity_ns: self.of(&[50_000, MS, 10 * MS]),
            ack_packets: if arq == Arq::StopAndWait {
                1
            } else {
                self.of(&[1, 2, 10, 64])
            },
            max_ack_delay_ns: self.of(&[100_000, MS, 25 * MS]),
            first_pn: self.first_pn(),
            seed: self.0.next_u64(),
            ..base.clone()
        }
    }

    fn first_pn(&mut self) -> u64 {
        let near = self.0.below(400);
        match self.0.below(5) {
            0 => (1 << 32) - near,
            1 => (1 << 31) - near,
            2 => ((self.0.below(1 << 28) + 1) << 32) - near,
            3 => (1 << 62) - near,
            _ => self.0.below(1 << 32),
        }
    }

    fn path(&mut self, bits_per_s: u64, delay_ns: u64) -> PathTerms {
        let mut path = PathTerms::clean(bits_per_s, delay_ns);
        path.queue_frames = self.of(&[5, 50, 1000]);
        if self.one_in(2) {
            path.loss = self.fraction(0.3);
        }
        if self.one_in(6) {
            path.bursts = Some((self.between_log(2, 100) as f64, self.fraction(0.3)));
        }
        if self.one_in(4) {
            path.held_back = Some(HeldBack {
                fraction: self.fraction(0.25),
                extent: self.between_log(1, 100),
                max_hold_ns: self.between_log(10_000, delay_ns.max(10_001) * 2),
            });
        }
        if self.one_in(6) {
            path.jitter_ns = self.between_log(1000, delay_ns.max(1001) * 2);
        }
        if self.one_in(4) {
            path.duplicated = self.of(&[0.01, 0.3, 1.0]);
        }
        if self.one_in(4) {
            path.bit_errors = self.between_log(1, 1000) as f64 * 1e-6 / 8.0;
        }
        path
    }

    fn incidents(&mut self, terms: &mut SessionTerms) {
        // Within what a session of this size takes at least, or some round trips.
        let round_trip = 2 * terms.there.delay_ns;
        let carried = terms.total * 8_000_000_000 / terms.there.bits_per_s;
        let at_ns = self.0.below((carried + 10 * round_trip).max(1));
        match self.0.below(14) {
            0 => {
                let outage = at_ns..at_ns + 1000 * MS;
                terms.there.outages.push(outage.clone());
                terms.back.outages.push(outage);
            }
            1 => {
                let max = self.0.below(u64::from(terms.config.packet_bytes) + 40) as usize;
                terms.there.mtu = Some((at_ns, max));
            }
            2..=5 => {
                let incident = self.of(&[
                    Incident::SenderDies,
                    Incident::ReceiverDies,
                    Incident::ReceiverForgets,
                    Incident::SenderMoves,
                    Incident::SenderMoves,
                    Incident::SenderIsCutOff,
                    Incident::SenderStops,
                    Incident::ReceiverStops,
                ]);
                terms.incident = Some((at_ns, incident));
            }
            6 => terms.is_digest_wrong = true,
            _ => {}
        }
    }

    fn ends(&mut self, terms: &mut SessionTerms) {
        if self.one_in(4) {
            terms.handshake = Some(self.one_in(2));
            terms.has_token = self.one_in(2);
        }
        let some_seconds = (terms.total / 5).max(1);
        if self.one_in(5) || (terms.config.total_bytes.is_none() && self.one_in(2)) {
            terms.source_bytes_per_s = Some(self.between_log(some_seconds, some_seconds * 1000));
        }
        if self.one_in(5) {
            terms.sink_bytes_per_s = Some(self.between_log(some_seconds, some_seconds * 1000));
        }
        if self.one_in(10) {
            terms.sink_stalled_until_ns = self.0.below(10_000 * MS);
        }
        terms.verify_ns = self.of(&[0, 0, MS, 3000 * MS]);
        terms.batch = self.of(&[1, 10, 64, 128]);
        terms.is_idle_told = self.one_in(2);
        terms.clock_ns = self.of(&[1, 1, 50_000, MS, 4 * MS]);
    }
}
