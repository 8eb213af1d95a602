//! The end of a transfer over a stream: a trailer behind the content, and the receiver's answer.
//!
//! Behind the last byte of the content the sender writes a trailer of 40 bytes: the size of the whole content as a 64-bit little-endian
//! number, and its BLAKE3 digest. Then it closes its direction. The receiver answers `W` when everything is written, and then `V` when
//! the digest is equal or `M` when it is not. `W` is repeated while the digest is computed.

use super::digest_time::time_for_digest;
use super::failure::TransferFailure;
use super::mover_terms::MoverControl;
use super::run_sink::RunSink;
use super::stall_watch::StallWatch;
use caudal_sys::clock::monotonic_ns;
use std::io::{Read, Write};

/// The bytes of a trailer.
pub(crate) const TRAILER_BYTES: usize = 40;
/// Everything is written.
pub(crate) const WRITTEN: u8 = b'W';
/// The digest is equal.
pub(crate) const VERIFIED: u8 = b'V';
/// The digest is not equal.
pub(crate) const MISMATCH: u8 = b'M';
/// Interval at which the receiver reports that it still computes the digest, ns.
const REPEAT_NS: u64 = 5_000_000_000;
/// Interval at which a receiver checks for the digest, ns.
const LOOK_NS: u64 = 200_000;

/// The last bytes of a sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InBandTrailer {
    /// The size of the whole content, with what the receiver had before.
    pub(crate) total: u64,
    /// Its digest.
    pub(crate) digest: [u8; 32],
}

impl InBandTrailer {
    pub(crate) fn encode(&self) -> [u8; TRAILER_BYTES] {
        let mut bytes = [0; TRAILER_BYTES];
        let (total, digest) = bytes.split_at_mut(8);
        total.copy_from_slice(&self.total.to_le_bytes());
        digest.copy_from_slice(&self.digest);
        bytes
    }

    pub(crate) fn decode(bytes: &[u8; TRAILER_BYTES]) -> Self {
        let (mut total, mut digest) = ([0; 8], [0; 32]);
        total.copy_from_slice(&bytes[..8]);
        digest.copy_from_slice(&bytes[8..]);
        Self {
            total: u64::from_le_bytes(total),
            digest,
        }
    }
}

/// The times of the end of a transfer, ns of the monotonic clock; 0 before they have come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct EndTimes {
    /// The receiver has written everything, or the sender knows it.
    pub(crate) written_ns: u64,
    /// The receiver has compared the digest, or the sender knows it.
    pub(crate) verified_ns: u64,
}

impl EndTimes {
    /// Takes an answer of the receiver that came at `now_ns`: `true` when it was the last one.
    ///
    /// # Errors
    /// When the digests differ, or the answer is none.
    pub(crate) fn take_answer(&mut self, answer: u8, now_ns: u64) -> Result<bool, TransferFailure> {
        match (answer, self.written_ns) {
            (WRITTEN, 0) => self.written_ns = now_ns,
            (WRITTEN, _) => {}
            (VERIFIED, 1..) => {
                self.verified_ns = now_ns;
                return Ok(true);
            }
            (MISMATCH, 1..) => return Err(TransferFailure::DigestMismatch),
            _ => {
                let message = "the receiver's answer makes no sense".to_owned();
                return Err(TransferFailure::Connection(message));
            }
        }
        Ok(false)
    }
}

/// Writes all of `bytes`.
pub(crate) fn write_fully(
    stream: &mut impl Write,
    bytes: &[u8],
    watch: &mut StallWatch<'_>,
) -> Result<(), TransferFailure> {
    let mut at = 0;
    while at < bytes.len() {
        match watch.moved(stream.write(&bytes[at..]))? {
            Some(count) => at += count,
            None => return Err(closed()),
        }
    }
    Ok(())
}

/// Waits for the receiver's answer to a content of `total` bytes, once the sender has closed its direction. It may say that it still
/// computes the digest for as long as that can take, and not much oftener than it is to.
///
/// # Errors
/// When the digests differ, the receiver does not answer or its answer is none, or it is no answer for too long.
pub(crate) fn await_answer(
    stream: &mut impl Read,
    total: u64,
    control: MoverControl<'_>,
    times: &mut EndTimes,
) -> Result<(), TransferFailure> {
    let mut watch = StallWatch::new(control);
    let mut answer = [0];
    let time_ns = u64::try_from(time_for_digest(total).as_nanos()).unwrap_or(u64::MAX);
    let until_ns = monotonic_ns().saturating_add(time_ns);
    let mut answers_left = time_ns / REPEAT_NS * 2;
    loop {
        if answers_left == 0 || monotonic_ns() >= until_ns {
            let message = "the receiver goes on to say that it computes the digest".to_owned();
            return Err(TransferFailure::Connection(message));
        }
        match watch.moved(stream.read(&mut answer))? {
            None => return Err(closed()),
            Some(0) => continue,
            Some(_) => answers_left -= 1,
        }
        if times.take_answer(answer[0], monotonic_ns())? {
            return Ok(());
        }
    }
}

