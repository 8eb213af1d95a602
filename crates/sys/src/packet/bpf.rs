//! Classic BPF programs: Documentation/networking/filter.rst.

/// A `struct sock_filter`; the jumps are relative.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Instruction {
    pub(super) code: u16,
    pub(super) if_true: u8,
    pub(super) if_false: u8,
    pub(super) value: u32,
}

// Operations, include/uapi/linux/bpf_common.h.
pub(super) const LOAD_WORD: u16 = 0x20;
pub(super) const LOAD_HALF: u16 = 0x28;
pub(super) const LOAD_BYTE: u16 = 0x30;
pub(super) const LOAD_HALF_INDEXED: u16 = 0x48;
pub(super) const AND: u16 = 0x54;
pub(super) const SHIFT_LEFT: u16 = 0x64;
pub(super) const TO_INDEX: u16 = 0x07;
pub(super) const IF_EQUAL: u16 = 0x15;
pub(super) const IF_ANY_BIT: u16 = 0x45;
const IF_AT_LEAST: u16 = 0x35;
const JUMP: u16 = 0x05;
const RETURN: u16 = 0x06;

/// Offsets of the network header, and what the kernel knows of a frame: `SKF_NET_OFF`, `SKF_AD_OFF`.
pub(super) const NETWORK: u32 = (-0x10_0000_i32).cast_unsigned();
const ANCILLARY: u32 = (-0x1000_i32).cast_unsigned();
pub(super) const PROTOCOL: u32 = ANCILLARY;
pub(super) const PACKET_TYPE: u32 = ANCILLARY + 4;
pub(super) const OUTGOING: u32 = 4;

/// A program under construction, whose jumps to its two ends are filled in at last.
#[derive(Default)]
pub(super) struct Program {
    instructions: Vec<Instruction>,
    to_accept: Vec<(usize, bool)>,
    to_reject: Vec<(usize, bool)>,
}

impl Program {
    pub(super) fn push(&mut self, code: u16, value: u32) {
        self.instructions.push(Instruction {
            code,
            if_true: 0,
            if_false: 0,
            value,
        });
    }

    /// Compares, and accepts the frame when that is true; goes on otherwise.
    pub(super) fn accept_if(&mut self, code: u16, value: u32) {
        self.to_accept.push((self.instructions.len(), true));
        self.push(code, value);
    }

    /// Accepts every frame.
    pub(super) fn accept(&mut self) {
        self.push(LOAD_HALF, PROTOCOL);
        // Whatever it is: as large as nothing, or larger.
        self.accept_if(IF_AT_LEAST, 0);
    }

    /// Compares, and rejects the frame when that is not `wanted`; goes on otherwise.
    pub(super) fn reject_unless(&mut self, code: u16, value: u32, wanted: bool) {
        self.to_reject.push((self.instructions.len(), !wanted));
        self.push(code, value);
    }

    /// Compares, and skips `count` instructions when that is true.
    fn skip_if(&mut self, code: u16, value: u32, count: u8) {
        self.push(code, value);
        if let Some(last) = self.instructions.last_mut() {
            last.if_true = count;
        }
    }

    /// Ends the program: frames that no instruction decided on are rejected, of others `snap_bytes` bytes are kept.
    pub(super) fn end(mut self, snap_bytes: u32) -> Vec<Instruction> {
        let reject = self.instructions.len();
        self.push(RETURN, 0);
        self.push(RETURN, snap_bytes);
        let jumps = [(self.to_reject, reject), (self.to_accept, reject + 1)];
        for (sources, end) in jumps {
            for (source, on_true) in sources {
                // The longest program has fewer than 64 instructions.
                let distance = (end - source - 1) as u8;
                let from = &mut self.instructions[source];
                if on_true {
                    from.if_true = distance;
                } else {
                    from.if_false = distance;
                }
            }
        }
        self.instructions
    }

    /// Rejects frames that have `peer` neither as source, `offsets[0]`, nor as destination, `offsets[1]` of the network header.
    pub(super) fn address(&mut self, offsets: [u32; 2], peer: &[u8]) {
        let words: Vec<u32> = peer
            .chunks_exact(4)
            .map(|word| word.iter().fold(0, |all, byte| all << 8 | u32::from(*byte)))
            .collect();
        let count = words.len();
        let first = self.instructions.len();
        let destination = first + 2 * count + 1;
        for (at, word) in words.iter().enumerate() {
            self.push(LOAD_WORD, NETWORK + offsets[0] + 4 * at as u32);
            self.push(IF_EQUAL, *word);
            let here = self.instructions.len();
            if let Some(last) = self.instructions.last_mut() {
                last.if_false = (destination - here) as u8;
            }
        }
        // The source is the peer: the destination does not matter.
        self.push(JUMP, 2 * count as u32);
        for (at, word) in words.iter().enumerate() {
            self.push(LOAD_WORD, NETWORK + offsets[1] + 4 * at as u32);
            self.reject_unless(IF_EQUAL, *word, true);
        }
    }

    /// With the number of the transport protocol loaded: goes on to the ports of TCP and UDP, accepts any other.
    pub(super) fn ports_or_accept(&mut self) {
        self.skip_if(IF_EQUAL, libc::IPPROTO_TCP as u32, 1);
        // Equal to UDP goes on, anything else is accepted.
        self.to_accept.push((self.instructions.len(), false));
        self.push(IF_EQUAL, libc::IPPROTO_UDP as u32);
    }
}
