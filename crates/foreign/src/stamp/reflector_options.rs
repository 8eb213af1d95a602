//! The settings of a reflector, and its counts.

use caudal_engine::Network;
use caudal_wire::stamp::StampKey;
use std::net::IpAddr;

/// The settings of a reflector.
#[derive(Debug, Clone)]
pub struct ReflectorOptions {
    /// The address to listen on; `None` for all.
    pub bind: Option<IpAddr>,
    /// The index of the interface that a link-local address belongs to; 0 for any other address.
    pub scope_id: u32,
    /// The interface, or VRF, that packets must come by; `None` for any.
    pub device: Option<String>,
    /// The port; 0 lets the kernel choose.
    pub port: u16,
    /// The networks that are answered; all where there is none.
    pub allow: Vec<Network>,
    /// The key of packets; `None` to answer those without authentication.
    pub key: Option<StampKey>,
    /// `true` to number replies as packets, and to remember nothing of them.
    pub is_stateless: bool,
    /// `true` to answer packets that are shorter than the fields of a reply of TWAMP-Light with all of them, which is more than came.
    pub answers_short: bool,
    /// Maximum number of packets of one source that are answered in a second.
    pub per_source: u32,
}

/// What became of the packets that a reflector received.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReflectedCounts {
    /// Sent back.
    pub answered: u64,
    /// From a network that is not answered, or from a port of another service.
    pub not_allowed: u64,
    /// Beyond the rate of their source.
    pub over_rate: u64,
    /// Without a valid HMAC.
    pub not_authentic: u64,
    /// Too short for a packet, or longer than any.
    pub malformed: u64,
    /// Refused by the kernel when they were sent back.
    pub not_sent: u64,
    /// Dropped by the kernel before they were read, as far as packets after them have told.
    pub not_read: u64,
}

impl ReflectedCounts {
    /// Packets that were not sent back, by the reason.
    #[must_use]
    pub fn dropped(&self) -> [(&'static str, u64); 6] {
        [
            (
                "of addresses or ports that are not answered",
                self.not_allowed,
            ),
            ("over the rate", self.over_rate),
            ("not authentic", self.not_authentic),
            ("malformed", self.malformed),
            ("not sent by this host's kernel", self.not_sent),
            ("in this host's receive buffer", self.not_read),
        ]
    }
}
