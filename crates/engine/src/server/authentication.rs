//! The authentication that a server requires of its clients, protocol by protocol.

use caudal_wire::access_token::NamedToken;
use caudal_wire::protocol::Protocol;

/// The authentication that a server requires, beside the logins that other protocols have of their own.
#[derive(Debug, Clone, Default)]
pub struct AuthenticationOptions {
    /// The tokens of clients of caudal; empty where they do not authenticate themselves.
    pub tokens: Vec<NamedToken>,
    /// The protocols that are answered without authentication although clients of others must authenticate themselves.
    pub exempt: Vec<Protocol>,
}

/// The access that clients of a protocol have to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProtocolAccess {
    /// All are answered.
    Open,
    /// Those that authenticate themselves are answered.
    Authenticated,
    /// None are answered: others must authenticate themselves, and these cannot.
    Closed,
}

impl AuthenticationOptions {
    /// The access of clients of `protocol`, at a server that checks the logins of clients of `with_logins`.
    ///
    /// One rule for every protocol: where any client must authenticate itself, a protocol whose clients cannot is closed unless it
    /// is exempt.
    #[must_use]
    pub fn access(&self, protocol: Protocol, with_logins: &[Protocol]) -> ProtocolAccess {
        let has_tokens = !self.tokens.is_empty();
        let authenticates = match protocol {
            Protocol::Native => has_tokens,
            other => with_logins.contains(&other),
        };
        let is_required = has_tokens || !with_logins.is_empty();
        match (authenticates, is_required) {
            (true, _) => ProtocolAccess::Authenticated,
            (false, true) if !self.exempt.contains(&protocol) => ProtocolAccess::Closed,
            (false, _) => ProtocolAccess::Open,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ProtocolAccess::{Authenticated, Closed, Open};
    use caudal_wire::access_token::parse_tokens;

    const ALL: [Protocol; 5] = [
        Protocol::Native,
        Protocol::Iperf3,
        Protocol::Iperf2,
        Protocol::Nttcp,
        Protocol::Web,
    ];

    #[test]
    fn any_authentication_closes_the_protocols_that_have_none() {
        let tokens = || parse_tokens("0123456789abcdef").unwrap();
        let none: &[Protocol] = &[];
        let iperf3 = &[Protocol::Iperf3][..];
        for (tokens, logins, expected) in [
            (Vec::new(), none, [Open; 5]),
            (
                tokens(),
                none,
                [Authenticated, Closed, Closed, Closed, Closed],
            ),
            (
                Vec::new(),
                iperf3,
                [Closed, Authenticated, Closed, Closed, Closed],
            ),
            (
                tokens(),
                iperf3,
                [Authenticated, Authenticated, Closed, Closed, Closed],
            ),
        ] {
            let mut options = AuthenticationOptions {
                tokens,
                exempt: Vec::new(),
            };
            assert_eq!(ALL.map(|one| options.access(one, logins)), expected);
            options.exempt = ALL.to_vec();
            let exempt = expected.map(|access| match access {
                Closed => Open,
                other => other,
            });
            assert_eq!(ALL.map(|one| options.access(one, logins)), exempt);
        }
    }
}
