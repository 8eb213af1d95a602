//! The sending end.

use super::connection::{connection_failure, failure};
use crate::content_source::ContentSource;
use crate::failure::TransferFailure;
use crate::in_band_content::{BLOCK_WAIT_NS, ContentPacer, LOOK_NS, ReadyBlock, check_source};
use crate::in_band_end::{EndTimes, InBandTrailer};
use crate::mover_terms::{MoverControl, MoverTerms};
use crate::secure_account::SecureAccount;
use caudal_core::plan::BULK_WRITE_BYTES;
use caudal_sys::clock::monotonic_ns;
use quinn::{Connection, ReadError, ReadExactError, RecvStream, SendStream, WriteError};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::time::sleep;

/// Minimum wait for which a timer is set, ns: its resolution is a millisecond.
const MIN_WAIT_NS: u64 = 500_000;

/// Sends a content until the receiver has compared the digest.
pub(super) async fn send(
    connection: &Connection,
    source: &mut dyn ContentSource,
    terms: &MoverTerms<'_>,
    control: MoverControl<'_>,
    account: &mut SecureAccount,
) -> Result<(), TransferFailure> {
    let (mut stream, mut answers) = connection
        .open_bi()
        .await
        .map_err(|cause| connection_failure(&cause))?;
    let mut pacer = ContentPacer::new(terms.plan.rate.limit(), BULK_WRITE_BYTES as usize);
    let mut block = vec![0; pacer.block()];
    let mut offset = terms.plan.resume_from.get();
    while let Some(ready) = next_block(source, offset, pacer.block()).await? {
        source.read(offset, &mut block[..ready]);
        check_source(source)?;
        let wait_ns = pacer.wait_ns(ready, monotonic_ns());
        if wait_ns >= MIN_WAIT_NS {
            sleep(Duration::from_nanos(wait_ns)).await;
        }
        pacer.written(ready);
        write_block(&mut stream, &block[..ready], control, account).await?;
        offset += ready as u64;
        source.release(offset);
    }
    let (Some(total), Some(digest)) = (source.total(), source.digest()) else {
        let message = "the content has no digest".to_owned();
        return Err(TransferFailure::Storage(message));
    };
    let trailer = InBandTrailer { total, digest }.encode();
    stream.write_all(&trailer).await.map_err(write_failure)?;
    stream.finish().map_err(|cause| failure(&cause))?;
    await_answers(&mut answers, &mut account.times).await
}

/// The bytes to send next at `offset`, `block` at most; `None` at the end of the content.
async fn next_block(
    source: &dyn ContentSource,
    offset: u64,
    block: usize,
) -> Result<Option<usize>, TransferFailure> {
    let give_up_ns = monotonic_ns() + BLOCK_WAIT_NS;
    loop {
        match ReadyBlock::look(source, offset, block)? {
            ReadyBlock::Whole(ready) => return Ok(Some(ready)),
            ReadyBlock::End => return Ok(None),
            ReadyBlock::Part(part) if part > 0 && monotonic_ns() >= give_up_ns => {
                return Ok(Some(part));
            }
            ReadyBlock::Part(_) => sleep(Duration::from_nanos(LOOK_NS)).await,
        }
    }
}

/// Writes a block and counts it as it leaves.
async fn write_block(
    stream: &mut SendStream,
    mut block: &[u8],
    control: MoverControl<'_>,
    account: &mut SecureAccount,
) -> Result<(), TransferFailure> {
    while !block.is_empty() {
        let count = stream.write(block).await.map_err(write_failure)?;
        block = &block[count..];
        let counts = &mut account.counts;
        counts.bytes += count as u64;
        counts.last_byte_ns = monotonic_ns();
        if counts.first_byte_ns == 0 {
            counts.first_byte_ns = counts.last_byte_ns;
        }
        control.bytes.fetch_add(count as u64, Relaxed);
    }
    Ok(())
}

/// Waits until the receiver has compared the digest.
async fn await_answers(
    answers: &mut RecvStream,
    times: &mut EndTimes,
) -> Result<(), TransferFailure> {
    loop {
        let mut answer = [0];
        let read = answers.read_exact(&mut answer).await;
        read.map_err(|cause| match cause {
            ReadExactError::ReadError(ReadError::ConnectionLost(cause)) => {
                connection_failure(&cause)
            }
            _ => failure(&"the peer closed the connection without an answer"),
        })?;
        if times.take_answer(answer[0], monotonic_ns())? {
            return Ok(());
        }
    }
}

fn write_failure(cause: WriteError) -> TransferFailure {
    match cause {
        WriteError::ConnectionLost(cause) => connection_failure(&cause),
        other => failure(&format!("QUIC failed: {other}")),
    }
}
