//! Probes under way: which hop is asked next and when, and which answer belongs to which probe.

use super::answer_limit::AnswerHistory;
use super::channel::{ChannelEvent, ProbeChannel, SentProbe};
use super::probe::{AnswerKind, ProbeAnswer, ProbeFate, ProbeOutcome, ProbeRequest};
use crate::hop_capacity::Priming;
use caudal_stats::random::SplitMix64;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::IpAddr;

/// Minimum time between two probes of a hop, ns: at most 20 a second.
pub(super) const MIN_HOP_INTERVAL_NS: u64 = 50_000_000;
/// Maximum time between two probes of a hop that limits its answers, ns. Linux answers once a second by default (icmp(7),
/// `icmp_ratelimit`).
const MAX_HOP_INTERVAL_NS: u64 = 1_050_000_000;
/// Number of latest outcomes by which a limit on answers is recognised.
const RECENT: usize = 6;
/// Maximum unanswered ones among them before the hop is probed less often.
const MAX_RECENT_UNANSWERED: usize = 2;
/// Minimum probes of a hop that is asked less often and answers them all, for a limit.
const MIN_ASKED_LESS: u64 = 20;
/// Maximum share of unanswered probes at the rate of a limit, if it is one: numerator and denominator.
const MAX_LIMITED_LOSS: (u64, u64) = (1, 3);
/// Minimum timeout of an answer, ns.
const MIN_TIMEOUT_NS: u64 = 1_000_000_000;
/// Maximum timeout of an answer, ns.
const MAX_TIMEOUT_NS: u64 = 3_000_000_000;

/// The probes of one hop.
#[derive(Debug, Clone, Default)]
struct HopQueue {
    waiting: VecDeque<ProbeRequest>,
    under_way: Option<u32>,
    next_ns: u64,
    interval_ns: u64,
    recent: VecDeque<bool>,
    is_limited: bool,
    /// The probes since it was last asked less often, and those of them it did not answer.
    since: (u64, u64),
    has_answered: bool,
    history: AnswerHistory,
}

impl HopQueue {
    fn interval_ns(&self) -> u64 {
        self.interval_ns.max(MIN_HOP_INTERVAL_NS)
    }

    /// The time from this probe to the next, ns, of which up to a part is left to chance.
    fn next_interval_ns(&self, rng: &mut SplitMix64) -> u64 {
        match self.limit_ns().filter(|_| self.is_limited) {
            // Hardly more than the period: of the few answers none is to be missed.
            Some(period_ns) => {
                let interval_ns = period_ns.clamp(MIN_HOP_INTERVAL_NS, MAX_HOP_INTERVAL_NS);
                interval_ns + interval_ns / 64 + rng.below(interval_ns / 32)
            }
            None => self.interval_ns() + rng.below(self.interval_ns() / 4),
        }
    }

    /// The period of its limit as estimated from its answers, ns.
    fn limit_ns(&self) -> Option<u64> {
        self.history.period_ns().filter(|_| self.has_answered)
    }

    /// Asks a hop whose silences a limit explains no more often than that, or where it is not known half as often: a hop that limits its answers
    /// then gives them all, and on a path that loses packets some are lost still.
    fn keep_to_limit(&mut self) {
        if !self.has_answered || !self.history.may_be_limited() {
            return;
        }
        let interval_ns = match self.limit_ns() {
            Some(period_ns) => period_ns.min(MAX_HOP_INTERVAL_NS),
            None if !self.is_limited => self.interval_ns() * 2,
            None => return,
        };
        if interval_ns > self.interval_ns() {
            self.is_limited = true;
            self.interval_ns = interval_ns;
            self.since = (0, 0);
        }
    }

    /// Takes the outcome of a probe in: a hop that answers some probes only is asked less often.
    fn heard(&mut self, sent_ns: u64, rtt_ns: Option<u64>) {
        let is_answered = rtt_ns.is_some();
        self.history.note(sent_ns, rtt_ns);
        self.has_answered |= is_answered;
        self.recent.push_back(is_answered);
        while self.recent.len() > RECENT {
            self.recent.pop_front();
        }
        self.since.0 += 1;
        self.since.1 += u64::from(!is_answered);
        let unanswered = self.recent.iter().filter(|answered| !**answered).count();
        if self.has_answered && unanswered > MAX_RECENT_UNANSWERED {
            let slower = (self.interval_ns() * 2).min(MAX_HOP_INTERVAL_NS);
            if slower > self.interval_ns() {
                self.is_limited = true;
                self.since = (0, 0);
            }
            self.interval_ns = slower;
            self.recent.clear();
        }
        self.keep_to_limit();
    }
}