/// Answers for the receiver, whose sink has taken everything: it compares the digest with `claimed`.
///
/// # Errors
/// When the digests differ, the file cannot be completed or the sender is gone.
pub(crate) fn answer(
    stream: &mut impl Write,
    sink: &mut dyn RunSink,
    claimed: [u8; 32],
    control: MoverControl<'_>,
    times: &mut EndTimes,
) -> Result<(), TransferFailure> {
    sink.flush().map_err(TransferFailure::Storage)?;
    let mut watch = StallWatch::new(control);
    times.written_ns = monotonic_ns();
    let mut say = |byte: u8, watch: &mut StallWatch<'_>| {
        write_fully(stream, &[byte], watch)?;
        stream
            .flush()
            .map_err(|cause| TransferFailure::Connection(format!("the connection broke: {cause}")))
    };
    say(WRITTEN, &mut watch)?;
    sink.begin_verification(claimed);
    let mut repeat_ns = monotonic_ns() + REPEAT_NS;
    loop {
        match sink.verification() {
            Some(Ok(true)) => {
                times.verified_ns = monotonic_ns();
                return say(VERIFIED, &mut watch);
            }
            Some(Ok(false)) => {
                // The mismatch is what is to be told, whether the sender hears of it or not.
                let _ = say(MISMATCH, &mut watch);
                return Err(TransferFailure::DigestMismatch);
            }
            Some(Err(reason)) => return Err(TransferFailure::Storage(reason)),
            None => {}
        }
        let now_ns = monotonic_ns();
        if now_ns >= repeat_ns {
            say(WRITTEN, &mut watch)?;
            repeat_ns = now_ns + REPEAT_NS;
        }
        watch.sleep_until(now_ns + LOOK_NS)?;
    }
}

/// The failure of a peer that has ended the stream too early.
pub(crate) fn closed() -> TransferFailure {
    TransferFailure::Connection("the peer closed the connection before the end".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;
    use std::sync::atomic::{AtomicBool, AtomicU64};

    /// Answers that were written beforehand, one byte a read.
    struct Answers(&'static [u8]);

    impl Read for Answers {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let Some((first, rest)) = self.0.split_first() else {
                return Ok(0);
            };
            self.0 = rest;
            match first {
                b' ' => Err(io::ErrorKind::WouldBlock.into()),
                byte => {
                    out[0] = *byte;
                    Ok(1)
                }
            }
        }
    }

    fn outcome(answers: &'static [u8]) -> (Result<(), TransferFailure>, EndTimes) {
        let (stop, bytes) = (AtomicBool::new(false), AtomicU64::new(0));
        let control = MoverControl {
            stop: &stop,
            bytes: &bytes,
        };
        let mut times = EndTimes::default();
        let result = await_answer(&mut Answers(answers), 0, control, &mut times);
        (result, times)
    }

    #[test]
    fn the_receiver_answers_that_it_has_written_and_then_that_it_has_verified() {
        let (result, times) = outcome(b" W  WV");
        result.unwrap();
        assert!(times.written_ns > 0 && times.verified_ns >= times.written_ns);
    }

    #[test]
    fn any_other_answer_is_a_failure() {
        assert!(matches!(
            outcome(b"WM").0,
            Err(TransferFailure::DigestMismatch)
        ));
        for answers in [&b""[..], b"W", b"V", b"M", b"x", b"Wx"] {
            let result = outcome(answers).0;
            assert!(
                matches!(result, Err(TransferFailure::Connection(_))),
                "{answers:?}: {result:?}"
            );
        }
    }

    #[test]
    fn a_flood_of_answers_that_are_none_is_a_failure() {
        // Twice what 60 s of the digest of nothing have room for.
        let result = outcome(&[WRITTEN; 24]).0;
        let message = result.unwrap_err().to_string();
        assert!(message.contains("goes on"), "{message}");
        let late = outcome(b"WWWWWWWWWWWWWWWWWWWWV").0;
        assert!(late.is_ok(), "{late:?}");
    }

    #[test]
    fn a_trailer_survives_the_trip() {
        let trailer = InBandTrailer {
            total: 0x0102_0304_0506,
            digest: [7; 32],
        };
        assert_eq!(InBandTrailer::decode(&trailer.encode()), trailer);
        assert_eq!(trailer.encode()[..8], [6, 5, 4, 3, 2, 1, 0, 0]);
    }
}
