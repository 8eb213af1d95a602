//! What the interface of an end says of the duplex of its link.

use super::statement::LinkSide;
use caudal_core::interface::{DuplexMode, InterfaceLink, LinkMedium, LinkModes};
use caudal_core::units::BitRate;

/// Speed at and above which links are full duplex, Mbit/s. IEEE 802.3 clause 41 has a repeater for 1000BASE-T, which nobody built.
const GIGABIT: u32 = 1000;

/// The link of an end, by the report of its own interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndLink {
    /// What it says of duplex.
    pub state: EndLinkState,
    /// Its rate; `None` where it is not known, or invented.
    pub rate: Option<BitRate>,
}

/// The duplex mode of an interface, how it came to it, and what the link partner is known to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndLinkState {
    /// It runs at 1 Gbit/s or more, where half duplex does not exist.
    Gigabit,
    /// Full duplex by autonegotiation, which takes a partner that negotiates full duplex as well.
    NegotiatedFull {
        /// `true` when the driver reports the modes of the partner.
        partner_is_known: bool,
    },
    /// Full duplex without autonegotiation: a partner that negotiates falls back to half duplex.
    ForcedFull,
    /// Full duplex, and how it came to it is not known.
    Full,
    /// Half duplex, negotiated with a partner that knows it.
    NegotiatedHalf,
    /// Half duplex by parallel detection: it negotiates and its partner does not (IEEE 802.3 section 28.2.3.1).
    ParallelHalf {
        /// `true` when the driver reports what it detected of the partner; otherwise it may not report partners at all.
        partner_is_known: bool,
    },
    /// Half duplex without autonegotiation: a partner that negotiates falls back to half duplex too.
    ForcedHalf,
    /// Half duplex, and how it came to it is not known.
    Half,
    /// Its reports exclude one another.
    Contradictory,
    /// It is a radio, whose stations share one channel.
    Wireless,
    /// It is no hardware: what it reports is invented.
    Virtual,
    /// It is no Ethernet interface.
    NotEthernet,
    /// It detects no link.
    NoLink,
    /// It reports nothing that decides.
    Unknown,
}

impl From<&InterfaceLink> for EndLink {
    fn from(link: &InterfaceLink) -> Self {
        let state = state(link);
        let is_hardware = !matches!(
            state,
            EndLinkState::Virtual
                | EndLinkState::NotEthernet
                | EndLinkState::NoLink
                | EndLinkState::Unknown
        );
        let mbps = link.speed_mbps.filter(|_| is_hardware);
        Self {
            state,
            rate: mbps.map(|mbps| BitRate::from_bps(u64::from(mbps) * 1_000_000)),
        }
    }
}

impl EndLinkState {
    /// `true` when this end and its link partner are both known to be full duplex.
    pub(super) fn is_full_at_both_ends(self) -> bool {
        matches!(self, Self::Gigabit | Self::NegotiatedFull { .. })
    }

    /// `true` when this end is half duplex by its report.
    pub(super) fn is_half(self) -> bool {
        self == Self::NegotiatedHalf || self.is_half_without_agreement()
    }

    /// `true` when this end is half duplex and its link partner may be full duplex.
    pub(super) fn is_half_without_agreement(self) -> bool {
        matches!(
            self,
            Self::ParallelHalf { .. } | Self::ForcedHalf | Self::Half
        )
    }

    /// The half-duplex end of a mismatch on the link of the end at `side`, if there is one: this end, seen from the path, or its partner,
    /// which is on the way to the other end.
    pub(super) fn half_of_mismatch(self, side: LinkSide) -> Option<LinkSide> {
        if self.is_half_without_agreement() {
            Some(side)
        } else {
            (self == Self::ForcedFull).then(|| side.other())
        }
    }
}

fn state(link: &InterfaceLink) -> EndLinkState {
    match link.medium() {
        None => EndLinkState::Unknown,
        Some(LinkMedium::Wireless) => EndLinkState::Wireless,
        Some(LinkMedium::Virtual) => EndLinkState::Virtual,
        Some(LinkMedium::Other) => EndLinkState::NotEthernet,
        Some(LinkMedium::Ethernet) if link.link_detected == Some(false) => EndLinkState::NoLink,
        Some(LinkMedium::Ethernet) => ethernet_state(link),
    }
}

