//! Who may use the server: whoever has its token, from pages of its own, under names of its own.
//!
//! Any page that the user visits can send requests to a server on loopback, and any user of the machine can connect. So: a token in a header
//! that no foreign page can set, a list of names against DNS rebinding, and the origin of the page, where the browser tells it.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::io;
use std::sync::Arc;
use subtle::ConstantTimeEq;

/// Says where the page stands that sends a request, relative to this server.
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// Where the token is given for a password.
const LOGIN: &str = "/api/login";
/// What a page may load: nothing but what this server has, and nothing inline.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The secret that a page shows with every request: 128 random bits.
#[derive(Clone)]
pub struct UiToken(String);

impl UiToken {
    /// A new one.
    ///
    /// # Errors
    /// When the kernel has no random numbers.
    pub fn random() -> io::Result<Self> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)?;
        Ok(Self(hex::encode(bytes)))
    }

    /// It as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// `true` where a header field has it, in a time that does not tell where they differ.
    fn is_in(&self, headers: &HeaderMap) -> bool {
        let given = headers
            .get(AUTHORIZATION)
            .and_then(|value| value.as_bytes().strip_prefix(b"Bearer "));
        given.is_some_and(|given| given.ct_eq(self.0.as_bytes()).into())
    }
}

/// Who may use a server.
#[derive(Clone)]
pub(crate) struct Access {
    token: UiToken,
    hosts: Arc<[String]>,
}

/// The names under which a server at this port of loopback may be asked for.
#[must_use]
pub fn allowed_hosts(port: u16) -> Vec<String> {
    ["127.0.0.1", "[::1]", "localhost"]
        .map(|host| format!("{host}:{port}"))
        .to_vec()
}

/// The reason why a request is not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Denial {
    /// The name is not one of this server.
    #[error("this server is not known by that name")]
    Host,
    /// A page of another origin sent it.
    #[error("pages of other origins are not answered")]
    Origin,
    /// The token is missing or wrong.
    #[error("the token is missing or wrong: open the address that `caudal ui` printed")]
    Token,
}

impl Denial {
    const fn status(self) -> StatusCode {
        match self {
            Self::Host => StatusCode::MISDIRECTED_REQUEST,
            Self::Origin => StatusCode::FORBIDDEN,
            Self::Token => StatusCode::UNAUTHORIZED,
        }
    }
}

impl Access {
    pub(crate) fn new(token: UiToken, hosts: Vec<String>) -> Self {
        Self {
            token,
            hosts: hosts.into(),
        }
    }

    /// Checks the name and the origin of a request, and its token where it is one of the API.
    ///
    /// # Errors
    /// The reason why it is not answered.
    pub(crate) fn check(&self, headers: &HeaderMap, is_api: bool) -> Result<(), Denial> {
        let text = |name: HeaderName| match headers.get_all(&name).iter().collect::<Vec<_>>()[..] {
            [] => Ok(None),
            [one] => one.to_str().map(Some).map_err(|_| Denial::Host),
            _ => Err(Denial::Host),
        };
        let host = text(HOST)?.ok_or(Denial::Host)?;
        if !self
            .hosts
            .iter()
            .any(|known| known.eq_ignore_ascii_case(host))
        {
            return Err(Denial::Host);
        }
        let is_own = |origin: &str| {
            let of_page = origin
                .strip_prefix("http://")
                .or_else(|| origin.strip_prefix("https://"));
            of_page.is_some_and(|of_page| of_page.eq_ignore_ascii_case(host))
        };
        if let Some(origin) = headers.get(ORIGIN)
            && !origin.to_str().is_ok_and(is_own)
        {
            return Err(Denial::Origin);
        }
        if let Some(site) = headers.get(SEC_FETCH_SITE) {
            // The address is typed or opened from elsewhere; what it loads then is of this origin.
            let is_allowed = site == "same-origin" || (site == "none" && !is_api);
            if !is_allowed {
                return Err(Denial::Origin);
            }
        }
        match is_api && !self.token.is_in(headers) {
            true => Err(Denial::Token),
            false => Ok(()),
        }
    }
}

