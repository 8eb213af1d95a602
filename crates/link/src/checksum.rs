//! The Internet checksum (RFC 1071).

/// The offset of the checksum in a TCP header.
pub(crate) const IN_TCP: usize = 16;
/// The offset of the checksum in a UDP header.
pub(crate) const IN_UDP: usize = 6;

/// The sum of `bytes` as 16-bit words in this machine's byte order, not folded; an odd byte is padded with zero.
///
/// The sum is independent of the byte order (RFC 1071 section 2 (B)), as long as the result is stored in the same one. Sums of parts of
/// even length may be added.
pub(crate) fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<4>();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    // Two to the power of 16 is one modulo 65535, so words of 32 bits give the same sum.
    words
        .iter()
        .chain([&last])
        .map(|word| u64::from(u32::from_ne_bytes(*word)))
        .sum()
}

/// A sum folded to 16 bits, in this machine's byte order.
pub(crate) const fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// The checksum, as it is stored, of a packet whose words add up to `sum`.
pub(crate) const fn finish(sum: u64) -> [u8; 2] {
    (!fold(sum)).to_ne_bytes()
}

/// The checksum of UDP, in which zero means that there is none (RFC 768).
pub(crate) const fn finish_udp(sum: u64) -> [u8; 2] {
    match finish(sum) {
        [0, 0] => [0xff, 0xff],
        checksum => checksum,
    }
}

/// Completes the checksum of a frame whose host left that to its device: `field_at` bytes behind `start_at` the field holds the sum of the
/// pseudo-header. Offsets outside of the frame change nothing.
pub fn complete(frame: &mut [u8], start_at: usize, field_at: usize) {
    let Some(covered) = frame.get_mut(start_at..) else {
        return;
    };
    let finish = if field_at == IN_UDP {
        finish_udp
    } else {
        finish
    };
    let checksum = finish(sum(covered));
    if let Some(field) = covered.get_mut(field_at..field_at.saturating_add(2)) {
        field.copy_from_slice(&checksum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_rfc_1071_holds() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(fold(sum(&bytes)).to_ne_bytes(), [0xdd, 0xf2]);
        // Odd lengths are padded, and parts add up.
        assert_eq!(fold(sum(&bytes[..7])).to_ne_bytes(), [0xdc, 0xfb]);
        assert_eq!(sum(&bytes), sum(&bytes[..4]) + sum(&bytes[4..]));
    }

    #[test]
    fn a_completed_packet_adds_up_to_all_ones() {
        let mut frame: Vec<u8> = (0..=200).collect();
        // The sum of an empty pseudo-header.
        frame[34 + IN_TCP..34 + IN_TCP + 2].fill(0);
        complete(&mut frame, 34, IN_TCP);
        assert_eq!(fold(sum(&frame[34..])), 0xffff);
        let before = frame.clone();
        complete(&mut frame, 200, 16);
        complete(&mut frame, 900, usize::MAX);
        assert_eq!(frame, before);
    }
}
