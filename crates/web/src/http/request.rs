//! The head of a request, and its reading from a connection of somebody who may send it byte by byte, or never.

use caudal_flow::read_some;
use caudal_sys::clock::monotonic_ns;
use caudal_sys::poll::poll_readable;
use std::io;
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// Maximum size of a head, bytes: that of ndt7 may have 4096 of metadata in its target.
const MAX_HEAD_BYTES: usize = 8192;
/// Maximum number of its fields.
const MAX_FIELDS: usize = 64;
/// The fields by which a proxy shows itself.
const PROXY_FIELDS: [&str; 3] = ["via", "forwarded", "x-forwarded-for"];
/// The time that a whole head may take.
const HEAD_TIME: Duration = Duration::from_secs(5);

/// The methods that are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestMethod {
    /// GET.
    Get,
    /// HEAD.
    Head,
}

/// The reason why there is no head.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HeadError {
    /// It is larger than any that makes sense here.
    #[error("its request is larger than {MAX_HEAD_BYTES} B")]
    TooLarge,
    /// It is no HTTP/1.1.
    #[error("its request makes no sense: {0}")]
    Malformed(&'static str),
    /// It did not come in time.
    #[error("its request did not come within {} s", HEAD_TIME.as_secs())]
    Late,
    /// The connection, or the server, has ended.
    #[error("it left before its request was complete")]
    Gone,
}

/// What a request asks a connection to become: a WebSocket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UpgradeRequest {
    /// `Sec-WebSocket-Key`.
    pub(crate) key: String,
    /// The protocols offered in `Sec-WebSocket-Protocol`.
    pub(crate) protocols: Vec<String>,
}

/// The head of a request, as far as it is of use here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestHead {
    /// The method.
    pub(crate) method: RequestMethod,
    /// The target without its query.
    pub(crate) path: String,
    /// `Host`.
    pub(crate) host: Option<String>,
    /// `Origin`.
    pub(crate) origin: Option<String>,
    /// `User-Agent`.
    pub(crate) user_agent: Option<String>,
    /// `true` where a proxy says that it passed the request on.
    pub(crate) is_proxied: bool,
    /// The WebSocket asked for; `None` for another request.
    pub(crate) upgrade: Option<UpgradeRequest>,
}

impl RequestHead {
    /// The head at the beginning of `bytes` and its length; `None` while it is not complete.
    ///
    /// # Errors
    /// When it is none that can be answered.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, HeadError> {
        let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
        let mut request = httparse::Request::new(&mut fields);
        let len = match request.parse(bytes) {
            Ok(httparse::Status::Complete(len)) => len,
            Ok(httparse::Status::Partial) if bytes.len() >= MAX_HEAD_BYTES => {
                return Err(HeadError::TooLarge);
            }
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(httparse::Error::TooManyHeaders) => return Err(HeadError::TooLarge),
            Err(_) => return Err(HeadError::Malformed("it is no HTTP")),
        };
        let method = match request.method {
            Some("GET") => RequestMethod::Get,
            Some("HEAD") => RequestMethod::Head,
            _ => return Err(HeadError::Malformed("its method is neither GET nor HEAD")),
        };
        let target = request.path.unwrap_or_default();
        let path = target.split(['?', '#']).next().unwrap_or_default();
        let fields = Fields(request.headers);
        Ok(Some((
            Self {
                method,
                path: path.to_owned(),
                host: fields.one("host")?.map(str::to_owned),
                origin: fields.one("origin")?.map(str::to_owned),
                user_agent: fields.one("user-agent")?.map(str::to_owned),
                is_proxied: PROXY_FIELDS
                    .iter()
                    .any(|name| fields.all(name).next().is_some()),
                upgrade: fields.upgrade()?,
            },
            len,
        )))
    }
}

