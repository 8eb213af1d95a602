//! One direction of a path: stages of the crate link, a maximum size that may shrink, and outages.

use caudal_core::units::BitRate;
use caudal_link::corruption::{Corruption, Damage, ErrorRate};
use caudal_link::delay::Delay;
use caudal_link::duplication::Duplication;
use caudal_link::frame::{CHECK_SEQUENCE_BYTES, Frame, HEADER_BYTES};
use caudal_link::jitter::{DelaySampler, Jitter};
use caudal_link::loss::{FrameLoss, GilbertElliott, LossModel};
use caudal_link::pipeline::Pipeline;
use caudal_link::probability::Probability;
use caudal_link::queue::Queue;
use caudal_link::random::Rng;
use caudal_link::rate::RateTrace;
use caudal_link::reordering::Reordering;
use caudal_link::serialiser::Serialiser;
use caudal_link::stage::{Stage, TimedFrame};
use caudal_link::time::SimTime;
use caudal_topology::{FrameOrder, QueueLimit};
use std::ops::Range;
use std::time::Duration;

/// The headers of UDP and IPv4, which a frame carries in front of a datagram.
const UDP_IPV4_BYTES: u32 = 28;

/// Frames that are held back until others have passed.
#[derive(Debug, Clone, Copy)]
pub struct HeldBack {
    pub fraction: f64,
    pub extent: u64,
    pub max_hold_ns: u64,
}

/// What one direction does to datagrams.
#[derive(Debug, Clone)]
pub struct PathTerms {
    pub bits_per_s: u64,
    pub queue_frames: u64,
    pub delay_ns: u64,
    /// The maximum of an additional delay that is drawn for each frame, so that frames overtake one another.
    pub jitter_ns: u64,
    pub loss: f64,
    /// The mean length of bursts of loss, and the fraction of frames in them.
    pub bursts: Option<(f64, f64)>,
    pub held_back: Option<HeldBack>,
    pub duplicated: f64,
    pub bit_errors: f64,
    /// From a time on, the largest datagram that passes.
    pub mtu: Option<(u64, usize)>,
    /// Nothing passes in these times.
    pub outages: Vec<Range<u64>>,
}

impl PathTerms {
    /// A path that loses nothing: a rate, half a round trip, and a queue of 1000 frames.
    pub const fn clean(bits_per_s: u64, delay_ns: u64) -> Self {
        Self {
            bits_per_s,
            queue_frames: 1000,
            delay_ns,
            jitter_ns: 0,
            loss: 0.0,
            bursts: None,
            held_back: None,
            duplicated: 0.0,
            bit_errors: 0.0,
            mtu: None,
            outages: Vec::new(),
        }
    }

    fn pipeline(&self, seed: u64, stream: u64) -> Pipeline {
        let probability = |fraction| Probability::new(fraction).unwrap();
        let rng = |stage: u64| Rng::new(seed, stream * 16 + stage);
        let rate = RateTrace::constant(BitRate::from_bps(self.bits_per_s)).unwrap();
        let queue = Queue::drop_tail(QueueLimit::Frames(self.queue_frames));
        let mut pipeline = Pipeline::new().then(Serialiser::new(rate, queue));
        if self.loss > 0.0 {
            let model = LossModel::Independent(probability(self.loss));
            pipeline = pipeline.then(FrameLoss::new(model, rng(1)));
        }
        if let Some((mean, fraction)) = self.bursts {
            let channel = GilbertElliott {
                good_to_bad: probability(fraction / (1.0 - fraction) / mean),
                bad_to_good: probability(1.0 / mean),
                loss_in_good: Probability::NEVER,
                loss_in_bad: Probability::ALWAYS,
            };
            pipeline = pipeline.then(FrameLoss::new(LossModel::Bursts(channel), rng(2)));
        }
        if self.bit_errors > 0.0 {
            let errors = ErrorRate::PerBit(probability(self.bit_errors));
            for stage in [3, 4] {
                pipeline = pipeline.then(Corruption::new(errors, Damage::Silent, rng(stage)));
            }
        }
        if self.duplicated > 0.0 {
            pipeline = pipeline.then(Duplication::new(probability(self.duplicated), rng(5)));
        }
        if let Some(held) = self.held_back {
            pipeline = pipeline.then(Reordering::new(
                probability(held.fraction),
                held.extent,
                Duration::from_nanos(held.max_hold_ns),
                rng(6),
            ));
        }
        pipeline = pipeline.then(Delay::new(Duration::from_nanos(self.delay_ns)));
        if self.jitter_ns > 0 {
            let delays =
                DelaySampler::uniform(Duration::ZERO, Duration::from_nanos(self.jitter_ns));
            pipeline = pipeline.then(Jitter::new(delays, FrameOrder::Free, rng(7)));
        }
        pipeline
    }
}

/// One direction of a path in virtual time.
#[derive(Debug)]
pub struct DatagramPath {
    terms: PathTerms,
    pipeline: Pipeline,
    /// Where frames of a datagram are put together.
    content: Vec<u8>,
    arrived: Vec<TimedFrame>,
    /// Datagrams that arrived with flipped bits.
    pub damaged: u64,
    /// Datagrams offered.
    pub offered: u64,
    /// Datagrams that arrived.
    pub delivered: u64,
}

impl DatagramPath {
    /// An idle path; `stream` tells the random numbers of paths of one seed apart.
    pub fn new(terms: &PathTerms, seed: u64, stream: u64) -> Self {
        Self {
            pipeline: terms.pipeline(seed, stream),
            terms: terms.clone(),
            content: Vec::new(),
            arrived: Vec::new(),
            damaged: 0,
            offered: 0,
            delivered: 0,
        }
    }

    /// Sends a datagram, which carries the number of an address along.
    pub fn send(&mut self, now_ns: u64, datagram: &[u8], address: u64) {
        self.offered += 1;
        let is_out = self.terms.outages.iter().any(|out| out.contains(&now_ns));
        let is_too_large = self
            .terms
            .mtu
            .is_some_and(|(from_ns, bytes)| now_ns >= from_ns && datagram.len() > bytes);
        if is_out || is_too_large {
            return;
        }
        self.content.clear();
        self.content.resize(HEADER_BYTES as usize, 0);
        self.content.extend_from_slice(datagram);
        let length = HEADER_BYTES + UDP_IPV4_BYTES + datagram.len() as u32 + CHECK_SEQUENCE_BYTES;
        let frame = Frame::with_length(self.offered, length)
            .with_content(&self.content)
            .with_flow(address);
        self.pipeline
            .offer(SimTime::from_ns(now_ns), frame, &mut self.arrived);
    }

    /// The time of the next arrival, or of anything else inside, ns.
    pub fn next_ns(&self) -> Option<u64> {
        if !self.arrived.is_empty() {
            return Some(0);
        }
        self.pipeline.next_event().map(SimTime::as_ns)
    }

    /// Moves the datagrams that have arrived by `now_ns` into `out`, each with its address.
    pub fn take_arrived(&mut self, now_ns: u64, out: &mut Vec<(Vec<u8>, u64)>) {
        self.pipeline
            .advance(SimTime::from_ns(now_ns), &mut self.arrived);
        for TimedFrame { frame, .. } in self.arrived.drain(..) {
            self.delivered += 1;
            self.damaged += u64::from(frame.corrupted);
            let content = frame.bytes().unwrap_or_default();
            out.push((content[HEADER_BYTES as usize..].to_vec(), frame.flow));
        }
    }
}
