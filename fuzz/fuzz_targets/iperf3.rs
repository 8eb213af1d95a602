//! Everything either end of iperf3 sends: cookies, states, parameters, results, errors, datagrams.
#![no_main]

use caudal_wire::iperf3::cookie::{COOKIE_BYTES, Cookie};
use caudal_wire::iperf3::datagram::{CounterWidth, answer_to, is_answer, is_opening};
use caudal_wire::iperf3::{ControlState, Iperf3ErrorCode, MAX_STREAMS, Parameters, Results};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Some(whole) = bytes.first_chunk::<COOKIE_BYTES>()
        && let Some(cookie) = Cookie::decode(whole)
    {
        assert_eq!(cookie.bytes(), whole);
        assert_eq!(cookie.text().len(), COOKIE_BYTES - 1);
    }
    let _ = Cookie::may_begin_with(bytes);
    if let Some(state) = bytes
        .first()
        .and_then(|byte| ControlState::from_byte(*byte))
    {
        assert_eq!(state.byte(), bytes[0]);
    }
    if let Ok(asked) = Parameters::decode(bytes) {
        assert!((1..=MAX_STREAMS).contains(&asked.parallel) && asked.length > 0);
        let _ = (asked.end_bytes(), asked.streams());
        assert_eq!(Parameters::decode(asked.encode().as_bytes()), Ok(asked));
    }
    if let Ok(results) = Results::decode(bytes) {
        for stream in &results.streams {
            let _ = (stream.lost(), stream.datagrams());
        }
        let again = Results::decode(results.encode().as_bytes());
        assert_eq!(
            again.map(|again| again.streams.len()),
            Ok(results.streams.len())
        );
    }
    let error = Iperf3ErrorCode::decode(bytes);
    assert!(!error.to_string().is_empty());
    assert_eq!(Iperf3ErrorCode::decode(&error.encode()), error);
    let _ = (answer_to(bytes), is_answer(bytes), is_opening(bytes));
    for numbering in [CounterWidth::Narrow, CounterWidth::Wide] {
        for near in [0, 1 << 31, u64::MAX] {
            let _ = numbering.read(bytes, near);
        }
    }
});