/// A probe that waits for its answer.
#[derive(Debug, Clone, Copy)]
struct ProbeUnderWay {
    request: ProbeRequest,
    /// The time at which it was sent, ns of the channel's clock.
    sent_ns: u64,
    before_ns: u64,
    departed_ns: Option<u64>,
    expires_ns: u64,
}

impl ProbeUnderWay {
    /// The time from which its answer is timed, ns.
    ///
    /// That of a primed probe is before its primers. Where this process is interrupted between the two, the probe leaves late, and from its
    /// own departure it would seem to wait the less for them; from theirs it can only be longer, and the minimum leaves it out.
    fn departure_ns(&self) -> u64 {
        match self.request.priming {
            Priming::Primed => self.before_ns,
            Priming::Unprimed => self.departed_ns.unwrap_or(self.before_ns),
        }
    }
}

/// Probes under way.
pub(super) struct ProbeExchange<'c> {
    channel: &'c mut dyn ProbeChannel,
    hops: BTreeMap<u8, HopQueue>,
    under_way: BTreeMap<u32, ProbeUnderWay>,
    /// The TTL at which the measured flow meets an address, for answers that quote too little.
    known: BTreeMap<IpAddr, u8>,
    next_id: u32,
    next_send_ns: u64,
    gap_ns: u64,
    timeout_ns: u64,
    min_timeout_ns: u64,
    are_losses_limits: bool,
    rng: SplitMix64,
    began_ns: u64,
    /// The packets, bytes and answers so far.
    pub(super) packets: u64,
    pub(super) bytes: u64,
    pub(super) answers: u64,
    /// `true` while every probe that was answered had a departure stamped by the kernel.
    pub(super) is_stamped: bool,
}

impl<'c> ProbeExchange<'c> {
    pub(super) fn new(channel: &'c mut dyn ProbeChannel, seed: u64) -> Self {
        let began_ns = channel.now_ns();
        Self {
            channel,
            hops: BTreeMap::new(),
            under_way: BTreeMap::new(),
            known: BTreeMap::new(),
            next_id: 0,
            next_send_ns: began_ns,
            gap_ns: 0,
            timeout_ns: MIN_TIMEOUT_NS,
            min_timeout_ns: 0,
            are_losses_limits: true,
            rng: SplitMix64::new(seed),
            began_ns,
            packets: 0,
            bytes: 0,
            answers: 0,
            is_stamped: true,
        }
    }

    /// The time since the beginning, ns.
    pub(super) fn elapsed_ns(&self) -> u64 {
        self.channel.now_ns().saturating_sub(self.began_ns)
    }

    /// The time between two probes to whatever hops, ns.
    pub(super) const fn set_gap_ns(&mut self, gap_ns: u64) {
        self.gap_ns = gap_ns;
    }

    /// Waits for the answers to probes as long as for any.
    pub(super) const fn wait_longest(&mut self) {
        self.min_timeout_ns = MAX_TIMEOUT_NS;
    }

    /// Waits for the answers to probes as long as round-trip times suggest.
    pub(super) const fn wait_as_usual(&mut self) {
        self.min_timeout_ns = 0;
    }

    /// Whether a hop that leaves several probes unanswered is taken to limit its answers, and is asked less often.
    pub(super) const fn take_losses_for_limits(&mut self, are_limits: bool) {
        self.are_losses_limits = are_limits;
    }

    /// Puts a probe at the end of its hop's queue.
    pub(super) fn ask(&mut self, request: ProbeRequest) {
        let hop = self.hops.entry(request.ttl).or_default();
        hop.waiting.push_back(request);
    }

    /// Takes back the probes beyond `ttl` that were not sent yet.
    pub(super) fn forget_beyond(&mut self, ttl: u8) {
        for (_, hop) in self.hops.range_mut(ttl.saturating_add(1)..) {
            hop.waiting.clear();
        }
    }

    /// The number of probes of a hop that are not done.
    pub(super) fn pending(&self, ttl: u8) -> usize {
        self.hops.get(&ttl).map_or(0, |hop| {
            hop.waiting.len() + usize::from(hop.under_way.is_some())
        })
    }

    /// `true` when every probe is done.
    pub(super) fn is_idle(&self) -> bool {
        let is_idle = |hop: &HopQueue| hop.waiting.is_empty() && hop.under_way.is_none();
        self.hops.values().all(is_idle)
    }

    /// Leaves a hop alone for this time.
    pub(super) fn delay(&mut self, ttl: u8, delay_ns: u64) {
        let now = self.channel.now_ns();
        let hop = self.hops.entry(ttl).or_default();
        hop.next_ns = hop.next_ns.max(now + delay_ns);
    }

