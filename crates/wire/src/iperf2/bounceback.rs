//! Requests that the server sends back, for response times (`--bounceback`, 2.1 and later).

use super::field::{half, put, put_half, word};

/// The length of a request's header, bytes.
pub const BOUNCEBACK_BYTES: usize = 64;
const FLAGS: u32 = 0x0080_0000;
const QUICK_ACK: u16 = 0x8000;
const STOP: u16 = 0x1000;
const REPLY_SIZE: u16 = 0x0800;
/// The largest request or reply that is served, bytes.
const MAX_MESSAGE_BYTES: u32 = 1 << 20;

/// The header of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounceback {
    /// Bytes in the request.
    pub size: u32,
    /// Its number.
    pub id: u32,
    /// `true` when delayed acknowledgements are to be off.
    pub quick_ack: bool,
    /// `true` in the last request.
    pub stop: bool,
    /// The time the server is to wait before it answers, µs.
    pub hold_us: u32,
    /// Bytes in the answer.
    pub reply: u32,
    /// The duration of the test, hundredths of a second.
    pub run: u32,
}

impl Bounceback {
    /// Reads a request's header; `None` when it is not one, too short, or announces sizes that are not served.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let flags = half(bytes, 12)?;
        let size = word(bytes, 4)?;
        let reply = match word(bytes, 60)? {
            reply if flags & REPLY_SIZE != 0 => reply,
            _ => size,
        };
        let fits = (BOUNCEBACK_BYTES as u32..=MAX_MESSAGE_BYTES).contains(&size)
            && (BOUNCEBACK_BYTES as u32..=MAX_MESSAGE_BYTES).contains(&reply);
        (word(bytes, 0)? & FLAGS != 0 && fits).then_some(Self {
            size,
            id: word(bytes, 8)?,
            quick_ack: flags & QUICK_ACK != 0,
            stop: flags & STOP != 0,
            hold_us: word(bytes, 44)?,
            reply,
            run: word(bytes, 16)?,
        })
    }

    /// Writes a request's header over the first bytes of `room`.
    pub fn write(&self, room: &mut [u8], sent: (u32, u32)) {
        put(room, 0, FLAGS);
        put(room, 4, self.size);
        put(room, 8, self.id);
        let mut flags = 0;
        if self.quick_ack {
            flags |= QUICK_ACK;
        }
        if self.stop {
            flags |= STOP;
        }
        if self.reply != self.size {
            flags |= REPLY_SIZE;
            put(room, 60, self.reply);
        }
        put_half(room, 12, flags);
        put(room, 16, self.run);
        put(room, 20, sent.0);
        put(room, 24, sent.1);
        put(room, 44, self.hold_us);
    }

    /// Writes the times of reception and departure into a request that is sent back.
    pub fn stamp(room: &mut [u8], received: (u32, u32), sent: (u32, u32)) {
        put(room, 28, received.0);
        put(room, 32, received.1);
        put(room, 36, sent.0);
        put(room, 40, sent.1);
    }
}