/// Checks each request before anything else sees it, and says with each response what a page may do.
pub(crate) async fn guard(
    State(access): State<Access>,
    request: Request<Body>,
    next: Next,
) -> Response {
    // Whoever logs in has no token yet.
    let path = request.uri().path();
    let is_api = path.starts_with("/api/") && path != LOGIN;
    let mut response = match access.check(request.headers(), is_api) {
        Ok(()) => next.run(request).await,
        Err(denial) => (denial.status(), format!("{denial}\n")).into_response(),
    };
    let fields = [
        ("content-security-policy", POLICY),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        (
            "cache-control",
            if is_api { "no-store" } else { "no-cache" },
        ),
    ];
    for (name, value) in fields {
        let name = HeaderName::from_static(name);
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access() -> Access {
        let token = UiToken("0123456789abcdef0123456789abcdef".to_owned());
        Access::new(token, allowed_hosts(8080))
    }

    fn check(fields: &[(&str, &str)], is_api: bool) -> Result<(), Denial> {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            let name: HeaderName = name.parse().unwrap();
            headers.append(name, value.parse().unwrap());
        }
        access().check(&headers, is_api)
    }

    const TOKEN: (&str, &str) = ("authorization", "Bearer 0123456789abcdef0123456789abcdef");
    const OWN: (&str, &str) = ("host", "127.0.0.1:8080");

    #[test]
    fn only_names_of_the_server_are_answered() {
        for host in ["127.0.0.1:8080", "LOCALHOST:8080", "[::1]:8080"] {
            assert_eq!(check(&[("host", host), TOKEN], true), Ok(()), "{host}");
        }
        for host in [
            "127.0.0.1",
            "localhost:80",
            "evil.example:8080",
            "127.0.0.1:8080.evil.example",
            "",
        ] {
            assert_eq!(
                check(&[("host", host), TOKEN], true),
                Err(Denial::Host),
                "{host}"
            );
        }
        assert_eq!(check(&[TOKEN], true), Err(Denial::Host));
        let twice = [OWN, ("host", "evil.example"), TOKEN];
        assert_eq!(check(&twice, true), Err(Denial::Host));
    }

    #[test]
    fn pages_of_other_origins_are_not_answered() {
        let with = |name, value, is_api| check(&[OWN, TOKEN, (name, value)], is_api);
        assert_eq!(with("origin", "http://127.0.0.1:8080", true), Ok(()));
        for origin in ["http://evil.example", "null", "http://localhost:8080"] {
            assert_eq!(
                with("origin", origin, true),
                Err(Denial::Origin),
                "{origin}"
            );
        }
        assert_eq!(with("sec-fetch-site", "same-origin", true), Ok(()));
        for site in ["cross-site", "same-site"] {
            assert_eq!(with("sec-fetch-site", site, true), Err(Denial::Origin));
            assert_eq!(with("sec-fetch-site", site, false), Err(Denial::Origin));
        }
        assert_eq!(with("sec-fetch-site", "none", true), Err(Denial::Origin));
        assert_eq!(with("sec-fetch-site", "none", false), Ok(()));
    }

    #[test]
    fn the_api_takes_the_token_in_its_header() {
        assert_eq!(check(&[OWN], false), Ok(()));
        assert_eq!(check(&[OWN], true), Err(Denial::Token));
        for wrong in [
            "Bearer 0123456789abcdef0123456789abcdee",
            "Bearer 0123",
            "Bearer ",
            "0123456789abcdef0123456789abcdef",
            "Basic 0123456789abcdef0123456789abcdef",
        ] {
            let fields = [OWN, ("authorization", wrong)];
            assert_eq!(check(&fields, true), Err(Denial::Token), "{wrong}");
        }
        let (one, other) = (UiToken::random().unwrap(), UiToken::random().unwrap());
        assert!(one.as_str().len() == 32 && one.as_str() != other.as_str());
    }
}
