//! Whose pages may use a server: its own, and those that its operator lists.

/// `true` for a request of the server's own page, of one whose origin is listed, or of a program that is no browser.
///
/// A browser names the origin of the page that asks for a WebSocket, and no page can keep it from that (RFC 6455, section 10.2).
pub(crate) fn is_own_or_listed(
    origin: Option<&str>,
    host: Option<&str>,
    listed: &[String],
) -> bool {
    let Some(origin) = origin else {
        return true;
    };
    let of_host = |scheme: &str| {
        origin
            .strip_prefix(scheme)
            .is_some_and(|of_page| host.is_some_and(|host| of_page.eq_ignore_ascii_case(host)))
    };
    of_host("http://")
        || of_host("https://")
        || listed.iter().any(|one| one.eq_ignore_ascii_case(origin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_foreign_page_is_refused_unless_it_is_listed() {
        let listed = ["https://example.net".to_owned()];
        let is_let_in = |origin| is_own_or_listed(origin, Some("far:5201"), &listed);
        assert!(is_let_in(None));
        assert!(is_let_in(Some("http://far:5201")) && is_let_in(Some("http://FAR:5201")));
        assert!(is_let_in(Some("https://example.net")));
        for foreign in [
            "http://far",
            "http://evil.example",
            "null",
            "",
            "http://far:5201.evil.example",
            "https://example.net.evil",
        ] {
            assert!(!is_let_in(Some(foreign)), "{foreign}");
        }
        assert!(!is_own_or_listed(Some("http://far"), None, &[]));
    }
}
