//! IP fragmentation and reassembly.

use std::collections::VecDeque;

use caudal_analysis::framing::Framing;

use crate::packet::DatagramFragment;

const UDP_HEADER_BYTES: u32 = 8;
/// Maximum number of datagrams in reassembly.
const MAX_INCOMPLETE: usize = 256;

/// The IP packets of a datagram (RFC 791 section 3.2, RFC 8200 section 4.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fragmentation {
    /// The length in bytes of every packet but the last.
    full_bytes: u32,
    /// The length in bytes of the last packet.
    last_bytes: u32,
    /// The number of packets.
    pub(crate) count: u16,
}

impl Fragmentation {
    /// The packets of `framing` that carry `payload` bytes; `None` when that is impossible.
    pub(crate) fn new(framing: &Framing, payload: u32) -> Option<Self> {
        // Headers are 20 or 40 bytes.
        let header = framing.ip.header_bytes() as u32;
        let body = payload.checked_add(UDP_HEADER_BYTES)?;
        if header + body.min(u32::MAX - header) <= framing.mtu {
            return Some(Self {
                full_bytes: 0,
                last_bytes: header + body,
                count: 1,
            });
        }
        let fragment_header = header + if header == 40 { 8 } else { 0 };
        let room = framing.mtu.checked_sub(fragment_header)?;
        let carried = room / 8 * 8;
        if carried == 0 {
            return None;
        }
        let before_last = body.saturating_sub(room).div_ceil(carried);
        Some(Self {
            full_bytes: fragment_header + carried,
            last_bytes: fragment_header + body - before_last * carried,
            count: u16::try_from(before_last + 1).ok()?,
        })
    }

    /// The length in bytes of packet `index`.
    pub(crate) const fn packet_bytes(&self, index: u16) -> u32 {
        if index + 1 == self.count {
            self.last_bytes
        } else {
            self.full_bytes
        }
    }
}

/// Reassembles fragments; beyond a number of incomplete datagrams, the oldest is discarded.
#[derive(Debug, Default)]
pub(crate) struct Reassembly {
    /// The number of each incomplete datagram and of its fragments received.
    incomplete: VecDeque<(u64, u16)>,
}

impl Reassembly {
    /// Takes a fragment; `true` when it completes its datagram. A duplicate counts twice, as duplication is rare.
    pub(crate) fn completes(&mut self, fragment: &DatagramFragment) -> bool {
        if fragment.count <= 1 {
            return true;
        }
        let is_same = |(datagram, _): &(u64, u16)| *datagram == fragment.datagram;
        if let Some(index) = self.incomplete.iter().position(is_same) {
            let received = &mut self.incomplete[index].1;
            *received += 1;
            if *received >= fragment.count {
                self.incomplete.remove(index);
                return true;
            }
            return false;
        }
        if self.incomplete.len() >= MAX_INCOMPLETE {
            self.incomplete.pop_front();
        }
        self.incomplete.push_back((fragment.datagram, 1));
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_analysis::framing::IpVersion;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn fragments_take_as_much_wire_time_as_framing_predicts(mtu in 0_u32..10_000, payload in 0_u32..70_000, is_ipv6: bool, vlan: bool) {
            let ip = if is_ipv6 { IpVersion::V6 } else { IpVersion::V4 };
            let framing = Framing { mtu, ip, vlan, ..Framing::default() };
            let fragmentation = Fragmentation::new(&framing, payload);
            let wire_bytes = fragmentation.map(|packets| {
                (0..packets.count).map(|index| framing.wire_bytes(packets.packet_bytes(index).into())).sum::<u64>()
            });
            prop_assert_eq!(wire_bytes, framing.udp_wire_bytes(payload));
        }
    }
}
