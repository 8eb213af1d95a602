//! The end that accepts a session, or does not.

use super::cookie::CookieJar;
use crate::config::TransferConfig;
use crate::error::AbortCode;
use crate::wire::{
    Accept, ControlKind, Hello, HelloRefusal, MIN_HELLO_BYTES, Retry, VERSION, parse_control,
    write_control,
};

/// What a responder does with a datagram of nobody's session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Response {
    /// Nothing.
    Ignore,
    /// This is sent back; it is no larger than what came, and nothing is kept.
    Reply(Vec<u8>),
    /// The initiator has proven its address, or has the token.
    Propose(Box<Proposal>),
}

/// What an initiator proposes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// `true` when the initiator is the sender.
    pub is_sender: bool,
    /// The terms, checked against their limits.
    pub config: TransferConfig,
    nonce: u64,
}

/// What the responder grants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    /// The number of the session, random.
    pub session: u32,
    /// The number of the first packet.
    pub first_pn: u64,
    /// The maximum window.
    pub max_window_bytes: u64,
    /// The size of the content, where the responder is the sender.
    pub total_bytes: Option<u64>,
    /// The resume offset, where the responder is the receiver.
    pub start_bytes: u64,
}

/// What a session that was accepted keeps of its handshake: the answer, which may have to be repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceptedSession {
    nonce: u64,
    answer: Vec<u8>,
}

impl AcceptedSession {
    /// The ACCEPT.
    #[must_use]
    pub fn answer(&self) -> &[u8] {
        &self.answer
    }

    /// The ACCEPT again, when `datagram` is the HELLO of this session.
    #[must_use]
    pub fn answer_to(&self, datagram: &[u8]) -> Option<&[u8]> {
        let (ControlKind::Hello, body) = parse_control(datagram)? else {
            return None;
        };
        (Hello::read(body)?.nonce == self.nonce).then_some(&self.answer)
    }
}

/// The end that accepts sessions. It keeps nothing for those that are not proven.
#[derive(Debug, Clone)]
pub struct Responder {
    cookies: CookieJar,
}

impl Responder {
    /// A responder whose cookies only it can make: `secret` is random.
    #[must_use]
    pub const fn new(secret: [u8; 32]) -> Self {
        Self {
            cookies: CookieJar::new(secret),
        }
    }

    /// Takes a datagram from `address` (its bytes in any form that identifies it). An initiator that shows `token`, which is not
    /// empty, needs no cookie.
    #[must_use]
    pub fn handle_datagram(
        &self,
        now_ns: u64,
        address: &[u8],
        datagram: &[u8],
        token: &[u8],
    ) -> Response {
        let Some((ControlKind::Hello, body)) = parse_control(datagram) else {
            return Response::Ignore;
        };
        // A shorter one could be answered with more than came.
        let hello = match Hello::read(body) {
            Some(hello) if datagram.len() >= MIN_HELLO_BYTES => hello,
            _ => return Response::Ignore,
        };
        if hello.version != VERSION {
            return Response::Reply(refusal(hello.nonce, HelloRefusal::VERSION));
        }
        let has_token = !token.is_empty() && hello.token == token;
        if !has_token && !self.cookies.is_proven(now_ns, address, &hello) {
            let retry = Retry {
                nonce: hello.nonce,
                cookie: self.cookies.cookie(now_ns, address, &hello),
            };
            let mut reply = Vec::new();
            write_control(&mut reply, ControlKind::Retry, 0, |body| retry.write(body));
            return Response::Reply(reply);
        }
        if hello.config.check().is_err() {
            return Response::Reply(refusal(hello.nonce, AbortCode::Protocol.number()));
        }
        Response::Propose(Box::new(Proposal {
            is_sender: hello.is_sender,
            config: hello.config,
            nonce: hello.nonce,
        }))
    }
}

impl Proposal {
    /// Accepts: the terms of the session, and its answer.
    #[must_use]
    pub fn accept(self, grant: &Grant) -> (TransferConfig, AcceptedSession) {
        let mut config = TransferConfig {
            session: grant.session,
            first_pn: grant.first_pn,
            window_bytes: self.config.window_bytes.min(grant.max_window_bytes),
            ..self.config
        };
        if self.is_sender {
            config.start_bytes = grant.start_bytes;
        } else {
            config.total_bytes = grant.total_bytes;
        }
        let accept = Accept {
            nonce: self.nonce,
            total_bytes: config.total_bytes,
            start_bytes: config.start_bytes,
            window_bytes: config.window_bytes,
            first_pn: config.first_pn,
        };
        let mut answer = Vec::new();
        write_control(&mut answer, ControlKind::Accept, grant.session, |body| {
            accept.write(body);
        });
        let accepted = AcceptedSession {
            nonce: self.nonce,
            answer,
        };
        (config, accepted)
    }

    /// Refuses: the answer.
    #[must_use]
    pub fn refuse(&self, code: AbortCode) -> Vec<u8> {
        refusal(self.nonce, code.number())
    }
}

