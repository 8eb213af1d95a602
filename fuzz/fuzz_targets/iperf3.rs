//! Everything either end of iperf3 says: cookies, states, parameters, results, complaints, datagrams.
#![no_main]

use caudal_wire::iperf3::cookie::{COOKIE, Cookie};
use caudal_wire::iperf3::datagram::{Numbering, answer_to, is_answer, is_opening};
use caudal_wire::iperf3::{Complaint, MOST_STREAMS, Parameters, Results, State};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Some(whole) = bytes.first_chunk::<COOKIE>()
        && let Some(cookie) = Cookie::decode(whole)
    {
        assert_eq!(cookie.bytes(), whole);
        assert_eq!(cookie.text().len(), COOKIE - 1);
    }
    let _ = Cookie::may_begin_with(bytes);
    if let Some(state) = bytes.first().and_then(|byte| State::from_byte(*byte)) {
        assert_eq!(state.byte(), bytes[0]);
    }
    if let Ok(asked) = Parameters::decode(bytes) {
        assert!((1..=MOST_STREAMS).contains(&asked.parallel) && asked.length > 0);
        let _ = (asked.amount(), asked.streams());
        assert_eq!(Parameters::decode(asked.encode().as_bytes()), Ok(asked));
    }
    if let Ok(told) = Results::decode(bytes) {
        for stream in &told.streams {
            let _ = (stream.lost(), stream.datagrams());
        }
        let again = Results::decode(told.encode().as_bytes());
        assert_eq!(again.map(|again| again.streams.len()), Ok(told.streams.len()));
    }
    let complaint = Complaint::decode(bytes);
    assert!(!complaint.words().is_empty());
    assert_eq!(Complaint::decode(&complaint.encode()), complaint);
    let _ = (answer_to(bytes), is_answer(bytes), is_opening(bytes));
    for numbering in [Numbering::Narrow, Numbering::Wide] {
        for near in [0, 1 << 31, u64::MAX] {
            let _ = numbering.read(bytes, near);
        }
    }
});
