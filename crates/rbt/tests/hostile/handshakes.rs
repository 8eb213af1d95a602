//! Initiators and responders that the other end must survive.

use crate::forged::{self, ForgedHello};
use caudal_rbt::{
    AbortCode, Grant, Initiator, InitiatorStatus, Responder, Response, TransferConfig,
    TransferError,
};

const ADDRESS: &[u8] = b"192.0.2.1:9";

fn response(hello: &ForgedHello, token: &[u8]) -> Response {
    Responder::new([3; 32]).handle_datagram(0, ADDRESS, &hello.datagram(), token)
}

#[test]
fn a_proposal_outside_the_limits_is_refused() {
    let good = ForgedHello::default();
    assert!(matches!(response(&good, b"token"), Response::Propose(_)));
    let cases = [
        ForgedHello {
            packet_bytes: 0,
            ..good.clone()
        },
        ForgedHello {
            packet_bytes: 65_488,
            ..good.clone()
        },
        ForgedHello {
            window: u64::MAX,
            ..good.clone()
        },
        ForgedHello {
            start: 10_001,
            ..good.clone()
        },
        ForgedHello {
            total: u64::MAX - 1,
            ..good.clone()
        },
        ForgedHello {
            total: u64::MAX,
            start: u64::MAX - 1,
            ..good.clone()
        },
    ];
    for hello in cases {
        let Response::Reply(refusal) = response(&hello, b"token") else {
            panic!("{hello:?}");
        };
        assert!(refusal.len() <= hello.datagram().len());
        assert_eq!(refusal[4], 19);
    }
}

#[test]
fn what_is_no_proposal_is_ignored() {
    let good = ForgedHello::default();
    let cases = [
        ForgedHello {
            arq: 4,
            ..good.clone()
        },
        ForgedHello {
            token: vec![1; 65],
            ..good.clone()
        },
    ];
    for hello in cases {
        assert_eq!(response(&hello, b"token"), Response::Ignore, "{hello:?}");
    }
    let responder = Responder::new([3; 32]);
    for kind in 0..=255 {
        let datagram = forged::control(kind, 0, &[0xff; 600]);
        let answer = responder.handle_datagram(0, ADDRESS, &datagram, b"token");
        assert!(!matches!(answer, Response::Propose(_)), "{kind}");
    }
}

#[test]
fn a_guessed_cookie_earns_another_retry_and_never_more_bytes_than_came() {
    for cookie in [vec![], vec![0; 16], vec![0xff; 16]] {
        let hello = ForgedHello {
            token: Vec::new(),
            cookie,
            ..ForgedHello::default()
        };
        let Response::Reply(retry) = response(&hello, b"token") else {
            panic!("{hello:?}");
        };
        assert_eq!(retry[4], forged::RETRY);
        assert!(retry.len() < hello.datagram().len() / 10);
    }
}

#[test]
fn a_responder_without_a_token_takes_none() {
    let hello = ForgedHello {
        token: Vec::new(),
        ..ForgedHello::default()
    };
    assert!(matches!(response(&hello, b""), Response::Reply(_)));
}

#[test]
fn terms_that_the_initiator_did_not_propose_fail() {
    let config = TransferConfig {
        total_bytes: Some(10_000),
        ..TransferConfig::default()
    };
    let window = config.window_bytes;
    // Nonce, total, start, window, first packet number.
    let cases = [
        (
            [5, 10_000, 0, window + 1, 0],
            TransferError::Contradiction("the window"),
        ),
        (
            [5, 10_000, 10_001, window, 0],
            TransferError::Config("start_bytes"),
        ),
        (
            [5, 10_000, u64::MAX, window, 0],
            TransferError::Config("start_bytes"),
        ),
        (
            [5, 10_000, 0, window, u64::MAX],
            TransferError::Config("first_pn"),
        ),
    ];
    for (words, error) in cases {
        let mut initiator = Initiator::new(&config, true, 5, b"", 0);
        initiator.handle_datagram(0, &forged::accept(1, words));
        assert_eq!(
            initiator.status(),
            &InitiatorStatus::Failed(error),
            "{words:?}"
        );
    }
    let mut receiving = Initiator::new(&TransferConfig::default(), false, 5, b"", 0);
    receiving.handle_datagram(0, &forged::accept(1, [5, u64::MAX - 1, 0, window, 0]));
    let error = TransferError::Config("total_bytes");
    assert_eq!(receiving.status(), &InitiatorStatus::Failed(error));
}

#[test]
fn answers_to_other_proposals_are_ignored() {
    let mut initiator = Initiator::new(&TransferConfig::default(), false, 5, b"", 0);
    initiator.handle_datagram(0, &forged::accept(1, [6, 0, 0, 0, 0]));
    for kind in 0..=255 {
        initiator.handle_datagram(0, &forged::control(kind, 0, &[6; 600]));
        initiator.handle_datagram(0, &forged::control(kind, 0, &[]));
    }
    assert_eq!(initiator.status(), &InitiatorStatus::Waiting);
}

#[test]
fn a_grant_beyond_the_content_makes_a_session_that_fails_at_once() {
    let Response::Propose(proposal) = response(&ForgedHello::default(), b"token") else {
        panic!("a proposal");
    };
    assert!(!proposal.refuse(AbortCode::Stopped).is_empty());
    let (config, _) = proposal.accept(&Grant {
        session: 1,
        first_pn: 0,
        max_window_bytes: 1 << 20,
        total_bytes: None,
        start_bytes: 10_001,
    });
    assert_eq!(config.check(), Err(TransferError::Config("start_bytes")));
}
