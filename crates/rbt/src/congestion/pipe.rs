//! A bottleneck in virtual time and a sender of endless content, for the tests of controllers.

use super::controller::{AckedPackets, CongestionController, LostPackets, SentPackets};
use super::pacer::DatagramPacer;
use super::rate::{DeliveryRate, RateStamp};
use super::rtt::RoundTripTime;
use super::window::NS_PER_S;
use caudal_stats::random::SplitMix64;
use std::collections::VecDeque;

const PACKET_BYTES: u32 = 1400;
const DATAGRAM: u64 = 1420;
const BATCH: u64 = 46 * DATAGRAM;

/// A path with one bottleneck.
#[derive(Debug, Clone, Copy)]
pub(super) struct TestPipe {
    pub bytes_per_s: u64,
    pub rtt_ns: u64,
    pub queue_bytes: u64,
    /// Packets lost at random, of a million.
    pub loss_ppm: u64,
    /// The time for which the receiver gathers packets before it acknowledges them.
    pub ack_delay_ns: u64,
    pub seed: u64,
}

impl TestPipe {
    /// 100 Mbit/s with 50 ms, a queue of one bandwidth-delay product and no random loss.
    pub const LONG: Self = Self {
        bytes_per_s: 12_500_000,
        rtt_ns: 50_000_000,
        queue_bytes: 625_000,
        loss_ppm: 0,
        ack_delay_ns: 0,
        seed: 1,
    };

    pub fn bdp(&self) -> u64 {
        (u128::from(self.bytes_per_s) * u128::from(self.rtt_ns) / u128::from(NS_PER_S)) as u64
    }
}

/// What a run showed, from its given beginning on.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PipeOutcome {
    pub delivered: u64,
    pub sent: u64,
    pub lost: u64,
    /// The mean of the bytes in flight, weighted by time, and their maximum.
    pub mean_in_flight: u64,
    pub max_in_flight: u64,
    pub min_window: u64,
}

impl PipeOutcome {
    /// The part of the pipe's capacity that was delivered in `ns`.
    pub fn share(&self, pipe: &TestPipe, ns: u64) -> f64 {
        self.delivered as f64 / (pipe.bytes_per_s as f64 * ns as f64 / 1e9)
    }
}

struct Flying {
    pn: u64,
    sent_ns: u64,
    stamp: RateStamp,
    /// When its acknowledgement arrives; `None` when it is lost.
    acked_ns: Option<u64>,
}

/// A run of a controller over a pipe.
pub(super) struct PipeRun<C> {
    pub controller: C,
    pub pipe: TestPipe,
    rng: SplitMix64,
    pacer: DatagramPacer,
    rate: DeliveryRate,
    rtt: RoundTripTime,
    flying: VecDeque<Flying>,
    pub now_ns: u64,
    link_free_ns: u64,
    next_pn: u64,
    is_window_limited: bool,
    outcome: PipeOutcome,
    in_flight_ns: u128,
}

impl<C: CongestionController> PipeRun<C> {
    pub fn new(controller: C, pipe: TestPipe) -> Self {
        Self {
            controller,
            pipe,
            rng: SplitMix64::new(pipe.seed),
            pacer: DatagramPacer::new(PACKET_BYTES, BATCH),
            rate: DeliveryRate::new(),
            rtt: RoundTripTime::new(),
            flying: VecDeque::new(),
            now_ns: 0,
            link_free_ns: 0,
            next_pn: 0,
            is_window_limited: false,
            outcome: PipeOutcome::default(),
            in_flight_ns: 0,
        }
    }

    /// Runs for `ns` and reports on this time.
    pub fn run(&mut self, ns: u64) -> PipeOutcome {
        let start = self.now_ns;
        self.in_flight_ns = 0;
        self.outcome = PipeOutcome {
            min_window: u64::MAX,
            ..PipeOutcome::default()
        };
        while self.now_ns < start + ns {
            let pacing_ns = self.send();
            let ack_ns = self
                .flying
                .iter()
                .find_map(|packet| packet.acked_ns)
                .map(|arrival| arrival + self.pipe.ack_delay_ns);
            let probe_ns = self
                .flying
                .back()
                .map(|packet| packet.sent_ns + self.rtt.probe_timeout_ns(1_000_000, 25_000_000));
            let next = ack_ns
                .or(probe_ns)
                .into_iter()
                .chain(pacing_ns)
                .min()
                .expect("packets are in flight or wait for the pacer");
            let elapsed = next.saturating_sub(self.now_ns);
            self.in_flight_ns += u128::from(self.in_flight()) * u128::from(elapsed);
            self.now_ns = self.now_ns.max(next);
            if ack_ns.is_some_and(|ack| ack <= self.now_ns) {
                self.receive();
            } else if ack_ns.is_none() && probe_ns.is_some_and(|probe| probe <= self.now_ns) {
                let all = self.flying.len();
                self.lose(all, true);
            }
        }
        self.outcome.mean_in_flight = (self.in_flight_ns / u128::from(self.now_ns - start)) as u64;
        self.outcome
    }

