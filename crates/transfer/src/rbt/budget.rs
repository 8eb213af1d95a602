//! The datagrams that a receiving socket can hold.

use caudal_rbt::SocketBudget;

/// What the kernel charges a socket's buffer for a datagram of up to so many bytes of payload (`truesize`): the buffer is allocated in
/// powers of two, with 320 bytes of its own and the room for headers, beside a `struct sk_buff` of 256.
///
/// Measured on Linux 6.18: 832 bytes at 100, 1280 at 500, 2304 at 1000 and 1400.
const CHARGES: [(u32, u64); 6] = [
    (160, 832),
    (640, 1280),
    (1664, 2304),
    (3712, 4352),
    (7808, 8448),
    (16_000, 16_640),
];
/// Share of the buffer promised to the sender: acknowledgements are late, and the kernel charges in steps.
const PROMISED: f64 = 0.75;

/// What the kernel charges for a datagram of `bytes`.
fn charge(bytes: u32) -> u64 {
    CHARGES
        .iter()
        .find(|(max, _)| bytes <= *max)
        .map_or(u64::from(bytes) * 2, |(_, charge)| *charge)
}

/// The bytes of datagrams of `datagram_bytes` each that a socket with a receive buffer of `buffer_bytes`, as the kernel accounts it,
/// can hold when the kernel hands every datagram over by itself. Where it joins them, it holds more.
pub(super) fn socket_budget(buffer_bytes: u64, datagram_bytes: u32) -> SocketBudget {
    let datagrams = (buffer_bytes as f64 * PROMISED) as u64 / charge(datagram_bytes);
    SocketBudget(datagrams.max(1) * u64::from(datagram_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_buffer_holds_few_datagrams_whatever_their_size() {
        // 212 992 bytes held 256, 166, 92 and 92 datagrams.
        for (bytes, held) in [(120, 256), (520, 166), (1020, 92), (1420, 92)] {
            let SocketBudget(budget) = socket_budget(212_992, bytes);
            let datagrams = budget / u64::from(bytes);
            assert!(
                datagrams <= held && datagrams >= held / 2,
                "{bytes}: {datagrams}"
            );
        }
    }

    #[test]
    fn one_datagram_is_always_allowed() {
        assert_eq!(socket_budget(0, 65_000), SocketBudget(65_000));
    }
}
