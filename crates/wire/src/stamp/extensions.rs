//! The extensions that may follow the fixed part of a packet: RFC 8972 section 4.
//!
//! A reflector answers in place: its packet is as long as the sender's.

use super::key::{HMAC_BYTES, StampKey};
use super::packet::{field, put};
use std::net::{IpAddr, SocketAddr};

/// Bytes before the value of an extension: flags, type, length.
const HEADER_BYTES: usize = 4;
/// Flag U: the reflector does not know the type. A sender sets it.
const UNRECOGNIZED: u8 = 0x80;
/// Flag M: the extension is not as long as it says, or its type.
const MALFORMED: u8 = 0x40;
/// Flag I: the HMAC of the extensions is wrong.
const NOT_INTACT: u8 = 0x20;

/// Types within the extension for locations: an address asked for, and the answers for IPv4 and IPv6.
const DESTINATION_ADDRESS: [u8; 3] = [4, 5, 6];
const SOURCE_ADDRESS: [u8; 3] = [7, 8, 9];
/// Bytes of an address in it, whatever its family.
const ADDRESS_BYTES: usize = 16;
/// The access named in a report: not one of 3GPP, and that it is available.
const ACCESS_REPORT: [u8; 2] = [2 << 4, 1];

/// The extensions of RFC 8972.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExtensionKind {
    /// Bytes that make the packet longer.
    Padding = 1,
    /// The addresses and ports with which the packet arrived.
    Location = 2,
    /// Where the reflector's times come from.
    TimestampInformation = 3,
    /// The DSCP and ECN field with which the packet arrived, and those to reply with.
    ClassOfService = 4,
    /// The counts of packets at both ends.
    DirectMeasurement = 5,
    /// The access by which the sender is reached.
    AccessReport = 6,
    /// The time at which the reply before it really left.
    FollowUpTelemetry = 7,
    /// The HMAC of the extensions before it.
    Hmac = 8,
}

impl ExtensionKind {
    /// The extensions that a sender may ask for, in the order in which they are sent.
    pub const ASKED: [Self; 6] = [
        Self::DirectMeasurement,
        Self::ClassOfService,
        Self::TimestampInformation,
        Self::Location,
        Self::FollowUpTelemetry,
        Self::AccessReport,
    ];

    /// The name of the extension in flags, text and documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Padding => "padding",
            Self::Location => "location",
            Self::TimestampInformation => "timestamp-information",
            Self::ClassOfService => "class-of-service",
            Self::DirectMeasurement => "direct-measurement",
            Self::AccessReport => "access-report",
            Self::FollowUpTelemetry => "follow-up-telemetry",
            Self::Hmac => "hmac",
        }
    }

    /// The bytes of the extension in a packet, that of its header included; of padding the fewest.
    #[must_use]
    pub const fn bytes(self) -> usize {
        let value = match self {
            Self::Padding => 0,
            Self::Location => 4 + 2 * (HEADER_BYTES + ADDRESS_BYTES),
            Self::TimestampInformation | Self::ClassOfService => 4,
            Self::DirectMeasurement => 12,
            Self::AccessReport => 2,
            Self::FollowUpTelemetry | Self::Hmac => 16,
        };
        HEADER_BYTES.saturating_add(value)
    }

    const fn from_type(kind: u8) -> Option<Self> {
        Some(match kind {
            1 => Self::Padding,
            2 => Self::Location,
            3 => Self::TimestampInformation,
            4 => Self::ClassOfService,
            5 => Self::DirectMeasurement,
            6 => Self::AccessReport,
            7 => Self::FollowUpTelemetry,
            8 => Self::Hmac,
            _ => return None,
        })
    }
}

/// The source of a clock's synchronization.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeSource {
    /// NTP.
    Ntp = 1,
    /// PTP.
    Ptp = 2,
    /// SSU or BITS.
    SsuBits = 3,
    /// A satellite system or LORAN-C.
    Satellite = 4,
    /// None: the clock runs free.
    FreeRunning = 5,
}

impl TimeSource {
    const fn from_octet(octet: u8) -> Option<Self> {
        Some(match octet {
            1 => Self::Ntp,
            2 => Self::Ptp,
            3 => Self::SsuBits,
            4 => Self::Satellite,
            5 => Self::FreeRunning,
            _ => return None,
        })
    }
}

/// The place at which a timestamp is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimestampMethod {
    /// By hardware.
    Hardware = 1,
    /// By software, next to the interface.
    Software = 2,
    /// By the program.
    ControlPlane = 3,
}