fn ethernet_state(link: &InterfaceLink) -> EndLinkState {
    let is_gigabit = link.speed_mbps.is_some_and(|mbps| mbps >= GIGABIT);
    match link.duplex {
        None if is_gigabit && supports(link, DuplexMode::Full) => EndLinkState::Gigabit,
        None => EndLinkState::Unknown,
        // A driver that knows no modes leaves the field at 0, which is half duplex.
        Some(duplex) if !supports(link, duplex) => EndLinkState::Unknown,
        Some(DuplexMode::Half) if is_gigabit => EndLinkState::Contradictory,
        Some(DuplexMode::Full) if is_gigabit => EndLinkState::Gigabit,
        Some(DuplexMode::Half) => half_state(link),
        Some(DuplexMode::Full) => full_state(link),
    }
}

/// `true` unless the interface is known not to support this duplex at its speed.
fn supports(link: &InterfaceLink, duplex: DuplexMode) -> bool {
    let is_at_speed = |mbps| link.speed_mbps.is_none_or(|speed| speed == mbps);
    link.supported_modes
        .as_ref()
        .is_none_or(|modes| match duplex {
            DuplexMode::Full => modes.full_duplex_mbps().any(is_at_speed),
            DuplexMode::Half => modes.half_duplex_mbps().any(is_at_speed),
        })
}

/// What is known of a link partner.
enum Partner<'a> {
    /// It negotiates, with these modes.
    Negotiates(&'a LinkModes),
    /// It does not: the one mode that is reported is what was detected.
    IsDetected,
    /// The driver reports no modes of it.
    Unknown,
}

fn partner(link: &InterfaceLink) -> Partner<'_> {
    let reported = link.partner_modes.as_ref();
    let Some(modes) = reported.filter(|modes| !modes.is_empty()) else {
        return Partner::Unknown;
    };
    // Parallel detection finds one half-duplex mode. Some drivers do not report that the partner negotiates.
    let negotiates = link.partner_autonegotiation == Some(true)
        || modes.names().len() > 1
        || modes.full_duplex_mbps().next().is_some();
    if negotiates {
        Partner::Negotiates(modes)
    } else {
        Partner::IsDetected
    }
}

fn full_state(link: &InterfaceLink) -> EndLinkState {
    match (link.autonegotiation, partner(link)) {
        (None, _) => EndLinkState::Full,
        // An interface that is not able to negotiate, as for fibre, was not forced.
        (Some(false), _) if link.autonegotiation_supported == Some(false) => EndLinkState::Full,
        (Some(false), _) => EndLinkState::ForcedFull,
        (Some(true), Partner::Negotiates(modes)) if modes.full_duplex_mbps().next().is_some() => {
            EndLinkState::NegotiatedFull {
                partner_is_known: true,
            }
        }
        (Some(true), Partner::Unknown) => EndLinkState::NegotiatedFull {
            partner_is_known: false,
        },
        (Some(true), Partner::Negotiates(_) | Partner::IsDetected) => EndLinkState::Contradictory,
    }
}

fn half_state(link: &InterfaceLink) -> EndLinkState {
    match (link.autonegotiation, partner(link)) {
        (None, _) => EndLinkState::Half,
        (Some(false), _) if link.autonegotiation_supported == Some(false) => EndLinkState::Half,
        (Some(false), _) => EndLinkState::ForcedHalf,
        (Some(true), Partner::Negotiates(modes)) if has_better_mode(link, modes) => {
            EndLinkState::Contradictory
        }
        (Some(true), Partner::Negotiates(_)) => EndLinkState::NegotiatedHalf,
        (Some(true), Partner::IsDetected) => EndLinkState::ParallelHalf {
            partner_is_known: true,
        },
        (Some(true), Partner::Unknown) => EndLinkState::ParallelHalf {
            partner_is_known: false,
        },
    }
}

/// `true` when both ends advertise a full-duplex mode of at least the link's speed, which negotiation would have chosen (IEEE 802.3
/// annex 28B.3).
fn has_better_mode(link: &InterfaceLink, partner: &LinkModes) -> bool {
    let own = link.advertised_modes.as_ref();
    let is_as_fast = |mbps: &u32| link.speed_mbps.is_none_or(|speed| *mbps >= speed);
    own.is_some_and(|own| {
        own.full_duplex_mbps()
            .filter(is_as_fast)
            .any(|mbps| partner.full_duplex_mbps().any(|other| other == mbps))
    })
}
