//! Datagrams of iperf 2, the first and the last: no bytes panic, and a report is read as it was written.
#![no_main]

use caudal_wire::iperf2::{Datagram, First, Layout, ServerReport};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Some(first) = First::read(bytes) {
        assert_eq!(
            Datagram::read(bytes, first.layout, first.wide),
            Some(first.datagram)
        );
    }
    for layout in [Layout::Twelve, Layout::SixteenOld, Layout::Sixteen] {
        let _ = Datagram::read(bytes, layout, true);
    }
    if let Some(report) = ServerReport::decode(bytes) {
        let again = ServerReport::decode(&report.encode(Layout::Sixteen));
        assert_eq!(again.map(|again| again.bytes), Some(report.bytes));
    }
});
