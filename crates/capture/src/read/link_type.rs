//! The formats of a frame's first header.

/// The format of a frame's first header, by its number in the registry of tcpdump.org (LINKTYPE_ values).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LinkType {
    /// BSD loopback: the address family in the byte order of the capturing host.
    Null,
    /// Ethernet.
    Ethernet,
    /// IPv4 or IPv6 without a link header.
    Raw,
    /// OpenBSD loopback: the address family, big-endian.
    Loop,
    /// Linux cooked capture.
    LinuxCooked,
    /// IPv4 without a link header.
    Ipv4,
    /// IPv6 without a link header.
    Ipv6,
    /// Linux cooked capture, version 2.
    LinuxCooked2,
    /// A format that is not read here.
    Other(u16),
}

impl LinkType {
    /// The format with a number.
    #[must_use]
    pub const fn from_number(number: u16) -> Self {
        match number {
            0 => Self::Null,
            1 => Self::Ethernet,
            // 12 and 14 are DLT_RAW of most systems and of OpenBSD, found in files as they are.
            12 | 14 | 101 => Self::Raw,
            108 => Self::Loop,
            113 => Self::LinuxCooked,
            228 => Self::Ipv4,
            229 => Self::Ipv6,
            276 => Self::LinuxCooked2,
            other => Self::Other(other),
        }
    }

    /// The number in files.
    #[must_use]
    pub const fn number(self) -> u16 {
        match self {
            Self::Null => 0,
            Self::Ethernet => 1,
            Self::Raw => 101,
            Self::Loop => 108,
            Self::LinuxCooked => 113,
            Self::Ipv4 => 228,
            Self::Ipv6 => 229,
            Self::LinuxCooked2 => 276,
            Self::Other(number) => number,
        }
    }

    /// The name that people read.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Null => "BSD loopback",
            Self::Ethernet => "Ethernet",
            Self::Raw => "raw IP",
            Self::Loop => "OpenBSD loopback",
            Self::LinuxCooked => "Linux cooked v1",
            Self::Ipv4 => "raw IPv4",
            Self::Ipv6 => "raw IPv6",
            Self::LinuxCooked2 => "Linux cooked v2",
            Self::Other(number) => other_name(number),
        }
    }
}

/// The name of a format that is not read here.
const fn other_name(number: u16) -> &'static str {
    match number {
        6 => "Token Ring",
        9 => "PPP",
        50 => "PPP in HDLC framing",
        51 => "PPPoE without Ethernet",
        104 => "Cisco HDLC",
        105 => "IEEE 802.11",
        107 => "Frame Relay",
        119 => "IEEE 802.11 with Prism header",
        127 => "IEEE 802.11 with radiotap header",
        147..=162 => "user-defined",
        163 => "IEEE 802.11 with AVS header",
        187 | 201 | 251 | 254..=256 => "Bluetooth",
        189 | 220 | 249 => "USB",
        192 => "per-packet information",
        195 | 215 | 230 => "IEEE 802.15.4",
        227 => "CAN",
        239 => "netfilter log",
        247 => "InfiniBand",
        253 => "netlink",
        _ => "unknown",
    }
}
