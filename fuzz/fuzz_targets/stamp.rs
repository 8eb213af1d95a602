//! Packets of STAMP: whatever comes is answered in place or refused, and its reply is read.

#![no_main]

use caudal_wire::stamp::{
    ErrorEstimate, FollowUp, ReflectedStamp, ReflectionFacts, StampKey, StampMode, TimeSource,
    TimestampFormat, TimestampMethod, decode_reply, decode_request, extensions, reflect_extensions,
    seal_reply, verify_hmac_extension, write_reply,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let key = StampKey::new(&[7; 16]).expect("16 bytes are a key");
    for mode in [StampMode::Open, StampMode::Authenticated(&key)] {
        let Ok(request) = decode_request(data, mode) else {
            continue;
        };
        let mut reply = data.to_vec();
        let facts = ReflectionFacts {
            source: ([192, 0, 2, 1], 40_000).into(),
            destination: ([192, 0, 2, 2], 862).into(),
            tos: Some(data.len() as u8),
            counts: Some((3, 2)),
            time_source: TimeSource::FreeRunning,
            received_by: TimestampMethod::Software,
            follow_up: Some(FollowUp {
                sequence: 1,
                timestamp: [4; 8],
                method: None,
            }),
        };
        if let Some(after) = reply.get_mut(mode.fixed_bytes()..) {
            let with_key = matches!(mode, StampMode::Authenticated(_)).then_some(&key);
            reflect_extensions(after, (request.sequence, 2), with_key, &facts);
            for one in extensions(after) {
                let _ = (
                    one.kind(),
                    one.is_honoured(),
                    one.location(),
                    one.follow_up(),
                );
                let _ = (
                    one.direct_measurement(),
                    one.arrived_tos(),
                    one.timestamp_information(),
                );
            }
            let _ = verify_hmac_extension(after, 2, &key);
        }
        let reflected = ReflectedStamp {
            sequence: 2,
            timestamp: [0; 8],
            format: TimestampFormat::Ntp,
            error: Some(ErrorEstimate::default()),
            received: Some([5; 8]),
            sender_sequence: None,
            sender_timestamp: None,
            sender_ttl: Some(64),
        };
        write_reply(&request, &reflected, mode, &mut reply);
        seal_reply([6; 8], mode, &mut reply);
        assert_eq!(reply.len(), data.len());
        let read = decode_reply(&reply, mode).expect("a reply of ours is one");
        for format in [TimestampFormat::Ntp, TimestampFormat::Ptp] {
            let _ = format.decode(read.timestamp, u64::from(read.sequence));
        }
    }
    let _ = decode_reply(data, StampMode::Open);
});
