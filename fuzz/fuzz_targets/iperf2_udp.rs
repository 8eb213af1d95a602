//! Datagrams of iperf 2, the first and the last: no bytes panic, and a report is read as it was written.
#![no_main]

use caudal_wire::iperf2::{FirstDatagram, HeaderLayout, Iperf2Datagram, ServerReport};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Some(first) = FirstDatagram::read(bytes) {
        // One that only opens a flow may have no upper half of its number yet.
        let wide = Iperf2Datagram::read(bytes, first.layout, first.wide);
        let narrow = Iperf2Datagram::read(bytes, first.layout, false);
        assert!([wide, narrow].contains(&Some(first.datagram)));
    }
    for layout in [
        HeaderLayout::Twelve,
        HeaderLayout::SixteenOld,
        HeaderLayout::Sixteen,
    ] {
        let _ = Iperf2Datagram::read(bytes, layout, true);
    }
    if let Some(report) = ServerReport::decode(bytes) {
        let again = ServerReport::decode(&report.encode(HeaderLayout::Sixteen));
        assert_eq!(again.map(|again| again.bytes), Some(report.bytes));
    }
});
