//! Ethernet addresses.

/// The Ethernet address of an interface: locally administered, the same every time.
pub(crate) fn mac_address(link: usize, end: usize) -> [u8; 6] {
    let [high, low] = (link as u16).to_be_bytes();
    [0x02, 0xca, 0x0d, high, low, end as u8]
}
