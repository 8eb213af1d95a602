//! The first bytes of a connection, both ways: no bytes panic, and what is read is written the same.
#![no_main]

use caudal_wire::preamble::{ANSWER_BYTES, PREAMBLE_BYTES, PreambleAnswer, Purpose, TestToken};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Some(preamble) = bytes.first_chunk::<PREAMBLE_BYTES>()
        && let Ok(purpose) = Purpose::decode(preamble)
    {
        assert_eq!(Purpose::decode(&purpose.encode()), Ok(purpose));
    }
    if let Some(answer) = bytes.first_chunk::<ANSWER_BYTES>()
        && let Ok(answer) = PreambleAnswer::decode(answer)
    {
        assert_eq!(PreambleAnswer::decode(&answer.encode()), Ok(answer));
    }
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Some(token) = TestToken::from_hex(text)
    {
        assert_eq!(TestToken::from_hex(&token.to_hex()), Some(token));
    }
});