    pub fn in_flight(&self) -> u64 {
        self.flying.len() as u64 * DATAGRAM
    }

    /// Sends what window and pacer allow; the time when the pacer allows more, if it is the pacer that does not.
    fn send(&mut self) -> Option<u64> {
        loop {
            let window = self.controller.window();
            self.outcome.min_window = self.outcome.min_window.min(window);
            if self.in_flight() + DATAGRAM > window {
                self.is_window_limited = true;
                return None;
            }
            let room = (window - self.in_flight()).min(BATCH);
            let rate = self.controller.pacing_rate();
            let allowed = self.pacer.allowance(self.now_ns, rate, room) / DATAGRAM;
            if allowed == 0 {
                return self.pacer.next_ns(room);
            }
            self.controller.on_sent(&SentPackets {
                now_ns: self.now_ns,
                bytes: allowed * DATAGRAM,
                in_flight: self.in_flight(),
            });
            self.pacer.on_sent(allowed * DATAGRAM);
            for _ in 0..allowed {
                self.send_packet();
            }
            let in_flight = self.in_flight();
            self.outcome.max_in_flight = self.outcome.max_in_flight.max(in_flight);
        }
    }

    fn send_packet(&mut self) {
        let stamp = self.rate.on_sent(self.now_ns, self.in_flight());
        let queued_ns = self.link_free_ns.saturating_sub(self.now_ns);
        let queued =
            u128::from(queued_ns) * u128::from(self.pipe.bytes_per_s) / u128::from(NS_PER_S);
        let is_full = queued > u128::from(self.pipe.queue_bytes);
        let is_lost = is_full || self.rng.below(1_000_000) < self.pipe.loss_ppm;
        let acked_ns = (!is_lost).then(|| {
            let serialization = DATAGRAM * NS_PER_S / self.pipe.bytes_per_s;
            self.link_free_ns = self.link_free_ns.max(self.now_ns) + serialization;
            self.link_free_ns + self.pipe.rtt_ns
        });
        self.outcome.sent += DATAGRAM;
        self.flying.push_back(Flying {
            pn: self.next_pn,
            sent_ns: self.now_ns,
            stamp,
            acked_ns,
        });
        self.next_pn += 1;
    }

    /// Takes an acknowledgement of all that has arrived; the path keeps the order, so a gap is a loss.
    fn receive(&mut self) {
        let now = self.now_ns;
        let is_acked = |packet: &Flying| packet.acked_ns.is_some_and(|at| at <= now);
        let newest = self.flying.iter().rposition(is_acked).expect("one arrived");
        let lost_before = self
            .flying
            .iter()
            .take(newest)
            .filter(|packet| packet.acked_ns.is_none())
            .map(|packet| (packet.pn, packet.sent_ns))
            .collect::<Vec<_>>();
        let arrived: Vec<Flying> = self.flying.drain(..=newest).filter(is_acked).collect();
        for packet in &arrived {
            self.rate
                .on_acked(now, DATAGRAM, packet.sent_ns, &packet.stamp);
        }
        let last = arrived.last().expect("one arrived");
        self.rtt
            .add_sample(now - last.sent_ns, self.pipe.ack_delay_ns);
        if let Some(&(newest_pn, newest_sent_ns)) = lost_before.last() {
            self.outcome.lost += lost_before.len() as u64 * DATAGRAM;
            self.controller.on_lost(&LostPackets {
                now_ns: now,
                bytes: lost_before.len() as u64 * DATAGRAM,
                newest_sent_ns,
                newest_pn,
                in_flight: self.in_flight(),
                is_persistent: false,
            });
        }
        let bytes = arrived.len() as u64 * DATAGRAM;
        self.outcome.delivered += bytes;
        let min_rtt = self.rtt.min_ns().unwrap_or_default();
        self.controller.on_acked(&AckedPackets {
            now_ns: now,
            bytes,
            newest_sent_ns: last.sent_ns,
            newest_pn: last.pn,
            next_pn: self.next_pn,
            rtt_ns: Some(now - last.sent_ns),
            smoothed_rtt_ns: self.rtt.smoothed_ns().unwrap_or_default(),
            min_rtt_ns: min_rtt,
            in_flight: self.in_flight(),
            rate: self.rate.sample(min_rtt),
            is_window_limited: std::mem::take(&mut self.is_window_limited),
            marked: 0,
        });
    }

    /// Declares the first `count` packets in flight lost.
    fn lose(&mut self, count: usize, is_persistent: bool) {
        let lost: Vec<Flying> = self.flying.drain(..count).collect();
        let newest = lost.last().expect("something was in flight");
        self.outcome.lost += count as u64 * DATAGRAM;
        self.controller.on_lost(&LostPackets {
            now_ns: self.now_ns,
            bytes: count as u64 * DATAGRAM,
            newest_sent_ns: newest.sent_ns,
            newest_pn: newest.pn,
            in_flight: self.in_flight(),
            is_persistent,
        });
    }
}
