//! A transfer over a TCP connection.

use super::content_source::{ContentCounts, ContentSource};
use super::failure::TransferFailure;
use super::in_band_content::{ContentPacer, check_source, receive_content, send_content};
use super::in_band_end::{EndTimes, InBandTrailer, answer, await_answer, write_fully};
use super::mover_terms::{MoverControl, MoverTerms};
use super::run_sink::RunSink;
use super::stall_watch::{STEP_TIMEOUT, StallWatch};
use caudal_core::plan::{TcpTransferSettings, TransferVia};
use caudal_core::transfer::TransferEnd;
use caudal_core::units::{BitRate, ByteCount};
use caudal_flow::{TcpSenderWatch, WritePace, tcp_state};
use caudal_sys::clock::{CpuClock, monotonic_ns};
use caudal_sys::tcp as kernel;
use std::net::TcpStream;
use std::os::fd::BorrowedFd;
use std::sync::atomic::Ordering::Relaxed;

/// One end of a transfer over TCP under way.
struct TcpEnd<'a> {
    stream: &'a TcpStream,
    terms: &'a MoverTerms<'a>,
    control: MoverControl<'a>,
    /// The beginning of the transfer's clock, ns of the monotonic clock.
    began_ns: u64,
    cpu: CpuClock,
    cpu_began_ns: u64,
    counts: ContentCounts,
    times: EndTimes,
    /// The digest of the whole content, as far as it is known.
    digest: Option<[u8; 32]>,
    account: TransferEnd,
}

/// Sends a content over a connected TCP socket: the account, which is one of a broken transfer as well.
///
/// # Errors
/// Why the transfer did not complete.
pub(crate) fn send_tcp(
    stream: &TcpStream,
    terms: &MoverTerms<'_>,
    source: &mut dyn ContentSource,
    control: MoverControl<'_>,
) -> (TransferEnd, Result<(), TransferFailure>) {
    let mut end = TcpEnd::begin(stream, terms, control);
    let result = end.send(source);
    end.digest = source.digest();
    end.account.tcp = end.account.tcp.take().or_else(|| tcp_state(stream));
    let tcp = end.account.tcp.as_ref();
    let account = TransferEnd {
        retransmitted: tcp.map(|tcp| tcp.retransmits),
        timeouts: tcp.and_then(|tcp| tcp.timeouts),
        min_rtt_ns: tcp.and_then(|tcp| tcp.min_rtt_us.map(|us| u64::from(us) * 1000)),
        acknowledged_ns: end.since_known(end.times.written_ns),
        congestion: kernel::congestion(stream).ok().map(Into::into),
        ..end.account(&result)
    };
    (account, result)
}

/// Receives a content over a connected TCP socket: the account, which is one of a broken transfer as well.
///
/// # Errors
/// Why the transfer did not complete.
pub(crate) fn receive_tcp(
    stream: &TcpStream,
    terms: &MoverTerms<'_>,
    sink: &mut dyn RunSink,
    control: MoverControl<'_>,
) -> (TransferEnd, Result<(), TransferFailure>) {
    let mut end = TcpEnd::begin(stream, terms, control);
    let result = end.receive(sink);
    let account = end.account(&result);
    let account = TransferEnd {
        written_ns: end.since_known(end.times.written_ns),
        synced_ns: sink.synced_ns().map(|ns| end.since(ns)),
        cpu_ns: account.cpu_ns + sink.store_cpu_ns(),
        ..account
    };
    (account, result)
}

impl<'a> TcpEnd<'a> {
    fn begin(stream: &'a TcpStream, terms: &'a MoverTerms<'a>, control: MoverControl<'a>) -> Self {
        let cpu = CpuClock::of_this_thread();
        let connect_ns = terms.connect_time.map_or(0, |time| time.as_nanos() as u64);
        Self {
            stream,
            terms,
            control,
            began_ns: monotonic_ns().saturating_sub(connect_ns),
            cpu,
            cpu_began_ns: cpu_ns(cpu),
            counts: ContentCounts::default(),
            times: EndTimes::default(),
            digest: None,
            account: TransferEnd {
                handshake_ns: connect_ns,
                ..TransferEnd::default()
            },
        }
    }

