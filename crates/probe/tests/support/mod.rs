//! Paths in virtual time, as far as probes notice them.
#![allow(dead_code, reason = "each test file uses a part")]

use caudal_probe::hop_capacity::{HopAnswer, HopReading, Priming, VpsSettings};
use caudal_stats::random::SplitMix64;

/// Random numbers of a few distributions.
pub struct Chance(SplitMix64);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }

    pub fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub fn happens(&mut self, probability: f64) -> bool {
        self.uniform() < probability
    }

    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.uniform()).ln()
    }
}

/// A device that forwards packets at a rate, bit/s.
#[derive(Clone, Copy)]
pub enum Device {
    /// A line with a queue before it. Cross traffic keeps it busy for this fraction of the time.
    Line { bps: f64, load: f64 },
    /// A token bucket of this size, bytes, full at first.
    Bucket { bps: f64, bytes: f64 },
}

pub fn line(mbps: f64) -> Device {
    Device::Line {
        bps: mbps * 1e6,
        load: 0.0,
    }
}

pub fn loaded_line(mbps: f64, load: f64) -> Device {
    Device::Line {
        bps: mbps * 1e6,
        load,
    }
}

pub fn bucket(mbps: f64, bytes: f64) -> Device {
    Device::Bucket {
        bps: mbps * 1e6,
        bytes,
    }
}

impl Device {
    /// The times at which packets (arrival ns, bytes) that find an idle device leave it, or one that is busy with cross traffic.
    pub fn forward(self, packets: &[(f64, f64)], chance: &mut Chance) -> Vec<(f64, f64)> {
        match self {
            Self::Line { bps, load } => {
                let ns_per_byte = 8e9 / bps;
                let service = 1538.0 * ns_per_byte;
                let mut free = packets[0].0;
                if chance.happens(load) {
                    free += chance.exponential(service / (1.0 - load));
                }
                let mut gap = || match load {
                    0.0 => f64::INFINITY,
                    _ => chance.exponential(service / load),
                };
                let mut next = packets[0].0 + gap();
                let serve = |(arrival, bytes): &(f64, f64)| {
                    while next <= *arrival {
                        free = free.max(next) + service;
                        next += gap();
                    }
                    free = free.max(*arrival) + bytes * ns_per_byte;
                    (free, *bytes)
                };
                packets.iter().map(serve).collect()
            }
            Self::Bucket { bps, bytes: size } => {
                let per_ns = bps / 8e9;
                let (mut tokens, mut at) = (size, packets[0].0);
                let serve = |(arrival, bytes): &(f64, f64)| {
                    let arrival = arrival.max(at);
                    tokens = (tokens + (arrival - at) * per_ns).min(size);
                    let wait = ((bytes - tokens) / per_ns).max(0.0);
                    tokens = tokens + wait * per_ns - bytes;
                    at = arrival + wait;
                    (at, *bytes)
                };
                packets.iter().map(serve).collect()
            }
        }
    }
}

/// One hop: the devices before it, all but the last without a hop of their own, and how its router answers.
#[derive(Clone)]
pub struct TestHop {
    pub devices: Vec<Device>,
    /// The part of the probes that are not answered: the limit of ICMP messages.
    pub unanswered: f64,
}

impl TestHop {
    pub fn of(devices: &[Device]) -> Self {
        Self {
            devices: devices.to_vec(),
            unanswered: 0.0,
        }
    }

    pub fn silent(devices: &[Device]) -> Self {
        Self {
            devices: devices.to_vec(),
            unanswered: 1.0,
        }
    }
}

/// A path with the noise of its readings.
#[derive(Clone)]
pub struct TestPath {
    pub hops: Vec<TestHop>,
    /// The mean of the exponential noise of hosts and routers, ns.
    pub noise_ns: f64,
    /// The step of the timestamps, ns.
    pub step_ns: f64,
    /// Whether routers quote what was sent, up to 576 bytes, or 28 bytes only.
    pub long_quotes: bool,
}

/// Bytes of framing on Ethernet.
const FRAMING: u32 = 38;
const ONE_WAY_NS: f64 = 200_000.0;

impl TestPath {
    pub fn of(hops: Vec<TestHop>) -> Self {
        Self {
            hops,
            noise_ns: 2000.0,
            step_ns: 1000.0,
            long_quotes: true,
        }
    }

    /// The answer to one probe.
    fn answer(
        &self,
        ttl: usize,
        bytes: u32,
        primers: u32,
        chance: &mut Chance,
    ) -> Option<HopAnswer> {
        if chance.happens(self.hops[ttl - 1].unanswered) {
            return None;
        }
        let primer = (0.0, f64::from(VpsSettings::default().primers.bytes));
        let mut packets = vec![primer; primers as usize];
        packets.push((0.0, f64::from(bytes)));
        for device in self.hops[..ttl].iter().flat_map(|hop| &hop.devices) {
            packets = device.forward(&packets, chance);
        }
        let quote = if self.long_quotes {
            (bytes - FRAMING + 28).min(576)
        } else {
            56
        };
        let mut reply = vec![(0.0, f64::from(quote + FRAMING))];
        for device in self.hops[..ttl].iter().flat_map(|hop| &hop.devices) {
            reply = device.forward(&reply, chance);
        }
        let there = packets[packets.len() - 1].0;
        let fixed = ttl as f64 * 2.0 * ONE_WAY_NS;
        let rtt = there + reply[0].0 + fixed + chance.exponential(self.noise_ns);
        let steps = (rtt / self.step_ns + chance.uniform()).floor();
        Some(HopAnswer {
            rtt_ns: (steps * self.step_ns) as u64,
            reply_bytes: quote + FRAMING,
        })
    }

    /// Readings of that many rounds of these sizes at every hop.
    pub fn readings(
        &self,
        sizes: &[u32],
        rounds: usize,
        priming: Priming,
        seed: u64,
    ) -> Vec<HopReading> {
        let mut chance = Chance::new(seed);
        let primers = match priming {
            Priming::Unprimed => 0,
            Priming::Primed => VpsSettings::default().primers.packets,
        };
        let mut readings = Vec::new();
        for _ in 0..rounds {
            for ttl in 1..=self.hops.len() {
                for &probe_bytes in sizes {
                    readings.push(HopReading {
                        ttl: ttl as u8,
                        probe_bytes,
                        priming,
                        answer: self.answer(ttl, probe_bytes, primers, &mut chance),
                    });
                }
            }
        }
        readings
    }

    /// Unprimed and primed readings.
    pub fn both(&self, rounds: usize, seed: u64) -> Vec<HopReading> {
        let mut readings = self.readings(&SIZES, rounds, Priming::Unprimed, seed);
        readings.extend(self.readings(&SIZES, rounds, Priming::Primed, !seed));
        readings
    }
}

/// Twelve sizes on the wire that are quoted alike.
pub const SIZES: [u32; 12] = [
    614, 698, 782, 866, 950, 1034, 1118, 1202, 1286, 1370, 1454, 1538,
];
