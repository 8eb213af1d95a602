//! What a path is for.

/// The length of the secret of a test, hexadecimal digits.
pub(crate) const SECRET_DIGITS: usize = 32;

/// A connection of a test with the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum WebFlow {
    /// Payload to the browser.
    Down,
    /// Payload from the browser.
    Up,
    /// Round trips.
    Probe,
}

/// What a path is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RequestRoute<'a> {
    /// A file of the page.
    Page(&'a str),
    /// The result of a test, by its id.
    Result(&'a str),
    /// The dialogue of a test with the page.
    Dialogue,
    /// A connection of such a test.
    Flow(&'a str, WebFlow),
    /// A download of ndt7.
    Ndt7Download,
    /// An upload of ndt7.
    Ndt7Upload,
    /// Nothing.
    Unknown,
}

impl<'a> RequestRoute<'a> {
    /// What a path, without its query, is for.
    pub(crate) fn of(path: &'a str) -> Self {
        match path {
            "/" | "/page.js" | "/page.css" | "/icon.svg" => Self::Page(path),
            "/test" => Self::Dialogue,
            "/ndt/v7/download" => Self::Ndt7Download,
            "/ndt/v7/upload" => Self::Ndt7Upload,
            _ => Self::with_secret(path).unwrap_or(Self::Unknown),
        }
    }

    fn with_secret(path: &'a str) -> Option<Self> {
        if let Some(id) = path.strip_prefix("/r/") {
            return is_secret(id).then_some(Self::Result(id));
        }
        let (secret, kind) = path.strip_prefix("/s/")?.split_once('/')?;
        let kind = match kind {
            "down" => WebFlow::Down,
            "up" => WebFlow::Up,
            "probe" => WebFlow::Probe,
            _ => return None,
        };
        is_secret(secret).then_some(Self::Flow(secret, kind))
    }
}

/// The secret of the test that a connection belongs to, by its first bytes; `None` for another request.
pub(crate) fn session_of(first: &[u8]) -> Option<&str> {
    let rest = first.strip_prefix(b"GET /s/")?;
    let secret = std::str::from_utf8(rest.get(..SECRET_DIGITS)?).ok()?;
    is_secret(secret).then_some(secret)
}

fn is_secret(text: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    text.len() == SECRET_DIGITS && text.bytes().all(is_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_for_one_thing() {
        let secret = "0123456789abcdef0123456789abcdef";
        let flow = format!("/s/{secret}/up");
        assert_eq!(
            RequestRoute::of(&flow),
            RequestRoute::Flow(secret, WebFlow::Up)
        );
        let result = format!("/r/{secret}");
        assert_eq!(RequestRoute::of(&result), RequestRoute::Result(secret));
        assert_eq!(RequestRoute::of("/"), RequestRoute::Page("/"));
        for none in [
            "",
            "/r/../../etc/passwd",
            "/r/0123",
            "/s//up",
            &format!("/s/{secret}/other"),
            &format!("/r/{}", secret.to_uppercase()),
            "*",
            "//",
        ] {
            assert_eq!(RequestRoute::of(none), RequestRoute::Unknown, "{none}");
        }
        assert_eq!(
            session_of(format!("GET {flow} HTTP/1.1").as_bytes()),
            Some(secret)
        );
        assert_eq!(
            session_of(b"GET /s/0123/up HTTP/1.1\r\nHost: somewhere"),
            None
        );
    }
}
