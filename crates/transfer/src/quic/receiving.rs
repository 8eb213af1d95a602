//! The receiving end.

use super::connection::{connection_failure, failure};
use crate::arriving_content::ArrivingContent;
use crate::failure::TransferFailure;
use crate::in_band_end::{MISMATCH, VERIFIED, WRITTEN};
use crate::mover_terms::{MoverControl, MoverTerms};
use crate::run_sink::RunSink;
use crate::secure_account::SecureAccount;
use caudal_core::units::ByteCount;
use caudal_sys::clock::monotonic_ns;
use quinn::{Connection, ReadError, RecvStream, SendStream, WriteError};
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// Maximum time for which a receiver repeats its last answer.
const ANSWER_TIME: Duration = Duration::from_secs(3);
/// Interval at which a receiver checks for the digest: the resolution of timers.
const LOOK: Duration = Duration::from_millis(1);

/// Receives a content until its digest was compared and the sender has the answer.
pub(super) async fn receive(
    connection: &Connection,
    sink: &mut dyn RunSink,
    terms: &MoverTerms<'_>,
    control: MoverControl<'_>,
    account: &mut SecureAccount,
) -> Result<(), TransferFailure> {
    let (mut answers, mut stream) = connection
        .accept_bi()
        .await
        .map_err(|cause| connection_failure(&cause))?;
    let expected = terms.plan.content.bytes().map(ByteCount::get);
    let mut arriving = ArrivingContent::new(terms.plan.resume_from.get(), expected);
    while let Some(count) = read(&mut stream, &mut arriving, terms).await? {
        arriving.take(count, monotonic_ns(), sink, control, &mut account.counts)?;
    }
    let trailer = arriving.end(sink)?;
    account.digest = Some(trailer.digest);
    let result = answer(&mut answers, sink, trailer.digest, account).await;
    if matches!(result, Ok(()) | Err(TransferFailure::DigestMismatch)) {
        // The sender acknowledges the answer, or closes the connection when it has it, or both get lost.
        let _ = timeout(ANSWER_TIME, answers.stopped()).await;
    }
    result
}

/// Reads what has arrived, within the limits of the server; `None` at the end of the stream.
async fn read(
    stream: &mut RecvStream,
    arriving: &mut ArrivingContent,
    terms: &MoverTerms<'_>,
) -> Result<Option<usize>, TransferFailure> {
    if let Some(limit) = terms.limit {
        let wait_ns = limit.wait_ns(monotonic_ns());
        if wait_ns > 0 {
            sleep(Duration::from_nanos(wait_ns)).await;
        }
    }
    let room = arriving.room();
    let max = terms
        .limit
        .map_or(room.len(), |limit| limit.max_read(room.len()));
    let read = stream.read(&mut room[..max]).await.map_err(read_failure)?;
    if let (Some(limit), Some(count)) = (terms.limit, read) {
        limit
            .take_stream(count as u64, monotonic_ns())
            .map_err(|reached| failure(&reached))?;
    }
    Ok(read)
}

/// Says that everything was written, waits for the digest, and says whether it is equal. The connection is kept alive meanwhile.
async fn answer(
    answers: &mut SendStream,
    sink: &mut dyn RunSink,
    claimed: [u8; 32],
    account: &mut SecureAccount,
) -> Result<(), TransferFailure> {
    sink.flush().map_err(TransferFailure::Storage)?;
    account.times.written_ns = monotonic_ns();
    say(answers, WRITTEN).await?;
    sink.begin_verification(claimed);
    let is_equal = loop {
        match sink.verification() {
            Some(outcome) => break outcome.map_err(TransferFailure::Storage)?,
            None => sleep(LOOK).await,
        }
    };
    if !is_equal {
        // The mismatch is what is to be told, whether the sender hears of it or not.
        let _ = say(answers, MISMATCH).await;
        let _ = answers.finish();
        return Err(TransferFailure::DigestMismatch);
    }
    account.times.verified_ns = monotonic_ns();
    say(answers, VERIFIED).await?;
    answers.finish().map_err(|cause| failure(&cause))
}

async fn say(answers: &mut SendStream, answer: u8) -> Result<(), TransferFailure> {
    let written = answers.write_all(&[answer]).await;
    written.map_err(|cause| match cause {
        WriteError::ConnectionLost(cause) => connection_failure(&cause),
        other => failure(&format!("QUIC failed: {other}")),
    })
}

fn read_failure(cause: ReadError) -> TransferFailure {
    match cause {
        ReadError::ConnectionLost(cause) => connection_failure(&cause),
        other => failure(&format!("QUIC failed: {other}")),
    }
}
