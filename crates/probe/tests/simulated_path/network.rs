//! A path of routers in virtual time.

use caudal_probe::hop_capacity::Priming;
use caudal_probe::prober::{
    AnswerKind, ChannelEvent, MEASURED_FLOW, ProbeChannel, ProbeRequest, SentProbe,
};
use caudal_stats::random::SplitMix64;
use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;

/// The bytes of a packet's frame on the wire besides the packet.
const FRAME: u64 = 38;
/// The most that a router quotes of a packet, so that its message has at most 576 bytes, and the headers before the quote.
const MAX_QUOTE: u64 = 548;
const ANSWER_HEADERS: u64 = 28;
/// The size of primers, IP header included.
const PRIMER: u64 = 1500;
/// The most by which a probe is late behind its primers, ns.
const MAX_LATE: u64 = 3_000_000;

/// A link, and the router or host at its far end.
#[derive(Debug, Clone)]
pub struct SimulatedHop {
    /// The capacity, bit/s.
    pub rate: u64,
    /// The bucket in bytes of a link that is a shaper; `None` for one that serialises.
    pub bucket: Option<u64>,
    pub mtu: u64,
    /// `true` where packets above the MTU of this link are dropped without a word.
    pub drops_large: bool,
    /// The number of routers at this hop among which flows are divided.
    pub routers: u64,
    pub is_silent: bool,
    /// Answers a second and those at once, where they are limited.
    pub limit: Option<(f64, f64)>,
    /// The percentage of answers that are lost.
    pub answer_loss: u64,
    /// The bytes of the packet that are quoted.
    pub max_quote: u64,
    /// The store-and-forward link of the same rate behind a switch within this hop.
    pub has_switch: bool,
    /// `true` for a firewall that says probes may not pass it.
    pub refuses: bool,
    /// `true` for a router whose route to the host is one that refuses, whatever the TTL. As Linux does, it takes two answers of its
    /// limit for each.
    pub has_no_route: bool,
    tokens: f64,
    tokens_at: u64,
    free_at: u64,
    back_free_at: u64,
    switch_free_at: u64,
    bucket_level: f64,
    bucket_at: u64,
}

impl SimulatedHop {
    pub fn of(rate: u64) -> Self {
        Self {
            rate,
            bucket: None,
            mtu: 1500,
            drops_large: false,
            routers: 1,
            is_silent: false,
            limit: None,
            answer_loss: 0,
            max_quote: MAX_QUOTE,
            has_switch: false,
            refuses: false,
            has_no_route: false,
            tokens: 0.0,
            tokens_at: 0,
            free_at: 0,
            back_free_at: 0,
            switch_free_at: 0,
            bucket_level: 0.0,
            bucket_at: 0,
        }
    }

    pub fn shaped(rate: u64, bucket: u64) -> Self {
        Self {
            bucket: Some(bucket),
            bucket_level: bucket as f64,
            ..Self::of(rate)
        }
    }

    pub fn with_limit(mut self, per_second: f64, burst: f64) -> Self {
        self.limit = Some((per_second, burst));
        self.tokens = burst;
        self
    }

    fn may_answer(&mut self, now: u64) -> bool {
        let Some((per_second, burst)) = self.limit else {
            return true;
        };
        let passed = now.saturating_sub(self.tokens_at) as f64 / 1e9;
        self.tokens = (self.tokens + passed * per_second).min(burst);
        self.tokens_at = now;
        let may = self.tokens >= 1.0;
        if may {
            self.tokens -= 1.0;
        }
        may
    }

    /// The time at which a packet that comes at `at` has crossed the link.
    fn cross(&mut self, at: u64, packet: u64) -> u64 {
        let wire = packet + FRAME;
        let serialisation = wire * 8_000_000_000 / self.rate;
        if let Some(bucket) = self.bucket {
            let at = at.max(self.bucket_at);
            let refill = (at - self.bucket_at) as f64 * self.rate as f64 / 8e9;
            self.bucket_level = (self.bucket_level + refill).min(bucket as f64);
            let lacking = (wire as f64 - self.bucket_level).max(0.0);
            let left = at + (lacking * 8e9 / self.rate as f64) as u64;
            self.bucket_level = self.bucket_level + lacking - wire as f64;
            self.bucket_at = left;
            return left + 2_000;
        }
        let left = at.max(self.free_at) + serialisation;
        self.free_at = left;
        self.behind_switch(left, serialisation)
    }

