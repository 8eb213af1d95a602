//! Bytes that become events on a sender and a receiver: time, datagrams of either, forged ones.

use caudal_core::marks::Ecn;
use caudal_rbt::{
    Arq, BlockReceiver, BlockSender, BlockSource, Initiator, RbtCongestion, ReceiverStatus,
    Responder, Response, SenderStatus, SocketBudget, TransferConfig,
};

const SESSION: u32 = 7;
/// The kind of a datagram with data, as the specification gives it.
const DATA_KIND: u8 = 1;
/// The most that a sender and a receiver of these scripts hold in memory.
const MAX_MEMORY_BYTES: usize = 24 << 20;

/// The bytes of a script, taken from the front; zeros follow its end.
struct ScriptBytes<'a>(&'a [u8]);

impl<'a> ScriptBytes<'a> {
    fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                *first
            }
            None => 0,
        }
    }

    fn word(&mut self) -> u64 {
        u64::from_le_bytes([(); 8].map(|()| self.byte()))
    }

    /// A number that is small as often as it is large.
    fn number(&mut self) -> u64 {
        match self.byte() % 4 {
            0 => u64::from(self.byte()),
            1 => u64::from(self.byte()) | u64::from(self.byte()) << 8,
            2 => u64::MAX - u64::from(self.byte()),
            _ => self.word(),
        }
    }

    fn bytes(&mut self, len: usize) -> &'a [u8] {
        let (front, rest) = self.0.split_at(len.min(self.0.len()));
        self.0 = rest;
        front
    }
}

/// A content of any size, all of the same byte.
struct UniformSource {
    total: u64,
    is_known: bool,
}

impl BlockSource for UniformSource {
    fn available(&self) -> u64 {
        self.total
    }

    fn total(&self) -> Option<u64> {
        self.is_known.then_some(self.total)
    }

    fn read(&mut self, offset: u64, out: &mut [u8]) {
        assert!(offset + out.len() as u64 <= self.total);
        out.fill(7);
    }

    fn release(&mut self, below: u64) {
        assert!(below <= self.total);
    }
}

/// A datagram of any kind with a right CRC.
fn forged(kind: u8, session: u32, body: &[u8]) -> Vec<u8> {
    let mut rest = vec![kind, 0, 0, 0];
    rest.extend_from_slice(&session.to_le_bytes());
    rest.extend_from_slice(body);
    let mut datagram = crc32c::crc32c(&rest).to_le_bytes().to_vec();
    datagram.extend_from_slice(&rest);
    datagram
}

/// The two ends and what is on the way between them.
struct ScriptedEnds {
    now_ns: u64,
    sender: BlockSender,
    receiver: BlockReceiver,
    source: UniformSource,
    there: Vec<Vec<u8>>,
    back: Vec<Vec<u8>>,
    taken: u64,
    out: Vec<u8>,
    max_memory: usize,
    /// Whether data came from somebody who knows the session: only the digest of the whole content tells.
    is_data_forged: bool,
}

impl ScriptedEnds {
    fn new(script: &mut ScriptBytes<'_>) -> Self {
        let total = u64::from(script.byte()) * u64::from(script.byte());
        let flags = script.byte();
        let config = TransferConfig {
            session: SESSION,
            packet_bytes: u32::from(script.byte()) + 1,
            total_bytes: (flags & 1 == 0).then_some(total),
            arq: [Arq::Sack, Arq::NakBitmap, Arq::GoBackN, Arq::StopAndWait]
                [usize::from(flags >> 1 & 3)],
            window_bytes: u64::from(script.byte()) << (flags >> 5),
            first_pn: (1 << 32) - u64::from(script.byte()),
            ack_packets: u32::from(script.byte() & 7),
            ..TransferConfig::default()
        };
        let name = ["cubic", "newreno", "bbr", "fixed"][usize::from(flags >> 3 & 3)];
        let control = RbtCongestion::from_name(name, config.packet_bytes, Some(8_000_000), 1)
            .expect("a known name");
        let budget = SocketBudget(u64::from(script.byte()) << 8);
        let mut sender = BlockSender::new(&config, control, budget, 0);
        sender.set_digest([5; 32]);
        Self {
            now_ns: 0,
            sender,
            receiver: BlockReceiver::new(&config, budget, 0),
            source: UniformSource {
                total,
                is_known: true,
            },
            there: Vec::new(),
            back: Vec::new(),
            taken: 0,
            out: vec![0; 65_536],
            max_memory: 0,
            is_data_forged: false,
        }
    }

    fn event(&mut self, script: &mut ScriptBytes<'_>) {
        match script.byte() % 12 {
            0 | 1 => self.send(usize::from(script.byte() % 8) + 1),
            2 => self.answer(),
            3 | 4 => self.arrive_there(script.byte()),
            5 | 6 => self.arrive_back(script.byte()),
            7 => self.now_ns += u64::from(script.byte()) << (script.byte() % 32),
            8 => self.expire(),
            9 => {
                let bytes = self
                    .receiver
                    .readable()
                    .len()
                    .min(usize::from(script.byte()) * 16);
                let is_as_sent = self.receiver.readable()[..bytes]
                    .iter()
                    .all(|byte| *byte == 7);
                assert!(is_as_sent || self.is_data_forged);
                self.receiver.consume(bytes);
                self.taken += bytes as u64;
            }
            10 => self.forge(script),
            _ => self
                .receiver
                .set_verified(self.now_ns, script.byte() & 3 != 0),
        }
        let memory = self.sender.memory_bytes() + self.receiver.memory_bytes();
        self.max_memory = self.max_memory.max(memory);
    }