impl TimestampMethod {
    const fn from_octet(octet: u8) -> Option<Self> {
        Some(match octet {
            1 => Self::Hardware,
            2 => Self::Software,
            3 => Self::ControlPlane,
            _ => return None,
        })
    }
}

/// The counts of packets that the ends of a session keep; each wraps at 2³².
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DirectMeasurement {
    /// Packets that the sender had sent.
    pub sent: u32,
    /// Packets that the reflector had received.
    pub received: u32,
    /// Packets that it had sent back.
    pub replied: u32,
}

/// The departure of the reply before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FollowUp {
    /// Its number.
    pub sequence: u32,
    /// The time, in the format of the packet's timestamps.
    pub timestamp: [u8; 8],
    /// Where it was taken; `None` of an unknown place.
    pub method: Option<TimestampMethod>,
}

/// What a reflector knows of a packet and of its session.
#[derive(Debug, Clone, Copy)]
pub struct ReflectionFacts {
    /// The address and port from which it came.
    pub source: SocketAddr,
    /// Those to which it was sent.
    pub destination: SocketAddr,
    /// The TOS byte, or traffic class, with which it arrived; `None` where the kernel does not tell.
    pub tos: Option<u8>,
    /// Packets received in the session, this one included, and sent back, its reply included; `None` without state.
    pub counts: Option<(u32, u32)>,
    /// The source of the reflector's clock.
    pub time_source: TimeSource,
    /// Where the arrival is timestamped.
    pub received_by: TimestampMethod,
    /// The departure of the session's reply before; `None` where it is not known.
    pub follow_up: Option<FollowUp>,
}

/// An extension in a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnsweredExtension<'p> {
    flags: u8,
    kind: u8,
    value: &'p [u8],
}

impl AnsweredExtension<'_> {
    /// The extension; `None` for one that is unknown.
    #[must_use]
    pub const fn kind(&self) -> Option<ExtensionKind> {
        ExtensionKind::from_type(self.kind)
    }

    /// `true` where the reflector has done what the extension asks for: none of its flags is set.
    #[must_use]
    pub const fn is_honoured(&self) -> bool {
        self.flags & (UNRECOGNIZED | MALFORMED | NOT_INTACT) == 0
    }

    /// `true` where the reflector found the HMAC of the extensions wrong.
    #[must_use]
    pub const fn is_not_intact(&self) -> bool {
        self.flags & NOT_INTACT != 0
    }

    /// The counts of a direct measurement.
    #[must_use]
    pub fn direct_measurement(&self) -> Option<DirectMeasurement> {
        self.of(ExtensionKind::DirectMeasurement)?;
        let count = |at| field(self.value, at).map(u32::from_be_bytes);
        Some(DirectMeasurement {
            sent: count(0)?,
            received: count(4)?,
            replied: count(8)?,
        })
    }

    /// The TOS byte, or traffic class, with which the reflector received the packet.
    #[must_use]
    pub fn arrived_tos(&self) -> Option<u8> {
        self.of(ExtensionKind::ClassOfService)?;
        let [first, second] = field(self.value, 0)?;
        let dscp = ((first & 0b11) << 4) | (second >> 4);
        Some((dscp << 2) | ((second >> 2) & 0b11))
    }

    /// Where the reflector's times come from, and how arrivals and departures are timestamped.
    #[must_use]
    pub fn timestamp_information(
        &self,
    ) -> Option<(
        Option<TimeSource>,
        Option<TimestampMethod>,
        Option<TimestampMethod>,
    )> {
        self.of(ExtensionKind::TimestampInformation)?;
        let [source, received_by, _, sent_by] = field(self.value, 0)?;
        Some((
            TimeSource::from_octet(source),
            TimestampMethod::from_octet(received_by),
            TimestampMethod::from_octet(sent_by),
        ))
    }

    /// The departure of the reply before; `None` where the reflector knew none.
    #[must_use]
    pub fn follow_up(&self) -> Option<FollowUp> {
        self.of(ExtensionKind::FollowUpTelemetry)?;
        let timestamp: [u8; 8] = field(self.value, 4)?;
        (timestamp != [0; 8]).then_some(FollowUp {
            sequence: field(self.value, 0).map(u32::from_be_bytes)?,
            timestamp,
            method: self
                .value
                .get(12)
                .and_then(|octet| TimestampMethod::from_octet(*octet)),
        })
    }

    /// The address and port from which the reflector received the packet, and those to which it was sent.
    #[must_use]
    pub fn location(&self) -> Option<(Option<SocketAddr>, Option<SocketAddr>)> {
        self.of(ExtensionKind::Location)?;
        let port = |at| field(self.value, at).map(u16::from_be_bytes);
        let (destination, source) = (port(0)?, port(2)?);
        let inner = self.value.get(4..)?;
        let address = |kinds: [u8; 3]| {
            let found =
                extensions(inner).find(|one| kinds.contains(&one.kind) && one.is_honoured())?;
            let [_, v4, v6] = kinds;
            match found.kind {
                kind if kind == v4 => {
                    field(found.value, 0).map(|octets: [u8; 4]| IpAddr::from(octets))
                }
                kind if kind == v6 => {
                    field(found.value, 0).map(|octets: [u8; 16]| IpAddr::from(octets))
                }
                _ => None,
            }
        };
        let at = |kinds, port| Some(SocketAddr::new(address(kinds)?, port));
        Some((
            at(SOURCE_ADDRESS, source),
            at(DESTINATION_ADDRESS, destination),
        ))
    }

    /// This extension where it is of a kind and was honoured.
    fn of(&self, kind: ExtensionKind) -> Option<()> {
        (self.kind() == Some(kind) && self.is_honoured()).then_some(())
    }
}

