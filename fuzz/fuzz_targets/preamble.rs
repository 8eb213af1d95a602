//! The first bytes of a connection, both ways: no bytes panic, and what is read is written the same.
#![no_main]

use caudal_wire::preamble::{ANSWER, Answer, PREAMBLE, Purpose, Token};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Some(preamble) = bytes.first_chunk::<PREAMBLE>()
        && let Ok(purpose) = Purpose::decode(preamble)
    {
        assert_eq!(Purpose::decode(&purpose.encode()), Ok(purpose));
    }
    if let Some(answer) = bytes.first_chunk::<ANSWER>()
        && let Ok(answer) = Answer::decode(answer)
    {
        assert_eq!(Answer::decode(&answer.encode()), Ok(answer));
    }
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Some(token) = Token::from_hex(text)
    {
        assert_eq!(Token::from_hex(&token.to_hex()), Some(token));
    }
});
