//! A datagram's header and the dialogue that opens a flow.
#![no_main]

use caudal_wire::datagram::{HEADER, Header, Opening};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Some(header) = Header::read(bytes) {
        let mut again = [0; HEADER];
        header.write(&mut again);
        assert_eq!(again, bytes[..HEADER]);
    }
    if let Some(opening) = Opening::decode(bytes) {
        assert_eq!(Opening::decode(&opening.encode()), Some(opening));
    }
});