/// The extensions in what follows the fixed part of a packet, up to the first that does not fit.
pub fn extensions(packet: &[u8]) -> impl Iterator<Item = AnsweredExtension<'_>> {
    let mut rest = packet;
    std::iter::from_fn(move || {
        let [flags, kind, high, low]: [u8; HEADER_BYTES] = field(rest, 0)?;
        let length = usize::from(u16::from_be_bytes([high, low]));
        let end = HEADER_BYTES.checked_add(length)?;
        let value = rest.get(HEADER_BYTES..end)?;
        rest = rest.get(end..).unwrap_or_default();
        // The padding of other tools, which no type begins.
        ((flags, kind, length) != (0, 0, 0)).then_some(AnsweredExtension { flags, kind, value })
    })
}

/// Appends an extension as a sender asks for it: `sent` packets were sent, this one included, and the reply is to have this TOS byte.
pub fn append_extension(packet: &mut Vec<u8>, kind: ExtensionKind, sent: u32, reply_tos: u8) {
    let value = kind.bytes().saturating_sub(HEADER_BYTES);
    append_header(packet, kind, value);
    let begins = packet.len();
    packet.resize(begins.saturating_add(value), 0);
    let Some(value) = packet.get_mut(begins..) else {
        return;
    };
    match kind {
        ExtensionKind::ClassOfService => put(value, 0, &[reply_tos & 0xfc]),
        ExtensionKind::DirectMeasurement => put(value, 0, &sent.to_be_bytes()),
        ExtensionKind::AccessReport => put(value, 0, &ACCESS_REPORT),
        ExtensionKind::Location => {
            let mut at = 4_usize;
            for [asked, ..] in [DESTINATION_ADDRESS, SOURCE_ADDRESS] {
                put(value, at, &[UNRECOGNIZED, asked, 0, ADDRESS_BYTES as u8]);
                at = at.saturating_add(HEADER_BYTES + ADDRESS_BYTES);
            }
        }
        _ => {}
    }
}

/// Appends padding, so that the packet has this length; nothing where there is no room for its header.
pub fn append_padding(packet: &mut Vec<u8>, length: usize) {
    let missing = length.saturating_sub(packet.len());
    if let Some(value) = missing.checked_sub(HEADER_BYTES) {
        append_header(packet, ExtensionKind::Padding, value);
        packet.resize(length, 0);
    }
}

/// Appends the HMAC of the extensions, which begin at `begins` in a packet of this number.
pub fn append_hmac(packet: &mut Vec<u8>, begins: usize, sequence: u32, key: &StampKey) {
    let covered = packet.get(begins..).unwrap_or_default();
    let hmac = key.hmac(&[&sequence.to_be_bytes(), covered]);
    append_header(packet, ExtensionKind::Hmac, HMAC_BYTES);
    packet.extend_from_slice(&hmac);
}

fn append_header(packet: &mut Vec<u8>, kind: ExtensionKind, value: usize) {
    let [high, low] = u16::try_from(value).unwrap_or(u16::MAX).to_be_bytes();
    packet.extend_from_slice(&[UNRECOGNIZED, kind as u8, high, low]);
}

