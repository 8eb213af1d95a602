//! What a server reports of itself and of a connection, by which a client recognises middleboxes between them.
//!
//! Both are claims: they are read as numbers and addresses or not at all, and shown as such.

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};
use std::net::SocketAddr;

/// A running server: a random number that it draws when it starts. Two connections that reach different servers get different ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ServerInstance(#[serde(with = "hex::serde")] pub [u8; 8]);

/// A control connection as its server sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenConnection {
    /// The address it came from.
    pub client: SocketAddr,
    /// The address it was accepted at.
    pub server: SocketAddr,
    /// The largest segment that the server may send on it, bytes of payload.
    pub mss: u32,
    /// The minimum round-trip time that the server's kernel has seen on it, µs.
    pub rtt_us: u32,
}

/// Reads a value that is only a hint: what cannot be read is absent.
pub(crate) fn hint<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
) -> Result<Option<T>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Hint<T> {
        Known(T),
        Other(IgnoredAny),
    }
    Ok(match Hint::deserialize(from)? {
        Hint::Known(value) => Some(value),
        Hint::Other(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_is_sixteen_hexadecimal_digits_or_nothing() {
        let instance = ServerInstance([0, 1, 2, 3, 0xfc, 0xfd, 0xfe, 0xff]);
        let written = serde_json::to_string(&instance).unwrap();
        assert_eq!(written, r#""00010203fcfdfeff""#);
        assert_eq!(
            serde_json::from_str::<ServerInstance>(&written).unwrap(),
            instance
        );
        for text in [
            "",
            "00010203fcfdfef",
            "00010203fcfdfeffa",
            "+0010203fcfdfeff",
            "0001020\u{e9}fcfdfef",
        ] {
            let text = serde_json::to_string(text).unwrap();
            assert!(
                serde_json::from_str::<ServerInstance>(&text).is_err(),
                "{text}"
            );
        }
    }

    #[test]
    fn a_hint_that_cannot_be_read_is_absent() {
        #[derive(Deserialize)]
        struct Message {
            #[serde(default, deserialize_with = "hint")]
            seen: Option<SeenConnection>,
        }
        let read = |text: &str| serde_json::from_str::<Message>(text).unwrap().seen;
        let seen =
            r#"{"client":"192.0.2.1:7","server":"[2001:db8::1]:5201","mss":988,"rtt_us":40}"#;
        assert_eq!(read(&format!(r#"{{"seen":{seen}}}"#)).unwrap().mss, 988);
        for other in [r#"{"client":"\u001b[2J"}"#, "7", "null", "[]", r#""text""#] {
            assert_eq!(read(&format!(r#"{{"seen":{other}}}"#)), None, "{other}");
        }
        assert_eq!(read("{}"), None);
    }
}
