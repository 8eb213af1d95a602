//! Sending and receiving a content over TLS.

use super::connection::TlsConnection;
use crate::content_source::ContentSource;
use crate::failure::TransferFailure;
use crate::in_band_content::{ContentPacer, receive_content, send_content};
use crate::in_band_end::{InBandTrailer, answer, await_answer, write_fully};
use crate::mover_terms::{MoverControl, MoverTerms};
use crate::run_sink::RunSink;
use crate::secure_account::SecureAccount;
use crate::secure_end::SecureEnd;
use crate::stall_watch::StallWatch;
use crate::tcp::{set_timeouts, spread_in_kernel};
use caudal_core::plan::{BULK_WRITE_BYTES, TransferVia};
use caudal_core::transfer::TransferEnd;
use caudal_core::units::ByteCount;
use caudal_flow::{TcpSenderWatch, tcp_state};
use caudal_sys::tcp as kernel;
use std::net::TcpStream;

/// Sends a content over TLS: the account, which is one of a broken transfer as well.
///
/// # Errors
/// Why the transfer did not complete.
pub(crate) fn send_tls(
    socket: &TcpStream,
    terms: &MoverTerms<'_>,
    source: &mut dyn ContentSource,
    control: MoverControl<'_>,
) -> (TransferEnd, Result<(), TransferFailure>) {
    let mut account = SecureAccount::begin();
    let mut course = None;
    let result = carry(socket, terms, control, &mut account, |stream, account| {
        spread_in_kernel(socket, terms.plan.rate.limit());
        let watch = TcpSenderWatch::spawn(socket).ok();
        let sent = send(stream, terms, source, control, account);
        course = watch.map(TcpSenderWatch::finish);
        sent
    });
    let (readings, trace) = course.map(|one| (one.readings, one.trace)).unzip();
    account.digest = source.digest();
    let tcp = tcp_state(socket);
    let end = TransferEnd {
        retransmitted: tcp.as_ref().map(|tcp| tcp.retransmits),
        timeouts: tcp.as_ref().and_then(|tcp| tcp.timeouts),
        min_rtt_ns: tcp
            .as_ref()
            .and_then(|tcp| tcp.min_rtt_us.map(|us| u64::from(us) * 1000)),
        congestion: kernel::congestion(socket).ok().map(Into::into),
        tcp,
        readings,
        trace,
        ..account.to_sender(&result)
    };
    (end, result)
}

/// Receives a content over TLS: the account, which is one of a broken transfer as well.
///
/// # Errors
/// Why the transfer did not complete.
pub(crate) fn receive_tls(
    socket: &TcpStream,
    terms: &MoverTerms<'_>,
    sink: &mut dyn RunSink,
    control: MoverControl<'_>,
) -> (TransferEnd, Result<(), TransferFailure>) {
    let mut account = SecureAccount::begin();
    let result = carry(socket, terms, control, &mut account, |stream, account| {
        receive(stream, terms, sink, control, account)
    });
    account.synced_ns = sink.synced_ns();
    account.store_cpu_ns = sink.store_cpu_ns();
    (account.to_receiver(&result), result)
}

/// Does the handshake and what follows it.
fn carry<'s>(
    socket: &'s TcpStream,
    terms: &MoverTerms<'_>,
    control: MoverControl<'_>,
    account: &mut SecureAccount,
    content: impl FnOnce(&mut TlsConnection<'s>, &mut SecureAccount) -> Result<(), TransferFailure>,
) -> Result<(), TransferFailure> {
    set_timeouts(socket)?;
    let mut stream = TlsConnection::new(socket, SecureEnd::from_terms(terms)?)?;
    let mut watch = match terms.time_to_begin() {
        Some(time) => StallWatch::patient(control, Some(time)),
        None => StallWatch::new(control),
    };
    let result = stream.shake_hands(&mut watch).and_then(|()| {
        account.set_began(stream.first_ns(), terms.connect_time);
        account.set_handshake();
        content(&mut stream, account)
    });
    account.counts.calls = stream.calls();
    result
}

fn send(
    stream: &mut TlsConnection<'_>,
    terms: &MoverTerms<'_>,
    source: &mut dyn ContentSource,
    control: MoverControl<'_>,
    account: &mut SecureAccount,
) -> Result<(), TransferFailure> {
    let block = match &terms.plan.via {
        TransferVia::Tls(settings) => settings.write_bytes,
        _ => BULK_WRITE_BYTES,
    };
    let pacer = ContentPacer::new(terms.plan.rate.limit(), block as usize);
    let offset = terms.plan.resume_from.get();
    send_content(stream, source, offset, pacer, control, &mut account.counts)?;
    let (Some(total), Some(digest)) = (source.total(), source.digest()) else {
        let message = "the content has no digest".to_owned();
        return Err(TransferFailure::Storage(message));
    };
    let mut watch = StallWatch::new(control);
    write_fully(
        stream,
        &InBandTrailer { total, digest }.encode(),
        &mut watch,
    )?;
    stream.finish(&mut watch)?;
    await_answer(stream, total, control, &mut account.times)
}

fn receive(
    stream: &mut TlsConnection<'_>,
    terms: &MoverTerms<'_>,
    sink: &mut dyn RunSink,
    control: MoverControl<'_>,
    account: &mut SecureAccount,
) -> Result<(), TransferFailure> {
    let plan = terms.plan;
    let expected = plan.content.bytes().map(ByteCount::get);
    let sizes = (plan.resume_from.get(), expected);
    let trailer = receive_content(
        stream,
        sink,
        sizes,
        terms.limit,
        control,
        &mut account.counts,
    )?;
    account.digest = Some(trailer.digest);
    let result = answer(stream, sink, trailer.digest, control, &mut account.times);
    // The sender, which knows everything by now, may have closed the connection already.
    let _ = stream.finish(&mut StallWatch::new(control));
    result
}