fn refusal(nonce: u64, code: u32) -> Vec<u8> {
    let mut reply = Vec::new();
    let refusal = HelloRefusal { nonce, code };
    write_control(&mut reply, ControlKind::Refuse, 0, |body| {
        refusal.write(body);
    });
    reply
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handshake::{Initiator, InitiatorStatus};
    use crate::wire::CONTROL_HEADER_BYTES;

    const ADDRESS: &[u8] = b"192.0.2.1:5201";
    const GRANT: Grant = Grant {
        session: 77,
        first_pn: 1000,
        max_window_bytes: 1 << 20,
        total_bytes: Some(5000),
        start_bytes: 2048,
    };

    fn initiator(is_sender: bool, token: &[u8]) -> Initiator {
        let config = TransferConfig {
            total_bytes: is_sender.then_some(9000),
            ..TransferConfig::default()
        };
        Initiator::new(&config, is_sender, 42, token, 0)
    }

    fn next(initiator: &mut Initiator, now_ns: u64) -> Option<Vec<u8>> {
        let mut out = vec![0; 1200];
        let bytes = initiator.poll_transmit(now_ns, &mut out)?;
        out.truncate(bytes);
        Some(out)
    }

    #[test]
    fn an_address_is_proven_by_a_cookie_before_anything_is_kept() {
        let responder = Responder::new([9; 32]);
        for is_sender in [true, false] {
            let mut initiator = initiator(is_sender, b"");
            let hello = next(&mut initiator, 0).expect("the first HELLO");
            let Response::Reply(retry) = responder.handle_datagram(5, ADDRESS, &hello, b"") else {
                panic!("a RETRY");
            };
            assert!(retry.len() <= hello.len());
            initiator.handle_datagram(10, &retry);
            let hello = next(&mut initiator, 10).expect("the HELLO with the cookie");
            let elsewhere = responder.handle_datagram(20, b"198.51.100.7:1", &hello, b"");
            assert!(matches!(elsewhere, Response::Reply(_)), "another address");
            let late = responder.handle_datagram(25_000_000_000, ADDRESS, &hello, b"");
            assert!(matches!(late, Response::Reply(_)), "too late");
            let Response::Propose(proposal) = responder.handle_datagram(20, ADDRESS, &hello, b"")
            else {
                panic!("a proposal");
            };
            assert_eq!(proposal.is_sender, is_sender);
            let (config, accepted) = proposal.accept(&GRANT);
            assert_eq!(accepted.answer_to(&hello), Some(accepted.answer()));
            initiator.handle_datagram(30, accepted.answer());
            assert_eq!(
                initiator.status(),
                &InitiatorStatus::Accepted(Box::new(config.clone()))
            );
            assert_eq!(initiator.rtt_ns(), Some(20));
            assert_eq!((config.session, config.first_pn), (77, 1000));
            assert_eq!(config.window_bytes, 1 << 20);
            let known = if is_sender {
                (Some(9000), 2048)
            } else {
                (Some(5000), 0)
            };
            assert_eq!((config.total_bytes, config.start_bytes), known);
        }
    }

    #[test]
    fn a_token_spares_the_round_trip_and_a_wrong_one_does_not() {
        let responder = Responder::new([9; 32]);
        let hello = next(&mut initiator(true, b"secret"), 0).expect("the first HELLO");
        let right = responder.handle_datagram(0, ADDRESS, &hello, b"secret");
        assert!(matches!(right, Response::Propose(_)));
        let wrong = responder.handle_datagram(0, ADDRESS, &hello, b"other");
        assert!(matches!(wrong, Response::Reply(_)));
    }

    #[test]
    fn a_short_hello_and_another_version_get_no_more_than_they_sent() {
        let responder = Responder::new([9; 32]);
        let hello = next(&mut initiator(true, b""), 0).expect("the first HELLO");
        let short = responder.handle_datagram(0, ADDRESS, &hello[..hello.len() - 1], b"");
        assert_eq!(short, Response::Ignore);
        let mut other = Hello::read(&hello[CONTROL_HEADER_BYTES..]).expect("the HELLO");
        other.version = 2;
        let mut datagram = Vec::new();
        write_control(&mut datagram, ControlKind::Hello, 0, |body| {
            other.write(body);
        });
        let Response::Reply(reply) = responder.handle_datagram(0, ADDRESS, &datagram, b"") else {
            panic!("a refusal");
        };
        assert!(reply.len() <= datagram.len());
        let mut initiator = initiator(true, b"");
        initiator.handle_datagram(0, &reply);
        assert_eq!(
            initiator.status(),
            &InitiatorStatus::Failed(crate::TransferError::Version)
        );
    }

    #[test]
    fn a_hello_is_repeated_ever_more_rarely_and_given_up_after_half_a_minute() {
        let mut initiator = initiator(true, b"");
        let mut sent = Vec::new();
        let mut now_ns = 0;
        loop {
            if next(&mut initiator, now_ns).is_some() {
                sent.push(now_ns / 1_000_000);
            }
            match initiator.poll_timeout() {
                Some(due) => now_ns = due,
                None => break,
            }
            initiator.handle_timeout(now_ns);
        }
        assert_eq!(sent[..6], [0, 500, 1500, 3500, 7500, 11_500]);
        assert_eq!(now_ns, 30_000_000_000);
    }
}
