//! The first messages at a server: both ends describe their hosts and, where the server has tokens, authenticate each other.

use super::authentication::ProtocolAccess;
use super::session_control::SessionControl;
use super::test_sockets::STEP_NS;
use caudal_core::host::Host;
use caudal_core::text::ExternalText;
use caudal_flow::socket::canonical;
use caudal_flow::{RunError, random_bytes};
use caudal_host::describe_host;
use caudal_sys::clock::monotonic_ns;
use caudal_sys::tcp::tcp_info;
use caudal_wire::access_token::NamedToken;
use caudal_wire::authentication::{AUTHENTICATION, ConnectionKey, Nonce, TokenProof};
use caudal_wire::message::{
    ARCHIVES, CONNECT, PARTIAL, PATH_MTU, QUALITY, Refusal, TRAINS, TRANSFER, ToClient, ToServer,
};
use caudal_wire::preamble::TestToken;
use caudal_wire::protocol::Protocol;
use caudal_wire::server_instance::SeenConnection;
use std::net::SocketAddr;

/// A client that was greeted.
pub(super) struct GreetedClient {
    /// The program it reports to be.
    pub(super) tool: ExternalText,
    /// The token it has; `None` where the server requires none.
    pub(super) token: Option<NamedToken>,
}

/// Receives the client's description, authenticates it where that is required, and sends the server's description.
pub(super) fn greet(
    control: &mut SessionControl<'_>,
    peer: SocketAddr,
    probe_token: TestToken,
) -> Result<GreetedClient, RunError> {
    let ToServer::Hello {
        host,
        required,
        nonce,
    } = receive(control, "a hello")?
    else {
        let message = "the first message must be a hello".to_owned();
        return Err(control.refuse(Refusal::Protocol, message));
    };
    // Its exact bytes: those that this version does not know are authenticated as well.
    let hello = control.channel.latest_json().to_vec();
    if let Some(feature) = required.iter().find(|feature| *feature != AUTHENTICATION) {
        let message = format!("this server does not know the feature {feature:?}");
        return Err(control.refuse(Refusal::Feature, message));
    }
    let wants_authentication = nonce.is_some() || !required.is_empty();
    let token = match control.state.options.access(Protocol::Native) {
        ProtocolAccess::Authenticated if nonce.is_some() => Some(authenticate(control, &hello)?),
        ProtocolAccess::Open if !wants_authentication => None,
        access => {
            let message = match access {
                ProtocolAccess::Authenticated => {
                    "it answers only clients that have one of its tokens"
                }
                _ => "it has no tokens with which it could authenticate itself",
            };
            return Err(control.refuse(Refusal::Authentication, message.to_owned()));
        }
    };
    welcome(control, peer, probe_token)?;
    Ok(GreetedClient {
        tool: host.tool,
        token,
    })
}

fn welcome(
    control: &mut SessionControl<'_>,
    peer: SocketAddr,
    probe_token: TestToken,
) -> Result<(), RunError> {
    let host: Host = describe_host(&control.state.options.tool, Some(peer));
    control.send(&ToClient::Welcome {
        host,
        features: [
            AUTHENTICATION,
            CONNECT,
            QUALITY,
            TRANSFER,
            ARCHIVES,
            TRAINS,
            PARTIAL,
            PATH_MTU,
        ]
        .map(ExternalText::from)
        .to_vec(),
        limits: Some(control.state.options.limits.published()),
        probe_token: Some(probe_token.to_hex()),
        instance: Some(control.state.instance),
        connection: seen_connection(control),
    })
}

/// The control connection as this end sees it; `None` where the kernel does not tell.
fn seen_connection(control: &SessionControl<'_>) -> Option<SeenConnection> {
    let stream = control.channel.stream();
    let info = tcp_info(stream).ok()?;
    Some(SeenConnection {
        client: canonical(stream.peer_addr().ok()?),
        server: canonical(stream.local_addr().ok()?),
        mss: info.snd_mss,
        rtt_us: info.min_rtt_us.unwrap_or(info.rtt_us).min(info.rtt_us),
    })
}

/// Authenticates both ends to each other, and every message from here on: the token that the client has.
fn authenticate(control: &mut SessionControl<'_>, hello: &[u8]) -> Result<NamedToken, RunError> {
    let nonce = random_bytes().map_err(|cause| RunError::local("making a nonce", cause))?;
    let challenge = control.channel.send_opening(&ToClient::Challenge {
        nonce: Nonce(nonce),
    })?;
    let ToServer::Authenticate { proof } = receive(control, "the proof of a token")? else {
        let message = "expected the proof of a token".to_owned();
        return Err(control.refuse(Refusal::Protocol, message));
    };
    let tokens = &control.state.options.authentication.tokens;
    let Some((token, key)) = find_token(tokens, hello, &challenge, proof) else {
        let message = "the client's token is not one of its own".to_owned();
        return Err(control.refuse(Refusal::Authentication, message));
    };
    control.send(&ToClient::Authenticated {
        proof: key.server_proof(),
    })?;
    control
        .channel
        .authenticate(key.to_client(), key.to_server());
    Ok(token)
}

/// The token to which a client's proof belongs, and the key of the connection. All tokens are tried, so that the time it takes
/// does not show which of them it is.
fn find_token(
    tokens: &[NamedToken],
    hello: &[u8],
    challenge: &[u8],
    proof: TokenProof,
) -> Option<(NamedToken, ConnectionKey)> {
    let mut found = None;
    for token in tokens {
        let key = ConnectionKey::derive(&token.token, hello, challenge);
        if key.client_proof() == proof {
            found = Some((token.clone(), key));
        }
    }
    found
}

/// The client's next message, within the time of a step.
fn receive(control: &mut SessionControl<'_>, due: &'static str) -> Result<ToServer, RunError> {
    let stop = control.state.stop_fd();
    match control.channel.recv(monotonic_ns() + STEP_NS, &[stop])? {
        Some(message) => Ok(message),
        None => {
            control.check_stop()?;
            Err(RunError::Silent {
                waiting_for: due,
                seconds: STEP_NS / 1_000_000_000,
            })
        }
    }
}
