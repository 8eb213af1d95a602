//! A server that answers in the place of the one that this end had a connection with: the route to an anycast address has moved, or the
//! server was started anew.

use super::control::ControlChannel;
use caudal_flow::socket::connect_announcing;
use caudal_flow::{LocalBinding, RunError};
use caudal_sys::clock::monotonic_ns;
use caudal_wire::frame::MAX_TO_SERVER_BYTES;
use caudal_wire::message::ToClient;
use caudal_wire::preamble::{ANSWER_BYTES, PreambleAnswer, Purpose, TestToken};
use caudal_wire::server_instance::ServerInstance;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::time::Duration;

/// The time that each part of a server's answer may take.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);
/// The token of no test: those of tests are random.
const NO_TEST: TestToken = TestToken([0; 16]);

/// The error with its reason where the peer's host no longer knows the connection, and another server than `ours` answers at its address.
pub(super) fn with_other_server(
    error: RunError,
    peer: SocketAddr,
    ours: Option<ServerInstance>,
    binding: &LocalBinding,
) -> RunError {
    let (doing, cause) = match error {
        // Where the reset was the answer to a message of this end, the next read finds the end of the stream.
        RunError::Lost { doing, cause }
            if matches!(
                cause.kind(),
                io::ErrorKind::ConnectionReset
                    | io::ErrorKind::BrokenPipe
                    | io::ErrorKind::UnexpectedEof
            ) =>
        {
            (doing, cause)
        }
        other => return other,
    };
    let other = ours.and_then(|ours| Some(ours != instance_at(peer, binding)?));
    let cause = match other {
        Some(true) => io::Error::new(
            cause.kind(),
            format!(
                "another server answers at {peer} now, as the address stands for several (anycast, a load balancer) and the route to it \
                 moved, or as the server was started anew"
            ),
        ),
        _ => cause,
    };
    RunError::Lost { doing, cause }
}

/// The server that answers at `peer` now, by its refusal of a data connection of no test.
fn instance_at(peer: SocketAddr, binding: &LocalBinding) -> Option<ServerInstance> {
    let (mut stream, _) =
        connect_announcing(peer, binding, super::client_channel::CONTROL_MSS).ok()?;
    stream.set_read_timeout(Some(ANSWER_TIMEOUT)).ok()?;
    let purpose = Purpose::Data {
        token: NO_TEST,
        flow: 0,
    };
    stream.write_all(&purpose.encode()).ok()?;
    let mut answer = [0; ANSWER_BYTES];
    stream.read_exact(&mut answer).ok()?;
    if PreambleAnswer::decode(&answer).ok()? != PreambleAnswer::Refused {
        return None;
    }
    let mut channel = ControlChannel::new(stream, peer, MAX_TO_SERVER_BYTES).ok()?;
    let until_ns = monotonic_ns() + ANSWER_TIMEOUT.as_nanos() as u64;
    match channel.recv(until_ns, &[]).ok()?? {
        ToClient::Refused { instance, .. } => instance,
        _ => None,
    }
}