/// `true` where the HMAC among the extensions of a packet of this number is that of the key; `None` where there is none.
#[must_use]
pub fn verify_hmac_extension(packet: &[u8], sequence: u32, key: &StampKey) -> Option<bool> {
    let at = hmac_place(packet)?;
    let covered = packet.get(..at)?;
    let hmac: [u8; HMAC_BYTES] = field(packet, at.checked_add(HEADER_BYTES)?)?;
    Some(key.verifies(&[&sequence.to_be_bytes(), covered], &hmac))
}

/// The offset of the HMAC among the extensions.
fn hmac_place(packet: &[u8]) -> Option<usize> {
    let mut at = 0_usize;
    for one in extensions(packet) {
        if one.kind() == Some(ExtensionKind::Hmac) {
            return (one.value.len() == HMAC_BYTES).then_some(at);
        }
        at = at.checked_add(HEADER_BYTES)?.checked_add(one.value.len())?;
    }
    None
}

/// Answers the extensions of a packet in place: `sequences` are its number and that of its reply. Returns the TOS byte that the reply is
/// to have, where the packet asks for one.
pub fn reflect_extensions(
    packet: &mut [u8],
    sequences: (u32, u32),
    key: Option<&StampKey>,
    facts: &ReflectionFacts,
) -> Option<u8> {
    let (asked, answered) = sequences;
    let is_intact = key.is_none_or(|key| verify_hmac_extension(packet, asked, key).unwrap_or(true));
    let mut reply_tos = None;
    let mut at = 0_usize;
    let mut is_after_hmac = false;
    while let Some(rest) = packet.get_mut(at..) {
        let Some([flags, kind, high, low]) = field::<HEADER_BYTES>(rest, 0) else {
            break;
        };
        let length = usize::from(u16::from_be_bytes([high, low]));
        if (flags, kind, length) == (0, 0, 0) {
            break;
        }
        let end = HEADER_BYTES.saturating_add(length);
        let Some(value) = rest.get_mut(HEADER_BYTES..end) else {
            put(rest, 0, &[MALFORMED]);
            break;
        };
        let known = ExtensionKind::from_type(kind);
        let flags = match known {
            _ if !is_intact => NOT_INTACT,
            None => UNRECOGNIZED,
            Some(ExtensionKind::Padding) => 0,
            // Only padding may follow the HMAC.
            Some(_) if is_after_hmac => MALFORMED,
            Some(ExtensionKind::Hmac) if key.is_none() => UNRECOGNIZED,
            Some(kind) if kind != ExtensionKind::Location && kind.bytes() != end => MALFORMED,
            Some(kind) => answer(kind, value, facts, &mut reply_tos),
        };
        is_after_hmac |= known == Some(ExtensionKind::Hmac);
        put(rest, 0, &[flags]);
        at = at.saturating_add(end);
    }
    if let (Some(key), true, Some(place)) = (key, is_intact, hmac_place(packet)) {
        let hmac = key.hmac(&[
            &answered.to_be_bytes(),
            packet.get(..place).unwrap_or_default(),
        ]);
        put(packet, place.saturating_add(HEADER_BYTES), &hmac);
    }
    reply_tos
}

/// Answers an extension of the right length, and returns its flags.
fn answer(
    kind: ExtensionKind,
    value: &mut [u8],
    facts: &ReflectionFacts,
    reply_tos: &mut Option<u8>,
) -> u8 {
    match kind {
        ExtensionKind::Location => return answer_location(value, facts),
        ExtensionKind::TimestampInformation => {
            let source = facts.time_source as u8;
            put(
                value,
                0,
                &[
                    source,
                    facts.received_by as u8,
                    source,
                    TimestampMethod::ControlPlane as u8,
                ],
            );
        }
        ExtensionKind::ClassOfService => {
            let [first] = field(value, 0).unwrap_or_default();
            *reply_tos = Some(first & 0xfc);
            let Some(tos) = facts.tos else {
                return UNRECOGNIZED;
            };
            let (dscp, ecn) = (tos >> 2, tos & 0b11);
            put(
                value,
                0,
                &[(first & 0xfc) | (dscp >> 4), (dscp << 4) | (ecn << 2)],
            );
        }
        ExtensionKind::DirectMeasurement => {
            let Some((received, replied)) = facts.counts else {
                return UNRECOGNIZED;
            };
            put(value, 4, &received.to_be_bytes());
            put(value, 8, &replied.to_be_bytes());
        }
        ExtensionKind::FollowUpTelemetry => {
            if let Some(follow_up) = facts.follow_up {
                put(value, 0, &follow_up.sequence.to_be_bytes());
                put(value, 4, &follow_up.timestamp);
                put(
                    value,
                    12,
                    &[follow_up.method.map_or(0, |method| method as u8)],
                );
            }
        }
        ExtensionKind::Padding | ExtensionKind::AccessReport | ExtensionKind::Hmac => {}
    }
    0
}

