//! A datagram's header and the dialogue that opens a flow.
#![no_main]

use caudal_wire::datagram::{DatagramHeader, HEADER_BYTES, OpeningDatagram};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Some(header) = DatagramHeader::read(bytes) {
        let mut again = [0; HEADER_BYTES];
        header.write(&mut again);
        assert_eq!(again, bytes[..HEADER_BYTES]);
    }
    if let Some(opening) = OpeningDatagram::decode(bytes) {
        assert_eq!(OpeningDatagram::decode(&opening.encode()), Some(opening));
    }
});