    fn send(&mut self, max: usize) {
        if let Some(transmit) =
            self.sender
                .poll_transmit(self.now_ns, &mut self.source, &mut self.out, max)
        {
            assert!(transmit.datagrams <= max.max(2));
            let datagrams = self.out[..transmit.bytes].chunks(transmit.segment);
            self.there.extend(datagrams.map(<[u8]>::to_vec));
        }
    }

    fn answer(&mut self) {
        if let Some(bytes) = self.receiver.poll_transmit(self.now_ns, &mut self.out) {
            assert!(bytes <= 540);
            self.back.push(self.out[..bytes].to_vec());
        }
    }

    /// One of those on the way arrives, or is lost, or arrives and stays on the way.
    fn pick(way: &mut Vec<Vec<u8>>, choice: u8) -> Option<Vec<u8>> {
        let len = way.len();
        let index = usize::from(choice >> 2).min(len.checked_sub(1)?);
        match choice & 3 {
            0 => {
                way.remove(index);
                None
            }
            1 => way.get(index).cloned(),
            _ => Some(way.remove(index)),
        }
    }

    fn arrive_there(&mut self, choice: u8) {
        if let Some(datagram) = Self::pick(&mut self.there, choice) {
            self.receiver
                .handle_datagrams(self.now_ns, &datagram, datagram.len(), Ecn::Ect0);
        }
    }

    fn arrive_back(&mut self, choice: u8) {
        if let Some(datagram) = Self::pick(&mut self.back, choice) {
            let _ = self.sender.handle_datagram(self.now_ns, &datagram);
        }
    }

    fn expire(&mut self) {
        let timers = [self.sender.poll_timeout(), self.receiver.poll_timeout()];
        if let Some(due_ns) = timers.into_iter().flatten().min() {
            self.now_ns = self.now_ns.max(due_ns.min(1 << 62));
        }
        self.sender.handle_timeout(self.now_ns);
        self.receiver.handle_timeout(self.now_ns);
    }

    /// A forged datagram to one of the ends.
    fn forge(&mut self, script: &mut ScriptBytes<'_>) {
        let kind = script.byte();
        let datagram = if kind & 0x80 == 0 {
            let len = usize::from(script.byte()) * 2;
            self.is_data_forged |= kind & 31 == DATA_KIND;
            forged(kind & 31, SESSION, script.bytes(len))
        } else {
            let mut body: Vec<u8> = (0..9).flat_map(|_| script.number().to_le_bytes()).collect();
            body.extend_from_slice(&[0; 4]);
            let ranges = script.byte() % 50;
            body.push(ranges);
            for _ in 0..ranges {
                body.extend_from_slice(&u32::from(script.byte()).to_le_bytes());
                body.extend_from_slice(&u32::from(script.byte()).to_le_bytes());
            }
            body.extend_from_slice(&[1, 0, script.byte()]);
            forged(2, SESSION, &body)
        };
        if script.byte() & 1 == 0 {
            let _ = self.sender.handle_datagram(self.now_ns, &datagram);
        } else {
            self.receiver
                .handle_datagrams(self.now_ns, &datagram, datagram.len(), Ecn::NotEct);
        }
    }
}

/// Runs the events of a script on a sender and a receiver.
///
/// # Panics
/// When one of them panics, holds too much memory or gives out what was not sent.
pub fn run_events(script: &[u8]) {
    let mut script = ScriptBytes(script);
    let mut ends = ScriptedEnds::new(&mut script);
    while !script.0.is_empty() {
        ends.event(&mut script);
    }
    assert!(ends.max_memory <= MAX_MEMORY_BYTES, "{}", ends.max_memory);
    let counts = ends.sender.counts();
    assert!(counts.spurious <= counts.lost && counts.lost <= counts.sent);
    if matches!(
        ends.sender.status(),
        SenderStatus::Failed(_) | SenderStatus::Complete
    ) {
        assert_eq!(ends.sender.poll_timeout(), None);
    }
    if matches!(ends.receiver.status(), ReceiverStatus::Failed(_)) {
        assert_eq!(ends.receiver.poll_timeout(), None);
    }
}

/// Gives a datagram, as it is and with its CRC put right, to everything that reads datagrams.
pub fn read_datagram(bytes: &[u8]) {
    let mut right = bytes.to_vec();
    if let [_, _, _, _, kind, _, _, _, s0, s1, s2, s3, ..] = *bytes {
        let session = u32::from_le_bytes([s0, s1, s2, s3]);
        let body = bytes.get(12..).unwrap_or_default();
        right = forged(kind, session, body);
    }
    for datagram in [bytes, &right] {
        let mut config = TransferConfig {
            session: SESSION,
            total_bytes: Some(5000),
            window_bytes: 1 << 16,
            ..TransferConfig::default()
        };
        if let Some(Ok(session)) = datagram.get(8..12).map(TryInto::try_into) {
            config.session = u32::from_le_bytes(session);
        }
        let control = RbtCongestion::from_name("cubic", 1400, None, 1).expect("a known name");
        let mut sender = BlockSender::new(&config, control, SocketBudget(1 << 16), 0);
        let mut source = UniformSource {
            total: 5000,
            is_known: true,
        };
        sender.set_digest([5; 32]);
        let _ = sender.poll_transmit(0, &mut source, &mut [0; 8192], 4);
        let _ = sender.handle_datagram(1, datagram);
        let mut receiver = BlockReceiver::new(&config, SocketBudget(1 << 16), 0);
        receiver.handle_datagrams(1, datagram, datagram.len(), Ecn::NotEct);
        let mut initiator = Initiator::new(&config, true, 0, b"", 0);
        initiator.handle_datagram(1, datagram);
        let responder = Responder::new([1; 32]);
        if let Response::Reply(reply) = responder.handle_datagram(1, b"address", datagram, b"token")
        {
            assert!(reply.len() <= datagram.len());
        }
    }
}
