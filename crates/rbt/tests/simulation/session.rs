//! One session in virtual time, and what has to hold at every moment of it.

use crate::content::{ComparingSink, GrowingSource, content};
use crate::path::DatagramPath;
use crate::terms::{Incident, SessionTerms};
use crate::wire_log::WireLog;
use caudal_core::marks::Ecn;
use caudal_rbt::{
    AbortCode, AcceptedSession, BlockReceiver, BlockSender, Grant, Initiator, InitiatorStatus,
    ReceiverCounts, ReceiverStatus, Responder, Response, SenderCounts, SenderStatus, SocketBudget,
    TransferConfig,
};

/// The virtual time in which every session ends, ns.
const MAX_NS: u64 = 1_000_000_000_000;
/// Datagrams that an end sends at most in a session: none answers an answer for ever.
const MAX_DATAGRAMS: u64 = 200_000;
/// Rounds of the event loop in which virtual time may stand still.
const MAX_ROUNDS_AT_ONCE: u32 = 10_000;

/// How a session ended.
#[derive(Debug, Clone)]
pub struct SessionEnd {
    pub sender: Option<SenderStatus>,
    pub receiver: Option<ReceiverStatus>,
    pub sent: SenderCounts,
    pub received: ReceiverCounts,
    /// What the receiver had before.
    pub start: u64,
    /// The end of what came out in order.
    pub taken: u64,
    /// When the sender was through, ns.
    pub sender_ended_ns: u64,
    /// Duplicates, losses and damage on the way, as the path counts them.
    pub arrived_damaged: u64,
    /// The most that a source had to keep, bytes.
    pub max_kept: u64,
    /// The most that both ends held in memory, bytes.
    pub max_memory: usize,
}

impl SessionEnd {
    /// Whether both ends hold that everything arrived.
    pub fn is_complete(&self) -> bool {
        self.sender == Some(SenderStatus::Complete)
            && self.receiver == Some(ReceiverStatus::Complete { matches: true })
    }
}

/// The end of a session that exists now.
enum SendingEnd {
    /// Not yet.
    Initiating(Box<Initiator>),
    /// The responder's, before the proposal.
    Waiting,
    Running(Box<BlockSender>),
    Gone,
}

/// The same for the receiver.
enum ReceivingEnd {
    Initiating(Box<Initiator>),
    Waiting,
    Running(Box<BlockReceiver>),
    Gone,
}

/// One session in virtual time.
pub struct SimulatedSession<'a> {
    terms: &'a SessionTerms,
    now_ns: u64,
    sending: SendingEnd,
    receiving: ReceivingEnd,
    /// What both ends agreed on.
    config: TransferConfig,
    responder: Responder,
    accepted: Option<AcceptedSession>,
    there: DatagramPath,
    back: DatagramPath,
    sender_address: u64,
    reply_address: u64,
    source: GrowingSource,
    /// The digest that the sender is told once the source has ended.
    digest: Option<[u8; 32]>,
    sink: ComparingSink,
    verified_at_ns: Option<u64>,
    incident: Option<(u64, Incident)>,
    log: WireLog,
    arrived: Vec<(Vec<u8>, u64)>,
    out: Vec<u8>,
    sender_ended_ns: u64,
    max_memory: usize,
    rounds_at_once: u32,
}

type Checked<T = ()> = Result<T, String>;

