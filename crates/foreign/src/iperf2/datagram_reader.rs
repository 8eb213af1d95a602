//! The receiving end of a UDP flow: numbers, one-way times, the last datagram and the answer to it.

use super::opening_turns::OpeningTurn;
use super::transit_histogram::TransitHistogram;
use super::wall_clock::seconds_and_micros;
use caudal_flow::socket::canonical;
use caudal_flow::{
    AntiAmplificationLimit, DatagramAccount, DatagramReader, ReceiveStep, ReceiverView,
    SenderClock, Stamp,
};
use caudal_sys::clock::monotonic_ns;
use caudal_sys::udp;
use caudal_wire::iperf2::{HeaderLayout, Iperf2Datagram, ServerReport, TransitReport};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::Receiver;

/// The time for which the end of a flow is answered again after its first answer, ns.
const LINGER_NS: u64 = 250_000_000;
/// Maximum number of answers to the end of a flow.
const MAX_ANSWERS: u32 = 40;
/// The interval at which a request is repeated, ns.
const REQUEST_NS: u64 = 20_000_000;
/// Maximum number of requests.
const MAX_REQUESTS: u32 = 500;
/// The number of datagrams that may be missing at the end of a flow of any length.
const MAX_MISSING: u64 = 10_000;
/// Minimum time between datagrams of a sender, ns: frames of minimum length at 100 Gbit/s.
const MIN_GAP_NS: u64 = 6;

/// The answer to the end of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EndReply {
    /// None.
    Nothing,
    /// A report.
    Report {
        /// `true` when it includes one-way times.
        with_transit: bool,
    },
}

/// The receiving end of a UDP flow, as its reader is to begin.
#[derive(Debug)]
pub(super) struct Iperf2Reader {
    /// The layout of the header.
    pub(super) layout: HeaderLayout,
    /// `true` when numbers have 64 bits.
    pub(super) is_wide: bool,
    /// The number of the first datagram.
    pub(super) first: i64,
    /// The answer to the end of the flow.
    pub(super) reply: EndReply,
    /// The limit on what is sent to the other end, which grows by what arrives; reports are claimed from it.
    pub(super) limit: Arc<AntiAmplificationLimit>,
    /// The datagrams of this flow that arrived at the listening socket, with their times of arrival.
    pub(super) strays: Option<Receiver<(Vec<u8>, u64)>>,
    /// A datagram that is repeated until the first one arrives: a request to be sent to.
    pub(super) request: Option<Vec<u8>>,
    /// The turn in which the flow opens; without one it opens at once.
    pub(super) turn: Option<OpeningTurn>,
    /// The maximum length of a flow that its sender need not announce the end of, ns.
    pub(super) max_ns: Option<u64>,
    /// The histogram of one-way times.
    pub(super) histogram: Option<Arc<TransitHistogram>>,
    /// The only source of its datagrams; `None` for any.
    pub(super) source: Option<SocketAddr>,
    progress: ReaderProgress,
}

/// The progress of a reader.
#[derive(Debug, Default)]
struct ReaderProgress {
    start_ns: u64,
    /// Bytes that arrived since the step before, also those of no datagram of this flow.
    bytes: u64,
    announced: Option<u64>,
    /// Last datagrams since the step before.
    last_datagrams: u32,
    ended_ns: Option<u64>,
    linger_until_ns: Option<u64>,
    answers: u32,
    requests: u32,
    /// `true` once the first datagram has arrived and the turn has ended.
    has_opened: bool,
    requested_ns: u64,
}

impl Iperf2Reader {
    /// A reader of datagrams of this layout, the first of which has the number `first`.
    pub(super) fn new(layout: HeaderLayout, is_wide: bool, first: i64) -> Self {
        Self {
            layout,
            is_wide,
            first,
            reply: EndReply::Nothing,
            limit: Arc::default(),
            strays: None,
            request: None,
            turn: None,
            max_ns: None,
            histogram: None,
            source: None,
            progress: ReaderProgress {
                start_ns: monotonic_ns(),
                ..ReaderProgress::default()
            },
        }
    }