/// Writes the ports, and the addresses that are asked for.
fn answer_location(value: &mut [u8], facts: &ReflectionFacts) -> u8 {
    if value.len() < HEADER_BYTES {
        return MALFORMED;
    }
    put(value, 0, &facts.destination.port().to_be_bytes());
    put(value, 2, &facts.source.port().to_be_bytes());
    let mut at = 4_usize;
    while let Some(rest) = value.get_mut(at..)
        && let Some([_, kind, high, low]) = field::<HEADER_BYTES>(rest, 0)
    {
        let length = usize::from(u16::from_be_bytes([high, low]));
        let end = HEADER_BYTES.saturating_add(length);
        if rest.len() < end {
            put(rest, 0, &[MALFORMED]);
            break;
        }
        let asked = [
            (DESTINATION_ADDRESS, facts.destination.ip()),
            (SOURCE_ADDRESS, facts.source.ip()),
        ];
        let asked = asked.into_iter().find(|([asked, ..], _)| *asked == kind);
        match asked {
            Some((kinds, address)) if length == ADDRESS_BYTES => {
                write_address(rest, kinds, address);
            }
            Some(_) => put(rest, 0, &[MALFORMED]),
            None => put(rest, 0, &[UNRECOGNIZED]),
        }
        at = at.saturating_add(end);
    }
    0
}

