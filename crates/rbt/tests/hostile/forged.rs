//! Datagrams by the specification alone, with whatever in them and a right CRC.

/// The kinds of datagrams.
pub const DATA: u8 = 1;
pub const ACK: u8 = 2;
pub const FIN: u8 = 3;
pub const FIN_ACK: u8 = 4;
pub const PING: u8 = 5;
pub const ABORT: u8 = 6;
pub const CLOSE: u8 = 7;
pub const HELLO: u8 = 16;
pub const RETRY: u8 = 17;
pub const ACCEPT: u8 = 18;

/// The CRC of what follows, and what follows.
fn with_crc(rest: &[u8]) -> Vec<u8> {
    let mut datagram = crc32c::crc32c(rest).to_le_bytes().to_vec();
    datagram.extend_from_slice(rest);
    datagram
}

/// A datagram of `kind`: 12 bytes of header and `body`.
pub fn control(kind: u8, session: u32, body: &[u8]) -> Vec<u8> {
    let mut rest = vec![kind, 0, 0, 0];
    rest.extend_from_slice(&session.to_le_bytes());
    rest.extend_from_slice(body);
    with_crc(&rest)
}

/// A data datagram: 20 bytes of header and `payload`.
pub fn data(session: u32, pn: u32, block: u32, payload: &[u8]) -> Vec<u8> {
    let mut rest = vec![DATA, 0, 0, 0];
    for field in [session, pn, block] {
        rest.extend_from_slice(&field.to_le_bytes());
    }
    rest.extend_from_slice(payload);
    with_crc(&rest)
}

/// An acknowledgement, field by field.
#[derive(Debug, Clone, Default)]
pub struct ForgedAck {
    pub largest: u64,
    pub first_missing: u64,
    pub credit: u64,
    pub budget: u64,
    pub received: u64,
    pub counters: [u64; 4],
    pub delay_us: u32,
    /// Gaps and lengths, downwards from the largest.
    pub ranges: Vec<(u32, u32)>,
    pub bitmap: Vec<u8>,
}

impl ForgedAck {
    pub fn datagram(&self, session: u32) -> Vec<u8> {
        let mut body = Vec::new();
        let words = [
            self.largest,
            self.first_missing,
            self.credit,
            self.budget,
            self.received,
        ];
        for word in words.iter().chain(&self.counters) {
            body.extend_from_slice(&word.to_le_bytes());
        }
        body.extend_from_slice(&self.delay_us.to_le_bytes());
        body.push(self.ranges.len() as u8);
        for (gap, len) in &self.ranges {
            body.extend_from_slice(&gap.to_le_bytes());
            body.extend_from_slice(&len.to_le_bytes());
        }
        body.extend_from_slice(&(self.bitmap.len() as u16).to_le_bytes());
        body.extend_from_slice(&self.bitmap);
        control(ACK, session, &body)
    }
}

/// The end of a content.
pub fn fin(session: u32, total: u64, digest: [u8; 32]) -> Vec<u8> {
    let mut body = total.to_le_bytes().to_vec();
    body.extend_from_slice(&digest);
    body.extend_from_slice(&1000_u32.to_le_bytes());
    control(FIN, session, &body)
}

/// A HELLO, field by field.
#[derive(Debug, Clone)]
pub struct ForgedHello {
    pub nonce: u64,
    pub version: u8,
    pub is_sender: u8,
    pub arq: u8,
    pub packet_bytes: u32,
    pub total: u64,
    pub start: u64,
    pub window: u64,
    pub granularity: u64,
    pub max_ack_delay: u64,
    pub ack_packets: u32,
    pub token: Vec<u8>,
    pub cookie: Vec<u8>,
}

impl Default for ForgedHello {
    fn default() -> Self {
        Self {
            nonce: 1,
            version: 1,
            is_sender: 1,
            arq: 0,
            packet_bytes: 1000,
            total: 10_000,
            start: 0,
            window: 1 << 20,
            granularity: 1_000_000,
            max_ack_delay: 1_000_000,
            ack_packets: 2,
            token: b"token".to_vec(),
            cookie: Vec::new(),
        }
    }
}

impl ForgedHello {
    pub fn datagram(&self) -> Vec<u8> {
        let mut body = self.nonce.to_le_bytes().to_vec();
        body.extend_from_slice(&[self.version, self.is_sender, self.arq, 0]);
        body.extend_from_slice(&self.packet_bytes.to_le_bytes());
        for word in [
            self.total,
            self.start,
            self.window,
            self.granularity,
            self.max_ack_delay,
        ] {
            body.extend_from_slice(&word.to_le_bytes());
        }
        body.extend_from_slice(&self.ack_packets.to_le_bytes());
        for bytes in [&self.token, &self.cookie] {
            body.push(bytes.len() as u8);
            body.extend_from_slice(bytes);
        }
        body.resize(body.len().max(512), 0);
        control(HELLO, 0, &body)
    }
}

/// An ACCEPT.
pub fn accept(session: u32, words: [u64; 5]) -> Vec<u8> {
    let body: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
    control(ACCEPT, session, &body)
}
