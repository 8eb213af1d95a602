//! The first messages of a client: both ends describe their hosts and, with a token, authenticate each other.

use super::control::{ControlChannel, STEP_TIMEOUT};
use caudal_core::host::Host;
use caudal_core::text::ExternalText;
use caudal_flow::{RunError, UserInterrupt, random_bytes};
use caudal_sys::clock::monotonic_ns;
use caudal_wire::access_token::AccessToken;
use caudal_wire::authentication::{AUTHENTICATION, ConnectionKey, Nonce};
use caudal_wire::message::{PublishedLimits, ToClient, ToServer};
use caudal_wire::preamble::TestToken;
use caudal_wire::server_instance::{SeenConnection, ServerInstance};

/// The server as it described itself.
pub(super) struct GreetedServer {
    /// Its machine.
    pub(super) host: Host,
    /// What it supports beyond the first version of the protocol.
    pub(super) features: Vec<ExternalText>,
    /// The limits it sets on each test; `None` where it is of a version that does not say so.
    pub(super) limits: Option<PublishedLimits>,
    /// Itself, among those that an address may stand for; `None` likewise.
    pub(super) instance: Option<ServerInstance>,
    /// The control connection as it sees it; `None` likewise.
    pub(super) connection: Option<SeenConnection>,
    /// The token of probes of the path MTU; `None` where it answers none.
    pub(super) probe_token: Option<TestToken>,
}

/// Sends the client's description and receives the server's. With a `token` the server must show that it has it as well.
pub(super) fn exchange_hosts(
    channel: &mut ControlChannel,
    client: &Host,
    token: Option<&AccessToken>,
    interrupt: UserInterrupt,
) -> Result<GreetedServer, RunError> {
    let nonce = match token {
        Some(_) => Some(Nonce(
            random_bytes().map_err(|cause| RunError::local("making a nonce", cause))?,
        )),
        None => None,
    };
    let hello = channel.send_opening(&ToServer::Hello {
        host: Box::new(client.clone()),
        required: nonce.iter().map(|_| AUTHENTICATION.into()).collect(),
        nonce,
    })?;
    if let Some(token) = token {
        authenticate(channel, token, &hello, interrupt)?;
    }
    match receive(channel, interrupt, "a welcome")? {
        ToClient::Welcome {
            host,
            features,
            limits,
            instance,
            connection,
            probe_token,
        } => Ok(GreetedServer {
            host,
            features,
            limits,
            instance,
            connection,
            probe_token: probe_token.as_deref().and_then(TestToken::from_hex),
        }),
        other => Err(RunError::unexpected(other, "a welcome")),
    }
}

/// Authenticates both ends to each other, and every message from here on.
fn authenticate(
    channel: &mut ControlChannel,
    token: &AccessToken,
    hello: &[u8],
    interrupt: UserInterrupt,
) -> Result<(), RunError> {
    match receive(channel, interrupt, "a challenge")? {
        ToClient::Challenge { .. } => {}
        ToClient::Welcome { .. } => return Err(unauthenticated()),
        other => return Err(RunError::unexpected(other, "a challenge")),
    }
    let key = ConnectionKey::derive(token, hello, channel.latest_json());
    channel.send(&ToServer::Authenticate {
        proof: key.client_proof(),
    })?;
    match receive(channel, interrupt, "the server's proof of the token")? {
        ToClient::Authenticated { proof } if proof == key.server_proof() => {
            channel.authenticate(key.to_server(), key.to_client());
            Ok(())
        }
        ToClient::Authenticated { .. } | ToClient::Welcome { .. } => Err(unauthenticated()),
        other => Err(RunError::unexpected(
            other,
            "the server's proof of the token",
        )),
    }
}

/// The error for a server that does not show that it has the token.
fn unauthenticated() -> RunError {
    RunError::Protocol("it did not show that it has the token".into())
}

/// The server's next message, within the time of a step.
fn receive(
    channel: &mut ControlChannel,
    interrupt: UserInterrupt,
    due: &'static str,
) -> Result<ToClient, RunError> {
    let until_ns = monotonic_ns() + STEP_TIMEOUT.as_nanos() as u64;
    match channel.recv(until_ns, &interrupt.fds())? {
        Some(message) => Ok(message),
        None if interrupt.is_set() => Err(RunError::Interrupted),
        None => Err(RunError::Silent {
            waiting_for: due,
            seconds: STEP_TIMEOUT.as_secs(),
        }),
    }
}