    /// `true` where it does not show yet whether the probes that a hop did not answer were lost.
    pub(super) fn is_loss_open(&self, ttl: u8) -> bool {
        let hop = self.hops.get(&ttl);
        hop.is_some_and(|hop| hop.has_answered && hop.history.is_open())
    }

    /// `true` where a limit on answers explains the few that a hop did not give as well as a loss.
    pub(super) fn is_loss_uncertain(&self, ttl: u8) -> bool {
        let hop = self.hops.get(&ttl);
        hop.is_some_and(|hop| hop.has_answered && hop.history.is_uncertain())
    }

    /// The time between two answers of a hop that limits their rate, ns; `None` for one that does not, among them one that answers no more
    /// of those that it is asked less often: these are lost.
    pub(super) fn limited_interval_ns(&self, ttl: u8) -> Option<u64> {
        let hop = self.hops.get(&ttl)?;
        if let Some(period_ns) = hop.limit_ns() {
            return Some(period_ns);
        }
        let (asked, unanswered) = hop.since;
        let is_lost = unanswered * MAX_LIMITED_LOSS.1 > asked * MAX_LIMITED_LOSS.0;
        // The silences that showed it may lie further back than the history goes.
        let all_answered = asked >= MIN_ASKED_LESS && unanswered == 0;
        let is_explained = all_answered || hop.history.is_explained();
        (hop.is_limited && !is_lost && is_explained).then(|| hop.interval_ns())
    }

    /// Waits where nothing is under way, at most until `elapsed_ns` have passed since the beginning.
    ///
    /// # Errors
    /// Those of the channel.
    pub(super) fn sleep_until(&mut self, elapsed_ns: u64) -> io::Result<()> {
        let deadline = self.began_ns.saturating_add(elapsed_ns);
        let mut done = Vec::new();
        for event in self.channel.wait(deadline)? {
            self.take(event, &mut done);
        }
        Ok(())
    }

    /// Sends and receives until at least one probe is done, nothing is left to do or `elapsed_ns` have passed since the beginning.
    ///
    /// # Errors
    /// Those of the channel.
    pub(super) fn advance(&mut self, elapsed_ns: u64) -> io::Result<Vec<ProbeOutcome>> {
        let deadline = self.began_ns.saturating_add(elapsed_ns);
        let mut done = Vec::new();
        loop {
            let now = self.channel.now_ns();
            self.expire(now, &mut done);
            if done.is_empty() {
                self.send_due(now, &mut done);
            }
            if !done.is_empty() || self.is_idle() || now >= deadline {
                return Ok(done);
            }
            let next = self.next_ns().min(deadline);
            for event in self.channel.wait(next)? {
                self.take(event, &mut done);
            }
        }
    }

    /// The next time at which there is something to do.
    fn next_ns(&self) -> u64 {
        let expiry = self.under_way.values().map(|probe| probe.expires_ns).min();
        let due = self.due_hops().map(|(_, hop)| hop.next_ns).min();
        let due = due.map(|due| due.max(self.next_send_ns));
        expiry.into_iter().chain(due).min().unwrap_or(u64::MAX)
    }

    /// The hops with a probe to send and none under way.
    fn due_hops(&self) -> impl Iterator<Item = (u8, &HopQueue)> {
        let hops = self.hops.iter().map(|(ttl, hop)| (*ttl, hop));
        hops.filter(|(_, hop)| hop.under_way.is_none() && !hop.waiting.is_empty())
    }

    /// Sends one probe of a hop whose turn it is, chosen at random: the probes of no hop always follow those of another.
    fn send_due(&mut self, now: u64, done: &mut Vec<ProbeOutcome>) {
        if now < self.next_send_ns {
            return;
        }
        let due: Vec<u8> = self
            .due_hops()
            .filter(|(_, hop)| hop.next_ns <= now)
            .map(|(ttl, _)| ttl)
            .collect();
        if due.is_empty() {
            return;
        }
        let ttl = due[self.rng.below(due.len() as u64) as usize];
        let Some(hop) = self.hops.get_mut(&ttl) else {
            return;
        };
        let Some(request) = hop.waiting.pop_front() else {
            return;
        };
        hop.next_ns = now + hop.next_interval_ns(&mut self.rng);
        self.next_send_ns = now + self.gap_ns + self.rng.below(self.gap_ns / 2 + 1);
        let id = self.next_id;
        self.next_id = self.next_id.wrapping_add(1);
        match self.channel.send(id, &request) {
            Ok(sent) => {
                hop.under_way = Some(id);
                self.sent(id, request, sent, now);
            }
            Err(cause) => {
                let fate = match cause.raw_os_error() {
                    Some(libc::EMSGSIZE) => ProbeFate::TooLargeHere,
                    errno => ProbeFate::NotSent(errno.unwrap_or(libc::EIO)),
                };
                done.push(ProbeOutcome { request, fate });
            }
        }
    }