impl<'a> SimulatedSession<'a> {
    /// A session that begins now, where the receiver has `start` bytes already.
    pub fn new(terms: &'a SessionTerms, start: u64, incident: Option<(u64, Incident)>) -> Self {
        let whole = content(terms.seed, terms.total as usize);
        let mut digest = *blake3::hash(whole).as_bytes();
        digest[0] ^= u8::from(terms.is_digest_wrong);
        let config = TransferConfig {
            start_bytes: start,
            ..terms.config.clone()
        };
        let mut sink = ComparingSink::new(whole, start, terms.sink_bytes_per_s);
        sink.stalled_until_ns = terms.sink_stalled_until_ns;
        let mut session = Self {
            terms,
            now_ns: 0,
            sending: SendingEnd::Waiting,
            receiving: ReceivingEnd::Waiting,
            responder: Responder::new([7; 32]),
            accepted: None,
            there: DatagramPath::new(&terms.there, terms.seed, 1),
            back: DatagramPath::new(&terms.back, terms.seed, 2),
            sender_address: 0,
            reply_address: 0,
            digest: Some(digest),
            source: GrowingSource::new(whole, start, terms.source_bytes_per_s),
            sink,
            verified_at_ns: None,
            incident,
            log: WireLog::new(&config),
            config,
            arrived: Vec::new(),
            out: vec![0; 65_536],
            sender_ended_ns: 0,
            max_memory: 0,
            rounds_at_once: 0,
        };
        session.begin();
        session
    }

    fn begin(&mut self) {
        let token: &[u8] = if self.terms.has_token { b"token" } else { b"" };
        let initiator = |is_sender: bool| {
            let mut config = self.config.clone();
            if !is_sender {
                config.total_bytes = None;
            } else {
                config.start_bytes = 0;
            }
            Box::new(Initiator::new(
                &config,
                is_sender,
                self.terms.seed,
                token,
                0,
            ))
        };
        match self.terms.handshake {
            Some(true) => self.sending = SendingEnd::Initiating(initiator(true)),
            Some(false) => self.receiving = ReceivingEnd::Initiating(initiator(false)),
            None => {
                self.start_sender(&self.config.clone(), None);
                self.start_receiver(&self.config.clone());
            }
        }
    }

    fn start_sender(&mut self, config: &TransferConfig, rtt_ns: Option<u64>) {
        let config = TransferConfig {
            seed: self.terms.config.seed,
            ..config.clone()
        };
        let budget = SocketBudget(self.terms.budget);
        let mut sender = BlockSender::new(&config, self.terms.controller(), budget, self.now_ns);
        if let Some(rtt_ns) = rtt_ns {
            sender.set_handshake_rtt(rtt_ns);
        }
        self.sending = SendingEnd::Running(Box::new(sender));
    }

    fn start_receiver(&mut self, config: &TransferConfig) {
        let budget = SocketBudget(self.terms.budget);
        let receiver = BlockReceiver::new(config, budget, self.now_ns);
        self.receiving = ReceivingEnd::Running(Box::new(receiver));
    }

    /// Runs it until both ends are through.
    pub fn run(mut self) -> Checked<SessionEnd> {
        loop {
            self.happen();
            self.deliver()?;
            self.expire();
            self.consume()?;
            self.transmit()?;
            self.note_end();
            let Some(next_ns) = self.next_ns() else {
                break;
            };
            self.advance_to(next_ns)?;
        }
        self.finish()
    }

    fn advance_to(&mut self, next_ns: u64) -> Checked {
        let clock = self.terms.clock_ns;
        let next_ns = next_ns.max(self.now_ns).div_ceil(clock) * clock;
        if next_ns > self.now_ns {
            self.rounds_at_once = 0;
        }
        self.rounds_at_once += 1;
        self.now_ns = next_ns;
        if self.rounds_at_once > MAX_ROUNDS_AT_ONCE {
            return Err("virtual time stands still".to_owned());
        }
        if self.there.offered.max(self.back.offered) > MAX_DATAGRAMS {
            return Err("a storm of datagrams".to_owned());
        }
        if self.now_ns > MAX_NS {
            return Err(format!(
                "no end: {:?} {:?}",
                self.sender()
                    .map(|sender| (sender.status(), sender.counts())),
                self.receiver()
                    .map(|receiver| (receiver.status(), receiver.counts()))
            ));
        }
        Ok(())
    }

    fn sender(&self) -> Option<&BlockSender> {
        match &self.sending {
            SendingEnd::Running(sender) => Some(sender),
            _ => None,
        }
    }

    fn receiver(&self) -> Option<&BlockReceiver> {
        match &self.receiving {
            ReceivingEnd::Running(receiver) => Some(receiver),
            _ => None,
        }
    }

