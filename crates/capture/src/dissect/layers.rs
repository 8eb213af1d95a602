//! The headers of a frame beside those that every frame of its flow has.

use std::ops::BitOr;

/// A set of headers that a frame holds, each counted once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Layers(u16);

impl Layers {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const VLAN: Self = Self(1);
    pub(crate) const PPPOE: Self = Self(2);
    pub(crate) const MPLS: Self = Self(4);
    pub(crate) const GRE: Self = Self(8);
    pub(crate) const VXLAN: Self = Self(16);
    pub(crate) const GENEVE: Self = Self(32);
    /// IP directly within IP.
    pub(crate) const IP_IN_IP: Self = Self(64);
    /// IPv4, of any of the packets within one another.
    pub(crate) const IPV4: Self = Self(128);
    pub(crate) const IPV6: Self = Self(256);
    pub(crate) const UDP: Self = Self(512);
    /// Each with its name, in the order of their bits.
    pub(crate) const NAMES: [&'static str; 10] = [
        "VLAN", "PPPoE", "MPLS", "GRE", "VXLAN", "GENEVE", "IP in IP", "IPv4", "IPv6", "UDP",
    ];

    /// The headers of both.
    #[inline]
    pub(crate) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The places of its headers in [`Self::NAMES`].
    #[inline]
    pub(crate) fn places(self) -> impl Iterator<Item = usize> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let place = (left != 0).then(|| left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some(place)
        })
    }
}

impl BitOr for Layers {
    type Output = Self;

    #[inline]
    fn bitor(self, other: Self) -> Self {
        self.with(other)
    }
}
