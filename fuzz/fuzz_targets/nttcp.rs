//! Lines of nttcp and its formats: no text panics, none makes an endless row.
#![no_main]

use caudal_wire::nttcp::{FORMAT, ReportedRow, ResultRow, TransferRequest, read_data_port, title};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let _ = read_data_port(text);
    let _ = title(text);
    let _ = ReportedRow::read(text, FORMAT);
    let row = ResultRow {
        bytes: u64::MAX,
        calls: u64::MAX,
        ..ResultRow::default()
    };
    if let Ok(request) = TransferRequest::decode(text) {
        assert!(row.show('1', &request.format).len() < 64 * 1024);
        if let Some(line) = request.encode(1, &[]) {
            let again = TransferRequest::decode(line.trim_end()).expect("what is written is read");
            assert_eq!(again.transmit, !request.transmit);
        }
    }
});