fn write_address(extension: &mut [u8], [_, v4, v6]: [u8; 3], address: IpAddr) {
    let mut octets = [0; ADDRESS_BYTES];
    let kind = match address.to_canonical() {
        IpAddr::V4(address) => {
            put(&mut octets, 0, &address.octets());
            v4
        }
        IpAddr::V6(address) => {
            octets = address.octets();
            v6
        }
    };
    put(extension, 0, &[0, kind]);
    put(extension, HEADER_BYTES, &octets);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn facts() -> ReflectionFacts {
        ReflectionFacts {
            source: "192.0.2.1:40000".parse().unwrap(),
            destination: "192.0.2.2:862".parse().unwrap(),
            tos: Some((46 << 2) | 3),
            counts: Some((10, 9)),
            time_source: TimeSource::FreeRunning,
            received_by: TimestampMethod::Software,
            follow_up: Some(FollowUp {
                sequence: 8,
                timestamp: [0x44; 8],
                method: Some(TimestampMethod::Software),
            }),
        }
    }

    fn all_asked() -> Vec<u8> {
        let mut packet = Vec::new();
        for kind in ExtensionKind::ASKED {
            let before = packet.len();
            append_extension(&mut packet, kind, 12, 10 << 2);
            assert_eq!(packet.len() - before, kind.bytes(), "{kind:?}");
        }
        packet
    }

    #[test]
    fn every_extension_is_answered_and_read() {
        let mut packet = all_asked();
        let length = packet.len();
        assert_eq!(
            reflect_extensions(&mut packet, (12, 9), None, &facts()),
            Some(10 << 2)
        );
        assert_eq!(packet.len(), length);
        let found: Vec<_> = extensions(&packet).collect();
        assert!(
            found.iter().all(AnsweredExtension::is_honoured),
            "{found:?}"
        );
        let counts = DirectMeasurement {
            sent: 12,
            received: 10,
            replied: 9,
        };
        assert_eq!(found[0].direct_measurement(), Some(counts));
        assert_eq!(found[1].arrived_tos(), Some((46 << 2) | 3));
        // DSCP 10 asked, 46 received, CE: 001010 10|1110 11 00.
        assert_eq!(found[1].value, [0b0010_1010, 0b1110_1100, 0, 0]);
        assert_eq!(
            found[2].timestamp_information(),
            Some((
                Some(TimeSource::FreeRunning),
                Some(TimestampMethod::Software),
                Some(TimestampMethod::ControlPlane)
            ))
        );
        let (source, destination) = found[3].location().unwrap();
        assert_eq!(
            (source, destination),
            (Some(facts().source), Some(facts().destination))
        );
        assert_eq!(found[4].follow_up(), facts().follow_up);
        assert_eq!(found[5].value, ACCESS_REPORT);
    }

    #[test]
    fn what_cannot_be_answered_is_flagged_and_the_rest_is_answered() {
        let mut packet = vec![0x80, 200, 0, 2, 7, 7, 0x80, 5, 0, 3, 1, 2, 3];
        append_extension(&mut packet, ExtensionKind::DirectMeasurement, 1, 0);
        packet.extend_from_slice(&[0x80, 4, 0, 200, 0]);
        let before = packet.clone();
        let without_state = ReflectionFacts {
            counts: None,
            ..facts()
        };
        reflect_extensions(&mut packet, (0, 0), None, &without_state);
        let flags: Vec<u8> = extensions(&packet).map(|one| one.flags).collect();
        assert_eq!(flags, [UNRECOGNIZED, MALFORMED, UNRECOGNIZED]);
        assert_eq!(packet[packet.len() - 5], MALFORMED);
        assert_eq!(packet[4..6], before[4..6]);
    }

    #[test]
    fn an_hmac_is_verified_and_made_anew_and_only_padding_may_follow_it() {
        let key = StampKey::new(&[7; 32]).unwrap();
        let mut packet = all_asked();
        append_hmac(&mut packet, 0, 12, &key);
        let length = packet.len() + 20;
        append_padding(&mut packet, length);
        assert_eq!(packet.len(), length);
        assert_eq!(verify_hmac_extension(&packet, 12, &key), Some(true));
        let sent = packet.clone();
        reflect_extensions(&mut packet, (12, 9), Some(&key), &facts());
        assert_eq!(verify_hmac_extension(&packet, 9, &key), Some(true));
        assert!(extensions(&packet).all(|one| one.is_honoured()));
        // Altered on the way, nothing of it is answered, and every extension says so.
        let mut altered = sent.clone();
        altered[7] ^= 1;
        reflect_extensions(&mut altered, (12, 9), Some(&key), &facts());
        assert!(
            extensions(&altered)
                .all(|one| one.is_not_intact() && one.direct_measurement().is_none())
        );
        // Another number than the packet's is another packet.
        assert_eq!(verify_hmac_extension(&sent, 13, &key), Some(false));
        // A reflector without the key knows no HMAC.
        let mut unknown = sent;
        reflect_extensions(&mut unknown, (12, 9), None, &facts());
        let hmac = extensions(&unknown).find(|one| one.kind() == Some(ExtensionKind::Hmac));
        assert_eq!(hmac.unwrap().flags, UNRECOGNIZED);
        append_extension(&mut unknown, ExtensionKind::AccessReport, 0, 0);
        reflect_extensions(&mut unknown, (12, 9), None, &facts());
        assert_eq!(extensions(&unknown).last().unwrap().flags, MALFORMED);
    }

    #[test]
    fn padding_that_is_no_extension_stays_as_it_is() {
        let mut packet = vec![0; 100];
        reflect_extensions(&mut packet, (0, 0), None, &facts());
        assert_eq!(packet, [0; 100]);
        assert_eq!(extensions(&packet).count(), 0);
        let mut none = vec![1, 2];
        append_padding(&mut none, 5);
        assert_eq!(none, [1, 2]);
    }

    #[test]
    fn an_address_of_ipv6_is_told_as_such() {
        let facts = ReflectionFacts {
            source: "[2001:db8::1]:40000".parse().unwrap(),
            destination: "[2001:db8::2]:862".parse().unwrap(),
            ..facts()
        };
        let mut packet = Vec::new();
        append_extension(&mut packet, ExtensionKind::Location, 0, 0);
        reflect_extensions(&mut packet, (0, 0), None, &facts);
        let found = extensions(&packet).next().unwrap();
        assert_eq!(
            found.location(),
            Some((Some(facts.source), Some(facts.destination)))
        );
    }

    proptest! {
        #[test]
        fn any_bytes_are_answered_in_place(mut packet in proptest::collection::vec(any::<u8>(), 0..300), with_key: bool) {
            let key = StampKey::new(&[7; 32]).unwrap();
            let length = packet.len();
            reflect_extensions(&mut packet, (1, 2), with_key.then_some(&key), &facts());
            prop_assert_eq!(packet.len(), length);
            for one in extensions(&packet) {
                let _ = (one.kind(), one.location(), one.follow_up(), one.direct_measurement(), one.arrived_tos());
            }
        }
    }
}
