//! The first bytes of an iperf 2 connection, its answer and its requests: no bytes panic, and no more is
//! asked for than there can be.
#![no_main]

use caudal_wire::iperf2::{Bounceback, MAX_HEADER_BYTES, ServerAck, TcpOpening};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    match TcpOpening::parse(bytes) {
        Ok(TcpOpening::Needs(more)) => assert!(more > bytes.len() && more <= MAX_HEADER_BYTES),
        Ok(TcpOpening::Test(header, length)) => {
            assert!(length <= bytes.len());
            if header.extended.is_some() {
                let again = TcpOpening::parse(&header.encode_tcp((0, 0)));
                assert!(matches!(again, Ok(TcpOpening::Test(..))));
            }
        }
        Ok(TcpOpening::Payload | TcpOpening::Bounceback) | Err(_) => {}
    }
    if let Some(ack) = ServerAck::decode(bytes) {
        assert_eq!(
            ServerAck::decode(&ack.encode()).map(|ack| ack.version),
            Some(ack.version)
        );
    }
    if let Some(request) = Bounceback::decode(bytes) {
        assert!(request.size <= 1 << 20 && request.reply <= 1 << 20);
    }
});
