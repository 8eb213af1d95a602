//! The list of protocols that carry a content.

use super::content_source::ContentSource;
use super::failure::TransferFailure;
use super::mover_terms::{MoverControl, MoverTerms};
use super::quic::{receive_quic, send_quic};
use super::rbt::{RbtTerms, receive_rbt, send_rbt};
use super::run_sink::RunSink;
use super::tcp::{receive_tcp, send_tcp};
use super::tls::{receive_tls, send_tls};
use caudal_core::plan::{FileProtocol, RbtTransfer, TransferVia};
use caudal_core::transfer::TransferEnd;
use caudal_core::units::{BitRate, ByteCount};
use caudal_flow::socket::DataSocket;

/// `true` when the server of a transfer over this protocol has a certificate.
pub const fn has_certificate(protocol: FileProtocol) -> bool {
    matches!(protocol, FileProtocol::Tls | FileProtocol::Quic)
}

/// Sends a content over the protocol of the plan.
///
/// # Errors
/// Why the transfer did not complete; the account is that of a broken transfer then.
pub fn send(
    socket: &DataSocket,
    terms: &MoverTerms<'_>,
    source: &mut dyn ContentSource,
    control: MoverControl<'_>,
) -> (TransferEnd, Result<(), TransferFailure>) {
    match (&terms.plan.via, socket) {
        (TransferVia::Tcp(_), DataSocket::Tcp(stream)) => send_tcp(stream, terms, source, control),
        (TransferVia::Rbt(settings), DataSocket::Udp(socket)) => {
            send_rbt(socket, &rbt_terms(terms, settings), source, control)
        }
        (TransferVia::Tls(_), DataSocket::Tcp(stream)) => send_tls(stream, terms, source, control),
        (TransferVia::Quic, DataSocket::Udp(socket)) => send_quic(socket, terms, source, control),
        (via, _) => unavailable(via),
    }
}

/// Receives a content over the protocol of the plan.
///
/// # Errors
/// Why the transfer did not complete; the account is that of a broken transfer then.
pub fn receive(
    socket: &DataSocket,
    terms: &MoverTerms<'_>,
    sink: &mut dyn RunSink,
    control: MoverControl<'_>,
) -> (TransferEnd, Result<(), TransferFailure>) {
    match (&terms.plan.via, socket) {
        (TransferVia::Tcp(_), DataSocket::Tcp(stream)) => receive_tcp(stream, terms, sink, control),
        (TransferVia::Rbt(settings), DataSocket::Udp(socket)) => {
            receive_rbt(socket, &rbt_terms(terms, settings), sink, control)
        }
        (TransferVia::Tls(_), DataSocket::Tcp(stream)) => receive_tls(stream, terms, sink, control),
        (TransferVia::Quic, DataSocket::Udp(socket)) => receive_quic(socket, terms, sink, control),
        (via, _) => unavailable(via),
    }
}

fn rbt_terms<'a>(terms: &'a MoverTerms<'a>, settings: &'a RbtTransfer) -> RbtTerms<'a> {
    let plan = terms.plan;
    RbtTerms {
        settings,
        congestion: plan.congestion.as_deref(),
        rate: plan.rate.limit().map(BitRate::bps),
        start_bytes: plan.resume_from.get(),
        total_bytes: plan.content.bytes().map(ByteCount::get),
        token: &terms.token.0,
        is_initiator: terms.is_client,
        limit: terms.limit,
    }
}

fn unavailable(via: &TransferVia) -> (TransferEnd, Result<(), TransferFailure>) {
    let failure = TransferFailure::Unavailable(via.protocol());
    let account = TransferEnd {
        failure: Some(failure.to_string().into()),
        ..TransferEnd::default()
    };
    (account, Err(failure))
}
