//! Lists of tokens, and what arrives on an authenticated connection: nobody without the token makes a message.
#![no_main]

use caudal_wire::access_token::{AccessToken, parse_tokens};
use caudal_wire::authentication::ConnectionKey;
use caudal_wire::frame::Decoder;
use caudal_wire::message::{ToClient, ToServer};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, &[u8])| {
    let (cut, bytes) = input;
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Ok(tokens) = parse_tokens(text)
    {
        assert!(!tokens.is_empty());
    }
    let token = AccessToken::new("a token of this target").expect("it is long enough");
    let key = ConnectionKey::derive(&token, b"hello", b"challenge");
    let (mut server, mut client) = (Decoder::default(), Decoder::default());
    server.authenticate(key.to_server());
    client.authenticate(key.to_client());
    for piece in bytes.chunks(usize::from(cut) + 1) {
        server.feed(piece);
        client.feed(piece);
        match (
            server.next_message::<ToServer>(),
            client.next_message::<ToClient>(),
        ) {
            (Ok(None), Ok(None)) => {}
            (Err(_), Err(_)) => return,
            (server, client) => panic!("forged: {server:?}, {client:?}"),
        }
    }
});