    fn settings(&self) -> Option<&'a TcpTransferSettings> {
        match &self.terms.plan.via {
            TransferVia::Tcp(tcp) => Some(tcp),
            _ => None,
        }
    }

    fn send(&mut self, source: &mut dyn ContentSource) -> Result<(), TransferFailure> {
        set_timeouts(self.stream)?;
        let Some(settings) = self.settings() else {
            return Err(TransferFailure::Unavailable(self.terms.plan.via.protocol()));
        };
        let rate = self.terms.plan.rate.limit();
        spread_in_kernel(self.stream, rate);
        let offset = self.terms.plan.resume_from.get();
        let pacer = ContentPacer::new(rate, settings.write_bytes as usize);
        let has_file = source.file().is_some();
        let watch = TcpSenderWatch::spawn(self.stream).ok();
        if settings.sendfile && has_file {
            self.send_file(source, offset, pacer)?;
        } else {
            if settings.sendfile {
                let note = "sendfile needs a file: the content was written from memory";
                self.account.notes.push(note.into());
            }
            let (mut stream, control) = (self.stream, self.control);
            send_content(
                &mut stream,
                source,
                offset,
                pacer,
                control,
                &mut self.counts,
            )?;
        }
        if let Some(course) = watch.map(TcpSenderWatch::finish) {
            self.account.readings = Some(course.readings);
            self.account.trace = Some(course.trace);
        }
        self.end_sending(source)
    }

    /// Has the kernel send the file.
    fn send_file(
        &mut self,
        source: &mut dyn ContentSource,
        from: u64,
        mut pacer: ContentPacer,
    ) -> Result<(), TransferFailure> {
        let mut watch = StallWatch::new(self.control);
        let total = source.total().unwrap_or(0);
        let mut offset = from;
        while offset < total {
            check_source(source)?;
            let block = (total - offset).min(pacer.block() as u64) as usize;
            pacer.wait(block, &mut watch)?;
            if self.counts.first_byte_ns == 0 {
                self.counts.first_byte_ns = monotonic_ns();
            }
            let Some(file) = source.file() else {
                break;
            };
            self.send_block(file, &mut offset, block, &mut watch)?;
        }
        check_source(source)?;
        self.counts.last_byte_ns = monotonic_ns();
        Ok(())
    }

    fn send_block(
        &mut self,
        file: BorrowedFd<'_>,
        offset: &mut u64,
        block: usize,
        watch: &mut StallWatch<'_>,
    ) -> Result<(), TransferFailure> {
        let mut left = block;
        while left > 0 {
            self.counts.calls += 1;
            let sent = kernel::send_file_some(self.stream, file, offset, left);
            let Some(count) = watch.moved(sent)? else {
                let message = "the file has become shorter while it was sent".to_owned();
                return Err(TransferFailure::Storage(message));
            };
            left -= count.min(left);
            self.counts.bytes += count as u64;
            self.control.bytes.fetch_add(count as u64, Relaxed);
        }
        Ok(())
    }

    /// Sends the trailer, closes this direction and waits for the answer.
    fn end_sending(&mut self, source: &dyn ContentSource) -> Result<(), TransferFailure> {
        let (Some(total), Some(digest)) = (source.total(), source.digest()) else {
            let message = "the content has no digest".to_owned();
            return Err(TransferFailure::Storage(message));
        };
        let trailer = InBandTrailer { total, digest }.encode();
        let (mut stream, control) = (self.stream, self.control);
        write_fully(&mut stream, &trailer, &mut StallWatch::new(control))?;
        kernel::shutdown_write(stream).map_err(|cause| TransferFailure::Kernel {
            doing: "close the sending direction",
            cause,
        })?;
        let result = await_answer(&mut stream, total, control, &mut self.times);
        self.account.tcp = tcp_state(stream);
        result
    }

    fn receive(&mut self, sink: &mut dyn RunSink) -> Result<(), TransferFailure> {
        set_timeouts(self.stream)?;
        let (mut stream, control) = (self.stream, self.control);
        let plan = self.terms.plan;
        let expected = plan.content.bytes().map(ByteCount::get);
        let trailer = receive_content(
            &mut stream,
            sink,
            (plan.resume_from.get(), expected),
            self.terms.limit,
            control,
            &mut self.counts,
        )?;
        self.digest = Some(trailer.digest);
        answer(&mut stream, sink, trailer.digest, control, &mut self.times)
    }

    /// A time of the monotonic clock, ns after the beginning.
    const fn since(&self, ns: u64) -> u64 {
        ns.saturating_sub(self.began_ns)
    }

    /// The same; `None` for a time that has not come.
    fn since_known(&self, ns: u64) -> Option<u64> {
        (ns > 0).then(|| self.since(ns))
    }

    /// What both ends count.
    fn account(&self, result: &Result<(), TransferFailure>) -> TransferEnd {
        TransferEnd {
            bytes: self.counts.bytes,
            calls: self.counts.calls,
            first_byte_ns: self.since(self.counts.first_byte_ns),
            last_byte_ns: self.since(self.counts.last_byte_ns),
            verified_ns: self.since_known(self.times.verified_ns),
            cpu_ns: cpu_ns(self.cpu).saturating_sub(self.cpu_began_ns),
            digest: self.digest.filter(|_| result.is_ok()).map(hex::encode),
            failure: result
                .as_ref()
                .err()
                .map(|failure| failure.to_string().into()),
            ..self.account.clone()
        }
    }
}

/// Gives every call on the socket a deadline.
pub(super) fn set_timeouts(stream: &TcpStream) -> Result<(), TransferFailure> {
    stream
        .set_read_timeout(Some(STEP_TIMEOUT))
        .and_then(|()| stream.set_write_timeout(Some(STEP_TIMEOUT)))
        .map_err(|cause| TransferFailure::Kernel {
            doing: "give a socket deadlines",
            cause,
        })
}

/// Has the kernel spread the segments of one write at this rate: a little above it, so that the pacer here sets the mean.
pub(super) fn spread_in_kernel(stream: &TcpStream, rate: Option<BitRate>) {
    if let Some(rate) = rate.and_then(|rate| WritePace::from_rate(rate).kernel_rate()) {
        let bytes = rate.bps() / 8;
        let _ = kernel::set_pacing_rate(stream, bytes + bytes / 50 + 1);
    }
}

fn cpu_ns(clock: CpuClock) -> u64 {
    clock.read().map_or(0, |time| time.as_nanos() as u64)
}