/// The fields of a head.
struct Fields<'a>(&'a [httparse::Header<'a>]);

impl<'a> Fields<'a> {
    /// The values of a field.
    fn all(&self, name: &str) -> impl Iterator<Item = &'a str> {
        let of_name = self
            .0
            .iter()
            .filter(move |field| field.name.eq_ignore_ascii_case(name));
        of_name
            .filter_map(|field| std::str::from_utf8(field.value).ok())
            .map(str::trim)
    }

    /// The value of a field that may stand once: twice it could be understood in two ways.
    fn one(&self, name: &str) -> Result<Option<&'a str>, HeadError> {
        let mut values = self.all(name);
        match (values.next(), values.next()) {
            (value, None) => Ok(value),
            _ => Err(HeadError::Malformed("one of its fields stands twice")),
        }
    }

    /// `true` where a field of a list has this entry, in any case of its letters.
    fn has_entry(&self, name: &str, entry: &str) -> bool {
        let mut entries = self.all(name).flat_map(|value| value.split(','));
        entries.any(|one| one.trim().eq_ignore_ascii_case(entry))
    }

    /// The WebSocket that is asked for. Source: RFC 6455, section 4.2.1.
    fn upgrade(&self) -> Result<Option<UpgradeRequest>, HeadError> {
        if !self.has_entry("upgrade", "websocket") {
            return Ok(None);
        }
        if !self.has_entry("connection", "upgrade") {
            return Err(HeadError::Malformed("its Connection field has no upgrade"));
        }
        if self.one("sec-websocket-version")? != Some("13") {
            return Err(HeadError::Malformed("its WebSocket is not of version 13"));
        }
        let key = self.one("sec-websocket-key")?.unwrap_or_default();
        // 16 bytes in Base64.
        if key.len() != 24 || !key.ends_with("==") {
            return Err(HeadError::Malformed("its WebSocket has no key"));
        }
        let protocols = self
            .all("sec-websocket-protocol")
            .flat_map(|value| value.split(','));
        Ok(Some(UpgradeRequest {
            key: key.to_owned(),
            protocols: protocols.map(|one| one.trim().to_owned()).collect(),
        }))
    }
}

/// Reads the head of a request, whose `first` bytes have been read already: with what follows it.
///
/// # Errors
/// When there is none within [`HEAD_TIME`], or `stop` becomes readable before.
pub(crate) fn read_head(
    first: &[u8],
    mut stream: &TcpStream,
    stop: BorrowedFd<'_>,
) -> Result<(RequestHead, Vec<u8>), HeadError> {
    let until_ns = monotonic_ns() + HEAD_TIME.as_nanos() as u64;
    let mut bytes = first.to_vec();
    loop {
        if let Some((head, len)) = RequestHead::parse(&bytes)? {
            return Ok((head, bytes.split_off(len)));
        }
        let left_ns = until_ns.saturating_sub(monotonic_ns());
        if left_ns == 0 {
            return Err(HeadError::Late);
        }
        let ready = poll_readable(&[stream.as_fd(), stop], Some(Duration::from_nanos(left_ns)));
        match ready.as_deref() {
            Ok([_, true]) | Err(_) => return Err(HeadError::Gone),
            Ok([true, _]) => {}
            _ => continue,
        }
        let mut room = [0; 1024];
        let wanted = MAX_HEAD_BYTES.saturating_sub(bytes.len()).min(room.len());
        match read_some(&mut stream, &mut room, wanted) {
            Ok([]) => return Err(HeadError::Gone),
            Ok(some) => bytes.extend_from_slice(some),
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return Err(HeadError::Gone),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const UPGRADE: &str = "GET /ndt/v7/download?streams=1 HTTP/1.1\r\nHost: far:5201\r\nOrigin: http://far:5201\r\n\
        Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
        Sec-WebSocket-Protocol: net.measurementlab.ndt.v7\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

    fn parsed(text: &str) -> Result<RequestHead, String> {
        match RequestHead::parse(text.as_bytes()) {
            Ok(Some((head, _))) => Ok(head),
            Ok(None) => Err("incomplete".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn a_request_for_a_websocket_is_read() {
        let head = parsed(UPGRADE).unwrap();
        assert_eq!(head.path, "/ndt/v7/download");
        assert_eq!(head.origin.as_deref(), Some("http://far:5201"));
        let upgrade = head.upgrade.unwrap();
        assert_eq!(upgrade.protocols, ["net.measurementlab.ndt.v7"]);
        assert!(!head.is_proxied);
        assert_eq!(
            RequestHead::parse(&UPGRADE.as_bytes()[..80]).unwrap(),
            None,
            "a part of it"
        );
    }

    #[test]
    fn what_could_be_understood_in_two_ways_is_not_answered() {
        for (from, to, why) in [
            ("GET", "POST", "method"),
            ("Host: far:5201\r\n", "Host: far\r\nHost: near\r\n", "twice"),
            ("-Version: 13", "-Version: 8", "version 13"),
            ("keep-alive, Upgrade", "keep-alive", "Connection"),
            ("dGhlIHNhbXBsZSBub25jZQ==", "short", "key"),
            ("HTTP/1.1", "HTTQ/9", "no HTTP"),
        ] {
            let error = parsed(&UPGRADE.replace(from, to)).unwrap_err();
            assert!(error.contains(why), "{to}: {error}");
        }
        let many = "X: y\r\n".repeat(MAX_FIELDS + 1);
        let error = parsed(&UPGRADE.replace("Host: far:5201\r\n", &many)).unwrap_err();
        assert!(error.contains("larger"), "{error}");
        let proxied = UPGRADE.replace("Host:", "Via: 1.1 p\r\nHost:");
        assert!(parsed(&proxied).unwrap().is_proxied);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = RequestHead::parse(&bytes);
        }
    }
}
