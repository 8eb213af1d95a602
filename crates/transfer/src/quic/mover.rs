//! Sending and receiving a content over QUIC.

use super::connection::QuicConnection;
use super::settings::QuicCongestion;
use crate::content_source::ContentSource;
use crate::failure::TransferFailure;
use crate::mover_terms::{MoverControl, MoverTerms};
use crate::run_sink::RunSink;
use crate::secure_account::SecureAccount;
use caudal_core::text::ExternalText;
use caudal_core::transfer::TransferEnd;
use caudal_rbt::AbortCode;
use quinn::ConnectionStats;
use std::net::UdpSocket;

/// A transfer that has ended, and what is to be reported of it.
struct EndedTransfer {
    account: SecureAccount,
    stats: Option<ConnectionStats>,
    congestion: QuicCongestion,
    notes: Vec<ExternalText>,
    result: Result<(), TransferFailure>,
}

/// Sends a content over QUIC: the account, which is one of a broken transfer as well.
///
/// # Errors
/// Why the transfer did not complete.
pub(crate) fn send_quic(
    socket: &UdpSocket,
    terms: &MoverTerms<'_>,
    source: &mut dyn ContentSource,
    control: MoverControl<'_>,
) -> (TransferEnd, Result<(), TransferFailure>) {
    let storage_code = AbortCode::Source;
    let mut ended = carry(
        socket,
        terms,
        control,
        storage_code,
        async |connection, account| {
            super::sending::send(connection, source, terms, control, account).await
        },
    );
    ended.account.digest = source.digest();
    let path = ended.stats.map(|stats| stats.path);
    let end = TransferEnd {
        datagrams: ended.stats.map(|stats| stats.udp_tx.datagrams),
        lost: path.map(|path| path.lost_packets),
        // What was lost is sent again, not packet by packet.
        retransmitted: path.map(|path| path.lost_packets),
        min_rtt_ns: path.map(|path| path.min_rtt.as_nanos() as u64),
        congestion: Some(ended.congestion.name().into()),
        notes: ended.notes,
        ..ended.account.to_sender(&ended.result)
    };
    (end, ended.result)
}

/// Receives a content over QUIC: the account, which is one of a broken transfer as well.
///
/// # Errors
/// Why the transfer did not complete.
pub(crate) fn receive_quic(
    socket: &UdpSocket,
    terms: &MoverTerms<'_>,
    sink: &mut dyn RunSink,
    control: MoverControl<'_>,
) -> (TransferEnd, Result<(), TransferFailure>) {
    let storage_code = AbortCode::Sink;
    let mut ended = carry(
        socket,
        terms,
        control,
        storage_code,
        async |connection, account| {
            super::receiving::receive(connection, sink, terms, control, account).await
        },
    );
    ended.account.synced_ns = sink.synced_ns();
    ended.account.store_cpu_ns = sink.store_cpu_ns();
    let end = TransferEnd {
        datagrams: ended.stats.map(|stats| stats.udp_rx.datagrams),
        notes: ended.notes,
        ..ended.account.to_receiver(&ended.result)
    };
    (end, ended.result)
}

/// Connects, has the content carried, and closes the connection.
fn carry(
    socket: &UdpSocket,
    terms: &MoverTerms<'_>,
    control: MoverControl<'_>,
    storage_code: AbortCode,
    content: impl AsyncFnOnce(&quinn::Connection, &mut SecureAccount) -> Result<(), TransferFailure>,
) -> EndedTransfer {
    let mut account = SecureAccount::begin();
    let (congestion, note) = QuicCongestion::from_name(terms.plan.congestion.as_deref());
    let mut notes: Vec<ExternalText> = note.into_iter().map(Into::into).collect();
    let (stats, result) = match QuicConnection::prepare(socket, terms, congestion, storage_code) {
        Ok(mut quic) => {
            notes.extend(quic.note().map(Into::into));
            let result = quic.run(control, &mut account, content);
            account.counts.calls = quic.calls();
            (quic.stats(), result)
        }
        Err(failure) => (None, Err(failure)),
    };
    EndedTransfer {
        account,
        stats,
        congestion,
        notes,
        result,
    }
}