    /// Takes a last datagram. Where numbers begin with 1, since 2.1, it counts like any other when it arrives for the first
    /// time.
    fn take_last(&mut self, header: Iperf2Datagram, due: u64) -> Option<Stamp> {
        let progress = &mut self.progress;
        progress.last_datagrams += 1;
        if progress.announced.is_some() {
            return None;
        }
        let first = self.first.unsigned_abs();
        let last = header.last_number(self.is_wide, due + first);
        if last.has_sign_bit && self.layout == HeaderLayout::Twelve {
            // Without a test header the versions differ in their last datagram only.
            self.layout = HeaderLayout::SixteenOld;
        }
        let sequence = last.number.saturating_sub(first);
        let counts = self.layout != HeaderLayout::Twelve && first > 0;
        let all = sequence.saturating_add(u64::from(counts));
        // A number that no sender can have reached is not believed.
        let elapsed_ns = monotonic_ns().saturating_sub(progress.start_ns);
        let possible = due.saturating_add(MAX_MISSING + elapsed_ns / MIN_GAP_NS);
        if all > possible {
            progress.announced = Some(due);
            return None;
        }
        progress.announced = Some(all.max(due));
        counts.then_some(Stamp {
            sequence,
            sent_ns: None,
        })
    }

    /// Ends the turn when the first datagram has arrived.
    fn end_turn(&mut self, view: &ReceiverView<'_>) {
        if !self.progress.has_opened && view.counters.first_ns.load(Relaxed) != 0 {
            self.progress.has_opened = true;
            if let Some(turn) = &self.turn {
                turn.end(view.now_ns);
            }
        }
    }

    /// Sends the request again, where one is due.
    fn request(&mut self, view: &ReceiverView<'_>) -> io::Result<()> {
        let has_turn = self
            .turn
            .as_ref()
            .is_none_or(|turn| turn.has_come(view.now_ns));
        let progress = &mut self.progress;
        let Some(request) = &self.request else {
            return Ok(());
        };
        let has_begun = view.counters.first_ns.load(Relaxed) != 0;
        if has_begun || !has_turn || view.now_ns < progress.requested_ns + REQUEST_NS {
            return Ok(());
        }
        if progress.requests >= MAX_REQUESTS {
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "the server does not send; it may be older than 2.1, or require a proof of this address",
            ));
        }
        progress.requests += 1;
        progress.requested_ns = view.now_ns;
        let _ = udp::send_segments(view.socket, request, request.len().max(1) as u16);
        Ok(())
    }

    /// Answers the last datagrams that have arrived.
    fn answer(&mut self, view: &ReceiverView<'_>) {
        let EndReply::Report { with_transit } = self.reply else {
            return;
        };
        if self.progress.answers >= MAX_ANSWERS {
            return;
        }
        let mut report = self.report(view, with_transit).encode(self.layout);
        if self.limit.room() < report.len() as u64 {
            report = self.report(view, false).encode(self.layout);
        }
        if self.limit.claim(report.len() as u64) {
            self.progress.answers += 1;
            let _ = udp::send_segments(view.socket, &report, report.len() as u16);
        }
    }

    fn report(&self, view: &ReceiverView<'_>, with_transit: bool) -> ServerReport {
        let account = view.account;
        let began_ns = match view.counters.first_ns.load(Relaxed) {
            0 => self.progress.start_ns,
            first_ns => first_ns,
        };
        let ended_ns = self.progress.ended_ns.unwrap_or(view.now_ns);
        let elapsed_ns = ended_ns.saturating_sub(began_ns);
        let counts = account.counts();
        let lost = account.lost(self.progress.announced);
        ServerReport {
            bytes: account.bytes(),
            duration: seconds_and_micros(elapsed_ns),
            lost,
            out_of_order: counts.reordered + counts.late,
            datagrams: counts.received + counts.late + lost,
            jitter_us: account.jitter_ns() / 1000,
            transit: with_transit.then(|| transit_report(account, elapsed_ns)),
        }
    }
}

fn transit_report(account: &DatagramAccount, elapsed_ns: u64) -> TransitReport {
    let transit = account.transit();
    TransitReport {
        min_s: transit.min_s,
        max_s: transit.max_s,
        sum_s: transit.mean_s * transit.count as f64,
        mean_s: transit.mean_s,
        m2: transit.m2,
        count: transit.count as u32,
        gaps: transit.count.saturating_sub(1) as u32,
        gap_sum_s: elapsed_ns as f64 / 1e9,
    }
}

impl DatagramReader for Iperf2Reader {
    const CLOCK: SenderClock = SenderClock::Wall;
    const LATE_COUNTS: bool = true;

    /// Another client's datagram may have arrived before the socket was connected.
    #[inline]
    fn is_source(&self, source: Option<SocketAddr>) -> bool {
        self.source
            .is_none_or(|expected| source.is_some_and(|source| canonical(source) == expected))
    }

    #[inline]
    fn read(&mut self, datagram: &[u8], due: u64, arrived_ns: u64) -> Option<Stamp> {
        self.progress.bytes += datagram.len() as u64;
        let header = Iperf2Datagram::read(datagram, self.layout, self.is_wide)?;
        if header.id < 0 {
            return self.take_last(header, due);
        }
        let sequence = u64::try_from(header.id.checked_sub(self.first)?).ok()?;
        let sent_ns = header.sent_ns();
        if let Some(histogram) = &self.histogram {
            histogram.record(arrived_ns as i64 - sent_ns as i64);
        }
        Some(Stamp {
            sequence,
            sent_ns: Some(sent_ns),
        })
    }

