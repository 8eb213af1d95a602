//! The MTU of a segment size, as iperf 2.0.5 shows it.

/// The MTU that a maximum segment size belongs to, and the kind of link with that MTU.
pub(super) const fn mtu_from_mss(mss: u32) -> (u32, &'static str) {
    // The headers of IP and TCP; on the links whose MTU is known, timestamps take another 12 bytes of each segment.
    let mtu = match mss {
        1448 | 4300 | 9128 => mss + 52,
        _ => mss + 40,
    };
    let kind = match mtu {
        576 => "minimum",
        1500 => "ethernet",
        4352 => "FDDI",
        9180 => "ATM",
        65_535 => "loopback",
        _ => "unknown interface",
    };
    (mtu, kind)
}
