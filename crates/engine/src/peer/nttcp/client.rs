//! The near side: asks, does its own part, and relays the other's figures.

use super::server::{DATA, read_line, receive_data, send};
use super::transfer::Bounds;
use crate::error::RunError;
use crate::socket::{self, Origin, plain};
use caudal_wire::nttcp::{PORT, Request, Row};
use std::io::Write;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// How long the other side may take for its figures, as in the original.
const FIGURES: Duration = Duration::from_secs(10);
/// How long nothing may move.
const IDLE: Duration = Duration::from_secs(80);
/// Lines of the other side that are relayed at most.
const MOST_LINES: usize = 1000;

/// What came of a test.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// This side's figures.
    pub local: Row,
    /// What the other side said, line by line.
    pub remote: Vec<String>,
}

/// Runs one test with the server at `peer`; `more` are words for the far side alone.
///
/// # Errors
/// When it cannot be reached, or says what makes no sense.
pub fn run(
    peer: SocketAddr,
    request: &Request,
    more: &[String],
    stop: BorrowedFd<'_>,
) -> Result<Outcome, RunError> {
    let protocol = RunError::Protocol;
    let mut control = socket::connect(peer, &Origin::default(), None)?;
    let lost = |cause| RunError::Lost {
        doing: "asking for a test",
        cause,
    };
    control.set_nodelay(true).map_err(lost)?;
    let line = request.encode(1, more).ok_or_else(|| {
        protocol(
            "the options cannot be told the other side: no @, and 1023 bytes at most".to_owned(),
        )
    })?;
    control.write_all(line.as_bytes()).map_err(lost)?;
    let bounds = Bounds {
        idle: IDLE,
        until_ns: u64::MAX,
        rate: None,
        stop,
    };
    let local = plain(control.local_addr().map_err(lost)?);
    let row = if request.transmit {
        let line = read_line(&control, DATA, stop)
            .map_err(protocol)?
            .ok_or_else(|| protocol("it closed the connection; is it nttcp?".to_owned()))?;
        send(&line, local, peer, request, &bounds)
    } else {
        receive_data(
            &control,
            local.ip(),
            peer.ip().to_canonical(),
            PORT + 1,
            request,
            &bounds,
            stop,
        )
    }
    .map_err(protocol)?;
    let mut outcome = Outcome {
        local: row,
        remote: Vec::new(),
    };
    while outcome.remote.len() < MOST_LINES {
        match read_line(&control, FIGURES, stop) {
            Ok(Some(line)) => outcome.remote.push(line),
            _ => break,
        }
    }
    Ok(outcome)
}
