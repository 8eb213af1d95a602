//! The packets of a test: their extensions and their length.

use caudal_core::plan::StampPlan;
use caudal_core::stamp::StampExtension;
use caudal_wire::stamp::{
    ExtensionKind, SenderStamp, StampKey, StampMode, append_extension, append_hmac, append_padding,
    encode_request,
};

/// Bytes that the packets of a test have at least.
#[must_use]
pub fn stamp_bytes(extensions: &[StampExtension], is_authenticated: bool) -> u32 {
    let fixed = match is_authenticated {
        true => caudal_wire::stamp::AUTHENTICATED_BYTES,
        false => caudal_wire::stamp::OPEN_BYTES,
    };
    let each = extensions.iter().map(|one| kind(*one).bytes());
    // Extensions of an authenticated test have an HMAC of their own.
    let hmac = match is_authenticated && !extensions.is_empty() {
        true => ExtensionKind::Hmac.bytes(),
        false => 0,
    };
    (fixed + each.sum::<usize>() + hmac) as u32
}

/// Writes a packet of the test.
pub(super) fn write_packet(
    plan: &StampPlan,
    key: Option<&StampKey>,
    sender: &SenderStamp,
    packet: &mut Vec<u8>,
) {
    let mode = key.map_or(StampMode::Open, StampMode::Authenticated);
    let length = plan.length as usize;
    let fixed = mode.fixed_bytes();
    packet.clear();
    packet.resize(fixed, 0);
    let reply_tos = plan.dscp.unwrap_or(0) << 2;
    for extension in &plan.extensions {
        append_extension(
            packet,
            kind(*extension),
            sender.sequence.wrapping_add(1),
            reply_tos,
        );
    }
    if let Some(key) = key.filter(|_| !plan.extensions.is_empty()) {
        append_hmac(packet, fixed, sender.sequence, key);
    }
    append_padding(packet, length);
    // A packet of TWAMP-Light ends before the fixed part does.
    packet.truncate(length);
    encode_request(sender, mode, packet);
}

/// The extension on the wire.
pub(super) const fn kind(extension: StampExtension) -> ExtensionKind {
    match extension {
        StampExtension::DirectMeasurement => ExtensionKind::DirectMeasurement,
        StampExtension::ClassOfService => ExtensionKind::ClassOfService,
        StampExtension::TimestampInformation => ExtensionKind::TimestampInformation,
        StampExtension::Location => ExtensionKind::Location,
        StampExtension::FollowUpTelemetry => ExtensionKind::FollowUpTelemetry,
        StampExtension::AccessReport => ExtensionKind::AccessReport,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_wire::stamp::{decode_request, extensions, verify_hmac_extension};
    use std::time::Duration;

    fn plan(length: u32, extensions: &[StampExtension], is_authenticated: bool) -> StampPlan {
        StampPlan {
            count: 10,
            period: Duration::from_millis(10),
            poisson: false,
            length,
            timeout: Duration::from_secs(1),
            interval: Duration::from_secs(1),
            dscp: Some(46),
            extensions: extensions.to_vec(),
            is_authenticated,
        }
    }

    #[test]
    fn packets_have_the_length_asked_for_and_the_extensions_in_it() {
        let key = StampKey::new(&[7; 32]).unwrap();
        let sender = SenderStamp {
            sequence: 3,
            timestamp: [1; 8],
            error: [0, 1],
            ssid: 9,
        };
        for (all, key) in [
            (&[][..], None),
            (&StampExtension::ALL, None),
            (&StampExtension::ALL, Some(&key)),
        ] {
            let least = stamp_bytes(all, key.is_some());
            for length in [least, least + 4, 1472] {
                let mut packet = Vec::new();
                write_packet(&plan(length, all, key.is_some()), key, &sender, &mut packet);
                assert_eq!(packet.len(), length as usize);
                let mode = key.map_or(StampMode::Open, StampMode::Authenticated);
                assert_eq!(decode_request(&packet, mode), Ok(sender));
                let after = &packet[mode.fixed_bytes()..];
                let found: Vec<_> = extensions(after).filter_map(|one| one.kind()).collect();
                let expected: Vec<_> = all.iter().map(|one| kind(*one)).collect();
                assert_eq!(found[..expected.len()], expected);
                if let Some(key) = key {
                    assert_eq!(verify_hmac_extension(after, 3, key), Some(true));
                }
            }
        }
        let mut short = Vec::new();
        write_packet(&plan(14, &[], false), None, &sender, &mut short);
        assert_eq!(short.len(), 14);
    }
}