    /// The time at which a packet has crossed the link behind the switch as well.
    fn behind_switch(&mut self, left: u64, serialisation: u64) -> u64 {
        if !self.has_switch {
            return left;
        }
        self.switch_free_at = left.max(self.switch_free_at) + serialisation;
        self.switch_free_at
    }

    fn cross_back(&mut self, at: u64, packet: u64) -> u64 {
        if self.bucket.is_some() {
            return at + 2_000;
        }
        let serialisation = (packet + FRAME).max(84) * 8_000_000_000 / self.rate;
        let left = at.max(self.back_free_at) + serialisation;
        self.back_free_at = left;
        left + if self.has_switch { serialisation } else { 0 }
    }
}

/// A path of routers with a host at its end, in virtual time.
pub struct SimulatedNetwork {
    pub hops: Vec<SimulatedHop>,
    /// The hops from a time on, ns.
    pub later: Option<(u64, usize)>,
    /// The time until which the path has only so many hops, ns.
    pub shorter_until: Option<(u64, usize)>,
    pub is_host_silent: bool,
    /// The time from which on nothing can be sent, ns.
    pub is_cut_at: Option<u64>,
    /// The percentage of primed probes that leave up to 3 ms behind their primers.
    pub late_behind_primers: u64,
    /// The index of the first hop of a routing loop, and the hops of a turn.
    pub routing_loop: Option<(usize, usize)>,
    now: u64,
    events: BTreeMap<(u64, u64), ChannelEvent>,
    serial: u64,
    rng: SplitMix64,
}

/// The address of the host.
pub const HOST: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 255, 1));
/// The wall clock at virtual time zero, ns.
const WALL: u64 = 1_700_000_000_000_000_000;

impl SimulatedNetwork {
    pub fn of(hops: Vec<SimulatedHop>, seed: u64) -> Self {
        Self {
            hops,
            later: None,
            shorter_until: None,
            is_host_silent: false,
            is_cut_at: None,
            late_behind_primers: 0,
            routing_loop: None,
            now: 0,
            events: BTreeMap::new(),
            serial: 0,
            rng: SplitMix64::new(seed),
        }
    }

    fn event(&mut self, at: u64, event: ChannelEvent) {
        self.serial += 1;
        self.events.insert((at, self.serial), event);
    }

    fn router(&self, hop: usize, flow: u16, at: u64) -> IpAddr {
        let which = u64::from(flow) % self.hops[hop].routers;
        let moved = self
            .later
            .is_some_and(|(from, first)| at >= from && hop >= first);
        IpAddr::from([10, 1 + u8::from(moved), hop as u8 + 1, which as u8 + 1])
    }

    /// Sends an answer back from behind hop `from`, whose links it crosses.
    fn answer(&mut self, at: u64, from: usize, answer: SimulatedAnswer) {
        if self.rng.below(100) < self.hops[from].answer_loss {
            return;
        }
        let quoted = answer.packet.min(self.hops[from].max_quote);
        let packet = ANSWER_HEADERS + quoted;
        let mut time = at + 5_000 + self.rng.below(3_000);
        for hop in self.hops[..=from].iter_mut().rev() {
            time = hop.cross_back(time, packet);
        }
        let is_identified = quoted >= 36;
        self.event(
            time,
            ChannelEvent::Answered {
                id: is_identified.then_some(answer.id),
                flow: answer.flow,
                from: answer.address,
                kind: answer.kind,
                at_ns: WALL + time,
                wire_bytes: (packet + FRAME).max(84) as u32,
                ttl: Some(64 - from as u8),
            },
        );
    }

