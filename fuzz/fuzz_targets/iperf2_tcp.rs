//! The first bytes of an iperf 2 connection, its answer and its requests: no bytes panic, and no more is
//! asked for than there can be.
#![no_main]

use caudal_wire::iperf2::{Ack, Bounceback, LONGEST_HEADER, Opening};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    match Opening::of(bytes) {
        Ok(Opening::Needs(more)) => assert!(more > bytes.len() && more <= LONGEST_HEADER),
        Ok(Opening::Test(header, length)) => {
            assert!(length <= bytes.len());
            if header.extended.is_some() {
                let again = Opening::of(&header.encode_tcp((0, 0)));
                assert!(matches!(again, Ok(Opening::Test(..))));
            }
        }
        Ok(Opening::Payload | Opening::Bounceback) | Err(_) => {}
    }
    if let Some(ack) = Ack::decode(bytes) {
        assert_eq!(
            Ack::decode(&ack.encode()).map(|ack| ack.version),
            Some(ack.version)
        );
    }
    if let Some(request) = Bounceback::decode(bytes) {
        assert!(request.size <= 1 << 20 && request.reply <= 1 << 20);
    }
});
