//! The handshake over a connected socket.

use super::account::HandshakeTimes;
use super::drive::{Refusals, wait};
use super::terms::{RbtTerms, arq};
use crate::digest_time::time_to_begin;
use crate::{MoverControl, TransferFailure};
use caudal_core::plan::ArqMode;
use caudal_flow::random_bytes;
use caudal_rbt::{
    AcceptedSession, Grant, Initiator, InitiatorStatus, Responder, Response, TransferConfig,
    TransferError,
};
use caudal_sys::clock::monotonic_ns;
use std::io;
use std::net::UdpSocket;
use std::sync::atomic::Ordering::Relaxed;

/// The reassembly window, bytes.
const WINDOW_BYTES: u64 = 16 << 20;
/// Maximum delay of an acknowledgement, ns.
const MAX_ACK_DELAY_NS: u64 = 1_000_000;
/// Maximum wait for a HELLO, ns.
const GIVE_UP_NS: u64 = 30_000_000_000;
/// Maximum size of a datagram of the handshake, bytes.
const DATAGRAM_BYTES: usize = 2048;

/// A session that is set up.
#[derive(Debug)]
pub(super) struct Established {
    /// Its terms.
    pub(super) config: TransferConfig,
    /// The round-trip time of the handshake, ns, where it is known.
    pub(super) rtt_ns: Option<u64>,
    /// The answer, where this end was the responder.
    pub(super) accepted: Option<AcceptedSession>,
    /// When it began and was complete.
    pub(super) times: HandshakeTimes,
}

/// Sets up a session over the socket.
///
/// # Errors
/// Why there is none.
pub(super) fn establish(
    socket: &UdpSocket,
    terms: &RbtTerms<'_>,
    is_sender: bool,
    control: MoverControl<'_>,
) -> Result<Established, TransferFailure> {
    socket
        .set_nonblocking(true)
        .map_err(|cause| kernel("prepare the socket", cause))?;
    if terms.is_initiator {
        initiate(socket, terms, is_sender, control)
    } else {
        respond(socket, terms, is_sender, control)
    }
}

/// The terms that an end proposes, or expects.
fn proposed(terms: &RbtTerms<'_>) -> TransferConfig {
    let settings = terms.settings;
    TransferConfig {
        packet_bytes: settings.packet_bytes,
        total_bytes: terms.total_bytes,
        start_bytes: terms.start_bytes,
        arq: arq(settings.arq),
        window_bytes: WINDOW_BYTES,
        granularity_ns: u64::from(settings.granularity_us) * 1000,
        ack_packets: if settings.arq == ArqMode::StopAndWait {
            1
        } else {
            64
        },
        max_ack_delay_ns: MAX_ACK_DELAY_NS,
        ..TransferConfig::default()
    }
}

fn initiate(
    socket: &UdpSocket,
    terms: &RbtTerms<'_>,
    is_sender: bool,
    control: MoverControl<'_>,
) -> Result<Established, TransferFailure> {
    let nonce = u64::from_le_bytes(random()?);
    let began = monotonic_ns();
    let mut initiator = Initiator::new(&proposed(terms), is_sender, nonce, terms.token, began);
    let mut datagram = vec![0; DATAGRAM_BYTES];
    let mut refusals = Refusals::default();
    loop {
        stopped(control)?;
        let now_ns = monotonic_ns();
        while let Some(bytes) = initiator.poll_transmit(now_ns, &mut datagram) {
            send(socket, &datagram[..bytes], &mut refusals)?;
        }
        // What follows the answer is the session's.
        while *initiator.status() == InitiatorStatus::Waiting
            && let Some(bytes) = receive(socket, &mut datagram, &mut refusals)?
        {
            initiator.handle_datagram(monotonic_ns(), &datagram[..bytes]);
        }
        match initiator.status() {
            InitiatorStatus::Accepted(config) => {
                return Ok(Established {
                    config: TransferConfig {
                        seed: nonce,
                        ..(**config).clone()
                    },
                    rtt_ns: initiator.rtt_ns(),
                    accepted: None,
                    times: HandshakeTimes {
                        began,
                        complete: monotonic_ns(),
                    },
                });
            }
            InitiatorStatus::Failed(error) => return Err((*error).into()),
            InitiatorStatus::Waiting => {}
        }
        wait(socket, initiator.poll_timeout());
        initiator.handle_timeout(monotonic_ns());
    }
}