    fn probe(&mut self, id: u32, request: &ProbeRequest, departure: u64) {
        let (flow, packet) = (request.flow, u64::from(request.bytes));
        let mut time = departure;
        let last = match self.shorter_until {
            Some((until, hops)) if departure < until => hops - 1,
            _ => self.hops.len() - 1,
        };
        if let Some((first, turn)) = self.routing_loop
            && usize::from(request.ttl) > first
        {
            let hop = first + (usize::from(request.ttl) - 1 - first) % turn;
            if self.hops[hop].may_answer(time) {
                let address = self.router(hop, flow, time);
                let kind = AnswerKind::TimeExceeded;
                let answer = SimulatedAnswer {
                    id,
                    flow,
                    packet,
                    address,
                    kind,
                };
                self.answer(time, hop, answer);
            }
            return;
        }
        for hop in 0..self.hops.len() {
            let reply = |address, kind| SimulatedAnswer {
                id,
                flow,
                packet,
                address,
                kind,
            };
            if packet > self.hops[hop].mtu {
                if let Some(before) = hop.checked_sub(1)
                    && !self.hops[hop].drops_large
                    && self.hops[before].may_answer(time)
                {
                    let mtu = self.hops[hop].mtu as u32;
                    let address = self.router(before, flow, time);
                    self.answer(time, before, reply(address, AnswerKind::TooLarge { mtu }));
                }
                return;
            }
            time = self.hops[hop].cross(time, packet);
            let address = self.router(hop, flow, time);
            if hop == last {
                if !self.is_host_silent && self.hops[hop].may_answer(time) {
                    self.answer(time, hop, reply(HOST, AnswerKind::PortUnreachable));
                }
                return;
            }
            if self.hops[hop].has_no_route {
                if self.hops[hop].may_answer(time) && self.hops[hop].may_answer(time) {
                    let kind = AnswerKind::Unreachable { code: 1 };
                    self.answer(time, hop, reply(address, kind));
                }
                return;
            }
            if usize::from(request.ttl) == hop + 1 {
                if !self.hops[hop].is_silent && self.hops[hop].may_answer(time) {
                    self.answer(time, hop, reply(address, AnswerKind::TimeExceeded));
                }
                return;
            }
            if self.hops[hop].refuses {
                if self.hops[hop].may_answer(time) {
                    let kind = AnswerKind::Unreachable { code: 13 };
                    self.answer(time, hop, reply(address, kind));
                }
                return;
            }
        }
    }

    fn primer(&mut self) {
        let mut time = self.now;
        for hop in &mut self.hops {
            time = hop.cross(time, PRIMER);
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct SimulatedAnswer {
    id: u32,
    flow: u16,
    packet: u64,
    address: IpAddr,
    kind: AnswerKind,
}

impl ProbeChannel for SimulatedNetwork {
    fn now_ns(&self) -> u64 {
        self.now
    }

    fn send(&mut self, id: u32, request: &ProbeRequest) -> io::Result<SentProbe> {
        if self.is_cut_at.is_some_and(|at| self.now >= at) {
            return Err(io::Error::from_raw_os_error(libc::ENETUNREACH));
        }
        if u64::from(request.bytes) > self.hops[0].mtu {
            return Err(io::Error::from_raw_os_error(libc::EMSGSIZE));
        }
        assert!(request.flow == MEASURED_FLOW || request.bytes < 200);
        let (mut packets, mut departure) = (1, self.now);
        if request.priming == Priming::Primed {
            self.primer();
            self.primer();
            packets += 2;
            if self.rng.below(100) < self.late_behind_primers {
                departure += self.rng.below(MAX_LATE);
            }
        }
        let at_ns = WALL + departure;
        self.event(departure, ChannelEvent::Departed { id, at_ns });
        self.probe(id, request, departure);
        Ok(SentProbe {
            packets,
            bytes: u64::from(request.bytes),
            before_ns: WALL + self.now,
        })
    }

    fn wait(&mut self, until_ns: u64) -> io::Result<Vec<ChannelEvent>> {
        match self.events.first_key_value() {
            Some((&(at, _), _)) if at <= until_ns => {
                self.now = self.now.max(at);
                Ok(self
                    .events
                    .pop_first()
                    .map(|(_, event)| event)
                    .into_iter()
                    .collect())
            }
            _ => {
                self.now = self.now.max(until_ns);
                Ok(Vec::new())
            }
        }
    }
}
