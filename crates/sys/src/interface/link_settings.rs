//! The settings of a link.

/// The settings of a link as its driver reports them; `None` where it does not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LinkSettings {
    /// The speed, Mbit/s.
    pub speed_mbps: Option<u32>,
    /// `true` for full duplex, `false` for half duplex.
    pub is_full_duplex: Option<bool>,
    /// `true` when autonegotiation is on.
    pub is_autonegotiating: Option<bool>,
    /// The names of what this end supports, as `100baseT/Half`, with those of ports and flow control.
    pub supported: Option<Vec<String>>,
    /// The names of what it advertises.
    pub advertised: Option<Vec<String>>,
    /// The names of what the link partner advertises; `None` also where it advertises nothing.
    pub partner: Option<Vec<String>>,
    /// The number of lanes.
    pub lanes: Option<u32>,
}

/// A speed, Mbit/s; `None` for what stands for an unknown one: all ones, which some drivers write in 16 bits, or 0.
pub(super) fn known_speed(mbps: u32) -> Option<u32> {
    (![0, 0xffff, u32::MAX].contains(&mbps)).then_some(mbps)
}

/// `true` for the number of full duplex, `false` for that of half duplex, `None` for others. Source: `DUPLEX_…`,
/// include/uapi/linux/ethtool.h.
pub(super) fn full_duplex(duplex: u8) -> Option<bool> {
    match duplex {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    }
}