    /// The time of whatever comes next; `None` once both ends are through.
    fn next_ns(&self) -> Option<u64> {
        let sender = match &self.sending {
            SendingEnd::Running(sender) => sender.poll_timeout(),
            SendingEnd::Initiating(initiator) => initiator.poll_timeout(),
            SendingEnd::Waiting | SendingEnd::Gone => None,
        };
        let receiver = match &self.receiving {
            ReceivingEnd::Running(receiver) if receiver.status() == ReceiverStatus::Verifying => {
                let is_taken = receiver.readable().is_empty();
                let taken_ns = self.sink.next_ns(self.now_ns, receiver.readable().len());
                self.verified_at_ns.filter(|_| is_taken).or(taken_ns)
            }
            ReceivingEnd::Running(receiver) => receiver.poll_timeout(),
            ReceivingEnd::Initiating(initiator) => initiator.poll_timeout(),
            ReceivingEnd::Waiting | ReceivingEnd::Gone => None,
        };
        // A source that grows, and a responder that waits, do so for their peer.
        if sender.is_none() && receiver.is_none() {
            return None;
        }
        let grows = self.terms.source_bytes_per_s.is_some()
            && self
                .sender()
                .is_some_and(|sender| sender.status() == SenderStatus::Sending);
        let sink = self
            .receiver()
            .and_then(|receiver| self.sink.next_ns(self.now_ns, receiver.readable().len()));
        [
            sender,
            receiver,
            sink,
            grows.then_some(self.now_ns + 5_000_000),
            self.there.next_ns(),
            self.back.next_ns(),
            self.incident.map(|(at_ns, _)| at_ns),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    fn happen(&mut self) {
        let Some((_, incident)) = self.incident.take_if(|(at_ns, _)| *at_ns <= self.now_ns) else {
            return;
        };
        match incident {
            Incident::SenderDies => self.sending = SendingEnd::Gone,
            Incident::ReceiverDies => self.receiving = ReceivingEnd::Gone,
            Incident::ReceiverForgets => {
                if let ReceivingEnd::Running(_) = self.receiving {
                    self.start_receiver(&self.config.clone());
                    self.sink.begin_again();
                    self.log.forget_arrivals();
                    self.verified_at_ns = None;
                }
            }
            Incident::SenderMoves | Incident::SenderIsCutOff => self.sender_address += 1,
            Incident::SenderStops => {
                if let SendingEnd::Running(sender) = &mut self.sending {
                    sender.abort(AbortCode::Stopped);
                }
            }
            Incident::ReceiverStops => {
                if let ReceivingEnd::Running(receiver) = &mut self.receiving {
                    receiver.abort(AbortCode::Sink);
                }
            }
        }
    }

    fn deliver(&mut self) -> Checked {
        let mut arrived = std::mem::take(&mut self.arrived);
        self.there.take_arrived(self.now_ns, &mut arrived);
        for (datagram, address) in arrived.drain(..) {
            self.deliver_there(&datagram, address)?;
        }
        if let ReceivingEnd::Running(receiver) = &mut self.receiving
            && self.terms.is_idle_told
        {
            receiver.on_idle();
        }
        self.back.take_arrived(self.now_ns, &mut arrived);
        for (datagram, address) in arrived.drain(..) {
            if address == self.sender_address {
                self.deliver_back(&datagram);
            }
        }
        self.arrived = arrived;
        Ok(())
    }

    /// A datagram arrives at the receiving end.
    fn deliver_there(&mut self, datagram: &[u8], address: u64) -> Checked {
        if self
            .terms
            .incident
            .is_none_or(|(_, incident)| incident != Incident::SenderIsCutOff)
        {
            self.reply_address = self.reply_address.max(address);
        }
        match &mut self.receiving {
            ReceivingEnd::Running(receiver) => {
                if let Some(accepted) = &self.accepted
                    && let Some(answer) = accepted.answer_to(datagram)
                {
                    self.back.send(self.now_ns, answer, self.reply_address);
                    return Ok(());
                }
                receiver.handle_datagrams(self.now_ns, datagram, datagram.len(), Ecn::NotEct);
                self.log.arrived();
                self.max_memory = self.max_memory.max(receiver.memory_bytes());
            }
            ReceivingEnd::Initiating(initiator) => {
                initiator.handle_datagram(self.now_ns, datagram);
                if let InitiatorStatus::Accepted(config) = initiator.status() {
                    let config = config.as_ref().clone();
                    self.agree(&config)?;
                    self.start_receiver(&config);
                }
            }
            ReceivingEnd::Waiting => {
                if let Some((config, answer)) = self.respond(datagram) {
                    self.back.send(self.now_ns, &answer, self.reply_address);
                    if let Some(config) = config {
                        self.config = config.clone();
                        self.start_receiver(&config);
                    }
                }
            }
            ReceivingEnd::Gone => {}
        }
        Ok(())
    }

    /// A datagram arrives at the sending end.
    fn deliver_back(&mut self, datagram: &[u8]) {
        match &mut self.sending {
            SendingEnd::Running(sender) => {
                if let Some(accepted) = &self.accepted
                    && self.terms.handshake == Some(false)
                    && let Some(answer) = accepted.answer_to(datagram)
                {
                    self.there.send(self.now_ns, answer, self.sender_address);
                    return;
                }
                let _ = sender.handle_datagram(self.now_ns, datagram);
                self.max_memory = self.max_memory.max(sender.memory_bytes());
            }
            SendingEnd::Initiating(initiator) => {
                initiator.handle_datagram(self.now_ns, datagram);
                if let InitiatorStatus::Accepted(config) = initiator.status() {
                    let (config, rtt_ns) = (config.as_ref().clone(), initiator.rtt_ns());
                    assert_eq!(config.first_pn, self.config.first_pn);
                    self.start_sender(&config, rtt_ns);
                }
            }
            SendingEnd::Waiting => {
                if let Some((config, answer)) = self.respond(datagram) {
                    self.there.send(self.now_ns, &answer, self.sender_address);
                    if let Some(config) = config {
                        self.config = config.clone();
                        self.start_sender(&config, None);
                    }
                }
            }
            SendingEnd::Gone => {}
        }
    }

    /// The initiator's terms are the responder's.
    fn agree(&self, config: &TransferConfig) -> Checked {
        let ours = TransferConfig {
            seed: 0,
            ..self.config.clone()
        };
        if (TransferConfig {
            seed: 0,
            ..config.clone()
        }) == ours
        {
            Ok(())
        } else {
            Err(format!("the terms differ: {config:?} {ours:?}"))
        }
    }

    /// What the responder answers, and the terms when it accepts.
    fn respond(&mut self, datagram: &[u8]) -> Option<(Option<TransferConfig>, Vec<u8>)> {
        let is_sender = self.terms.handshake == Some(false);
        let token: &[u8] = if self.terms.has_token { b"token" } else { b"" };
        match self
            .responder
            .handle_datagram(self.now_ns, b"address", datagram, token)
        {
            Response::Ignore => None,
            Response::Reply(reply) => {
                assert!(reply.len() <= datagram.len(), "amplification");
                Some((None, reply))
            }
            Response::Propose(proposal) => {
                let (config, accepted) = proposal.accept(&Grant {
                    session: self.terms.config.session,
                    first_pn: self.terms.config.first_pn,
                    max_window_bytes: 16 << 20,
                    total_bytes: if is_sender {
                        self.terms.config.total_bytes
                    } else {
                        None
                    },
                    start_bytes: self.config.start_bytes,
                });
                let answer = accepted.answer().to_vec();
                self.accepted = Some(accepted);
                Some((Some(config), answer))
            }
        }
    }

    fn expire(&mut self) {
        let now_ns = self.now_ns;
        let is_due = |due: Option<u64>| due.is_some_and(|due| due <= now_ns);
        match &mut self.sending {
            SendingEnd::Running(sender) if is_due(sender.poll_timeout()) => {
                sender.handle_timeout(now_ns);
            }
            SendingEnd::Initiating(initiator) if is_due(initiator.poll_timeout()) => {
                initiator.handle_timeout(now_ns);
            }
            _ => {}
        }
        match &mut self.receiving {
            ReceivingEnd::Running(receiver) if is_due(receiver.poll_timeout()) => {
                receiver.handle_timeout(now_ns);
            }
            ReceivingEnd::Initiating(initiator) if is_due(initiator.poll_timeout()) => {
                initiator.handle_timeout(now_ns);
            }
            _ => {}
        }
    }

    fn consume(&mut self) -> Checked {
        self.source.advance(self.now_ns);
        let ReceivingEnd::Running(receiver) = &mut self.receiving else {
            return Ok(());
        };
        loop {
            let readable = receiver.readable();
            let bytes = self.sink.room(self.now_ns, readable.len());
            if bytes == 0 {
                break;
            }
            self.sink.take(&readable[..bytes])?;
            receiver.consume(bytes);
        }
        if receiver.status() != ReceiverStatus::Verifying || !receiver.readable().is_empty() {
            return Ok(());
        }
        let at_ns = *self
            .verified_at_ns
            .get_or_insert(self.now_ns + self.terms.verify_ns);
        if at_ns <= self.now_ns {
            let matches = receiver.claimed_digest() == Some(self.sink.digest());
            if matches && self.sink.taken as u64 != self.terms.total {
                return Err("a part has the digest of the whole".to_owned());
            }
            receiver.set_verified(self.now_ns, matches);
            self.verified_at_ns = None;
        }
        Ok(())
    }

    fn transmit(&mut self) -> Checked {
        match &mut self.sending {
            SendingEnd::Running(sender) => {
                if let Some(digest) = self.digest.take_if(|_| self.source.has_ended()) {
                    sender.set_digest(digest);
                }
                let before = sender.counts();
                while let Some(transmit) = sender.poll_transmit(
                    self.now_ns,
                    &mut self.source,
                    &mut self.out,
                    self.terms.batch,
                ) {
                    let counts = sender.counts();
                    self.log.check_window(&before, &counts, transmit)?;
                    for datagram in self.out[..transmit.bytes].chunks(transmit.segment) {
                        self.log.left(datagram)?;
                        self.there.send(self.now_ns, datagram, self.sender_address);
                    }
                }
            }
            SendingEnd::Initiating(initiator) => {
                if let Some(bytes) = initiator.poll_transmit(self.now_ns, &mut self.out) {
                    self.there
                        .send(self.now_ns, &self.out[..bytes], self.sender_address);
                }
            }
            _ => {}
        }
        match &mut self.receiving {
            ReceivingEnd::Running(receiver) => {
                while let Some(bytes) = receiver.poll_transmit(self.now_ns, &mut self.out) {
                    self.back
                        .send(self.now_ns, &self.out[..bytes], self.reply_address);
                }
            }
            ReceivingEnd::Initiating(initiator) => {
                if let Some(bytes) = initiator.poll_transmit(self.now_ns, &mut self.out) {
                    self.back
                        .send(self.now_ns, &self.out[..bytes], self.reply_address);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn note_end(&mut self) {
        let has_ended = self
            .sender()
            .is_some_and(|sender| sender.poll_timeout().is_none());
        if has_ended && self.sender_ended_ns == 0 {
            self.sender_ended_ns = self.now_ns;
        }
    }

    fn finish(self) -> Checked<SessionEnd> {
        let end = SessionEnd {
            sender: self.sender().map(BlockSender::status),
            receiver: self.receiver().map(BlockReceiver::status),
            sent: self.sender().map(BlockSender::counts).unwrap_or_default(),
            received: self
                .receiver()
                .map(BlockReceiver::counts)
                .unwrap_or_default(),
            start: self.config.start_bytes,
            taken: self.sink.taken as u64,
            sender_ended_ns: self.sender_ended_ns,
            arrived_damaged: self.there.damaged,
            max_kept: self.source.max_kept,
            max_memory: self.max_memory,
        };
        self.log.check_end(&end, self.terms)?;
        Ok(end)
    }
}