    /// Nothing that arrives is damage: what is no datagram of the flow is none of its business.
    fn control(&mut self, _socket: &UdpSocket, _datagram: &[u8]) -> bool {
        true
    }

    fn next_stray(&mut self) -> Option<(Vec<u8>, u64)> {
        self.strays.as_ref()?.try_recv().ok()
    }

    fn announced(&self) -> Option<u64> {
        self.progress.announced
    }

    /// A client that is sent its report before its end reads it then.
    fn cut_short(&mut self, view: &ReceiverView<'_>) {
        self.progress.ended_ns.get_or_insert(view.now_ns);
        self.answer(view);
    }

    fn step(&mut self, view: &ReceiverView<'_>) -> io::Result<ReceiveStep> {
        self.end_turn(view);
        self.request(view)?;
        self.limit
            .add_received(std::mem::take(&mut self.progress.bytes));
        let now_ns = view.now_ns;
        if std::mem::take(&mut self.progress.last_datagrams) > 0 {
            self.progress.ended_ns.get_or_insert(now_ns);
            view.counters.set_ended(now_ns);
            self.answer(view);
            if self.reply == EndReply::Nothing {
                self.limit.set_final();
                return Ok(ReceiveStep::Done);
            }
            self.progress.linger_until_ns = Some(now_ns + LINGER_NS);
        }
        let has_lingered = self
            .progress
            .linger_until_ns
            .is_some_and(|until_ns| now_ns >= until_ns);
        let first_ns = view.counters.first_ns.load(Relaxed);
        let is_too_long = self.progress.ended_ns.is_none()
            && first_ns != 0
            && self
                .max_ns
                .is_some_and(|max_ns| now_ns >= first_ns + max_ns);
        if has_lingered || is_too_long {
            self.limit.set_final();
            return Ok(ReceiveStep::Done);
        }
        Ok(ReceiveStep::Continue)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_wire::iperf2::write_datagram_header;

    fn reader(layout: HeaderLayout) -> Iperf2Reader {
        Iperf2Reader::new(layout, layout != HeaderLayout::Twelve, 1)
    }

    fn datagram(layout: HeaderLayout, number: i64) -> [u8; 64] {
        let mut datagram = [0; 64];
        write_datagram_header(&mut datagram, layout, number, (7, 5));
        datagram
    }

    #[test]
    fn the_last_datagram_counts_once_and_announces_how_many_there_were() {
        let mut reader = reader(HeaderLayout::Sixteen);
        let first = reader.read(&datagram(HeaderLayout::Sixteen, 1), 0, 0);
        assert_eq!(
            first,
            Some(Stamp {
                sequence: 0,
                sent_ns: Some(7_000_005_000)
            })
        );
        let last = reader.read(&datagram(HeaderLayout::Sixteen, -10), 1, 0);
        assert_eq!(last.map(|stamp| stamp.sequence), Some(9));
        assert_eq!(reader.announced(), Some(10));
        let repeated = reader.read(&datagram(HeaderLayout::Sixteen, -11), 10, 0);
        assert_eq!((repeated, reader.announced()), (None, Some(10)));
    }

    #[test]
    fn the_last_datagram_of_old_versions_carries_no_payload() {
        let mut reader = reader(HeaderLayout::Twelve);
        assert_eq!(
            reader.read(&datagram(HeaderLayout::Twelve, -10), 8, 0),
            None
        );
        assert_eq!(reader.announced(), Some(9));
    }

    #[test]
    fn a_sign_bit_is_no_two_thousand_million_datagrams() {
        let mut reader = Iperf2Reader::new(HeaderLayout::Twelve, false, 0);
        let mut last = datagram(HeaderLayout::Twelve, 0);
        last[..4].copy_from_slice(&0x8000_0013_u32.to_be_bytes());
        assert_eq!(reader.read(&last, 18, 0), None);
        assert_eq!(reader.announced(), Some(19));
        assert_eq!(reader.layout, HeaderLayout::SixteenOld);
    }

    #[test]
    fn an_end_that_no_sender_can_have_reached_is_not_believed() {
        let mut reader = reader(HeaderLayout::Sixteen);
        assert_eq!(
            reader.read(&datagram(HeaderLayout::Sixteen, -(1 << 40)), 5, 0),
            None
        );
        assert_eq!(reader.announced(), Some(5));
    }
}