fn respond(
    socket: &UdpSocket,
    terms: &RbtTerms<'_>,
    is_sender: bool,
    control: MoverControl<'_>,
) -> Result<Established, TransferFailure> {
    let responder = Responder::new(random()?);
    let address = socket
        .peer_addr()
        .map_err(|cause| kernel("tell the peer's address", cause))?
        .to_string();
    let waiting_since = monotonic_ns();
    let time_to_begin = time_to_begin(terms.total_bytes).filter(|_| !is_sender);
    let give_up_ns = time_to_begin.map_or(GIVE_UP_NS, |time| time.as_nanos() as u64);
    let mut datagram = vec![0; DATAGRAM_BYTES];
    let mut refusals = Refusals::default();
    loop {
        stopped(control)?;
        while let Some(bytes) = receive(socket, &mut datagram, &mut refusals)? {
            let began = monotonic_ns();
            let response = responder.handle_datagram(
                began,
                address.as_bytes(),
                &datagram[..bytes],
                terms.token,
            );
            match response {
                Response::Ignore => {}
                Response::Reply(reply) => send(socket, &reply, &mut refusals)?,
                Response::Propose(proposal) => {
                    check(terms, is_sender, proposal.is_sender, &proposal.config)?;
                    let first_pn = u64::from(u32::from_le_bytes(random()?));
                    let random: [u8; 16] = random()?;
                    let (session, seed) = random.split_at(4);
                    let (config, accepted) = proposal.accept(&Grant {
                        session: session
                            .iter()
                            .fold(0, |word, byte| (word << 8) | u32::from(*byte)),
                        first_pn,
                        max_window_bytes: WINDOW_BYTES,
                        total_bytes: terms.total_bytes,
                        start_bytes: terms.start_bytes,
                    });
                    send(socket, accepted.answer(), &mut refusals)?;
                    let seed = seed
                        .iter()
                        .fold(0, |word, byte| (word << 8) | u64::from(*byte));
                    return Ok(Established {
                        config: TransferConfig { seed, ..config },
                        rtt_ns: None,
                        accepted: Some(accepted),
                        times: HandshakeTimes {
                            began,
                            complete: monotonic_ns(),
                        },
                    });
                }
            }
        }
        if monotonic_ns().saturating_sub(waiting_since) > give_up_ns {
            return Err(TransferError::TimedOut.into());
        }
        wait(socket, None);
    }
}

/// The proposal is what was agreed over the control channel.
fn check(
    terms: &RbtTerms<'_>,
    is_sender: bool,
    peer_is_sender: bool,
    config: &TransferConfig,
) -> Result<(), TransferFailure> {
    let agreed = proposed(terms);
    let is_agreed = is_sender != peer_is_sender
        && config.packet_bytes == agreed.packet_bytes
        && config.arq == agreed.arq
        && (!peer_is_sender || config.total_bytes == agreed.total_bytes);
    if is_agreed {
        Ok(())
    } else {
        Err(TransferError::Contradiction("the terms of the transfer").into())
    }
}

fn stopped(control: MoverControl<'_>) -> Result<(), TransferFailure> {
    if control.stop.load(Relaxed) {
        return Err(TransferFailure::Stopped);
    }
    Ok(())
}

fn random<const N: usize>() -> Result<[u8; N], TransferFailure> {
    random_bytes().map_err(|cause| kernel("give random numbers", cause))
}

fn kernel(doing: &'static str, cause: io::Error) -> TransferFailure {
    TransferFailure::Kernel { doing, cause }
}

fn send(
    socket: &UdpSocket,
    datagram: &[u8],
    refusals: &mut Refusals,
) -> Result<(), TransferFailure> {
    match socket.send(datagram) {
        Ok(_) => Ok(()),
        Err(error) => match error.raw_os_error() {
            // It is repeated like one that is lost on the way.
            Some(libc::EAGAIN | libc::ENOBUFS | libc::EINTR | libc::EMSGSIZE) => Ok(()),
            Some(libc::ECONNREFUSED) => refusals.count(),
            _ => Err(kernel("send a datagram", error)),
        },
    }
}

/// The next datagram that has arrived: its length.
fn receive(
    socket: &UdpSocket,
    datagram: &mut [u8],
    refusals: &mut Refusals,
) -> Result<Option<usize>, TransferFailure> {
    match socket.recv(datagram) {
        Ok(bytes) => {
            refusals.clear();
            Ok(Some(bytes))
        }
        Err(error) => match error.raw_os_error() {
            // A router's report about an earlier datagram changes nothing: these are small.
            Some(libc::EAGAIN | libc::EINTR | libc::EMSGSIZE) => Ok(None),
            Some(libc::ECONNREFUSED) => refusals.count().map(|()| None),
            _ => Err(kernel("receive a datagram", error)),
        },
    }
}