    fn sent(&mut self, id: u32, request: ProbeRequest, sent: SentProbe, now: u64) {
        self.packets += u64::from(sent.packets);
        self.bytes += sent.bytes;
        let probe = ProbeUnderWay {
            request,
            sent_ns: now,
            before_ns: sent.before_ns,
            departed_ns: None,
            expires_ns: now + self.timeout_ns.max(self.min_timeout_ns),
        };
        self.under_way.insert(id, probe);
    }

    fn expire(&mut self, now: u64, done: &mut Vec<ProbeOutcome>) {
        let late: Vec<u32> = self
            .under_way
            .iter()
            .filter(|(_, probe)| probe.expires_ns <= now)
            .map(|(id, _)| *id)
            .collect();
        for id in late {
            self.finish(id, ProbeFate::Unanswered, done);
        }
    }

    fn finish(&mut self, id: u32, fate: ProbeFate, done: &mut Vec<ProbeOutcome>) {
        let Some(probe) = self.under_way.remove(&id) else {
            return;
        };
        let request = probe.request;
        if let Some(hop) = self.hops.get_mut(&request.ttl) {
            hop.under_way = hop.under_way.filter(|under_way| *under_way != id);
            let rtt_ns = match &fate {
                ProbeFate::Answered(answer) => Some(answer.rtt_ns),
                _ => None,
            };
            if rtt_ns.is_some() || self.are_losses_limits {
                hop.heard(probe.sent_ns, rtt_ns);
            }
        }
        done.push(ProbeOutcome { request, fate });
    }

    fn take(&mut self, event: ChannelEvent, done: &mut Vec<ProbeOutcome>) {
        match event {
            ChannelEvent::Departed { id, at_ns } => {
                if let Some(probe) = self.under_way.get_mut(&id) {
                    probe.departed_ns = Some(at_ns);
                }
            }
            ChannelEvent::Answered {
                id,
                flow,
                from,
                kind,
                at_ns,
                wire_bytes,
                ttl,
            } => {
                let Some(id) = id.or_else(|| self.only_candidate(flow, from, kind)) else {
                    return;
                };
                let Some(probe) = self.under_way.get(&id) else {
                    return;
                };
                self.is_stamped &= probe.departed_ns.is_some();
                let departed_ns = probe.departure_ns();
                // The wall clock was set in between where the answer seems to precede the probe, or to come later than now: the channel's
                // own clock, which is never set, then has the time, with that until the answer was read.
                let waited_ns = self.channel.now_ns().saturating_sub(probe.sent_ns);
                let rtt_ns = at_ns
                    .checked_sub(departed_ns)
                    .filter(|rtt_ns| *rtt_ns <= waited_ns)
                    .unwrap_or(waited_ns);
                self.answers += 1;
                let patience = rtt_ns.saturating_mul(3);
                self.timeout_ns = self.timeout_ns.max(patience).min(MAX_TIMEOUT_NS);
                self.learn(&id, from, kind);
                let answer = ProbeAnswer {
                    from,
                    kind,
                    rtt_ns,
                    wire_bytes,
                    ttl,
                };
                self.finish(id, ProbeFate::Answered(answer), done);
            }
            ChannelEvent::Failed { flow, errno } => {
                let oldest = self
                    .under_way
                    .iter()
                    .find(|(_, probe)| probe.request.flow == flow);
                if let Some(id) = oldest.map(|(id, _)| *id) {
                    self.finish(id, ProbeFate::NotSent(errno), done);
                }
            }
        }
    }

    /// Notes at which TTL the measured flow meets an address.
    fn learn(&mut self, id: &u32, from: IpAddr, kind: AnswerKind) {
        if let Some(probe) = self.under_way.get(id)
            && probe.request.flow == super::probe::MEASURED_FLOW
            && kind == AnswerKind::TimeExceeded
        {
            self.known.insert(from, probe.request.ttl);
        }
    }

    /// The probe that an answer which quotes too little must belong to: the one under way to that address, or the only one of its flow.
    fn only_candidate(&self, flow: u16, from: IpAddr, kind: AnswerKind) -> Option<u32> {
        let of_flow = || {
            let probes = self.under_way.iter();
            probes.filter(|(_, probe)| probe.request.flow == flow)
        };
        if kind == AnswerKind::TimeExceeded
            && let Some(ttl) = self.known.get(&from)
        {
            let mut at_hop = of_flow().filter(|(_, probe)| probe.request.ttl == *ttl);
            return at_hop.next().map(|(id, _)| *id);
        }
        let mut all = of_flow();
        match (all.next(), all.next()) {
            (Some((id, _)), None) => Some(*id),
            _ => None,
        }
    }
}
