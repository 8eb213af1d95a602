//! The running test of a client, from its first byte to both ends' results.

use super::client_control::{ClientControl, STEP_NS};
use super::error::Iperf3Error;
use super::readings::{Readings, ended_test, send_flow_ends};
use super::request::Iperf3Request;
use super::results::{MeasuredStream, cpu_percent};
use super::trailing::{await_trailing, max_trailing, reading_grace, tcp_trailing};
use caudal_core::event::{CutShort, Event};
use caudal_core::plan::{Direction, PlannedFlow, Ticks};
use caudal_core::sample::{Counters, FlowEnd, Role, Sample};
use caudal_core::text::ExternalText;
use caudal_flow::FlowSet;
use caudal_sys::clock::{Rusage, monotonic_ns, sleep_until};
use caudal_sys::tcp;
use caudal_wire::iperf3::{ControlState, Parameters, Results, TransportProtocol, stream_id};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// The time sent data may take to be acknowledged after the end, ns.
const DRAIN_NS: u64 = 12_000_000_000;
/// The time a server's program may take to read what is in its kernel, as long as its window does not move, ns.
const TCP_GRACE_NS: u64 = 3_000_000;
/// Maximum of that time, ns.
const MAX_TCP_GRACE_NS: u64 = 100_000_000;
/// The time without a movement of its window for which a server that also sends may leave unread what is in its kernel, ns:
/// its program writes between its reads, and the window does not move for everything that it reads.
const BUSY_GRACE_NS: u64 = 50_000_000;
/// Maximum of that time, ns.
const MAX_BUSY_GRACE_NS: u64 = 1_000_000_000;
/// Maximum time it may take to read its last datagrams, ns.
const MAX_UDP_GRACE_NS: u64 = 10_000_000;
/// The time datagrams that were sent before the server stopped may take to arrive, ns.
const UDP_TRAILING_NS: u64 = 5_000_000;
/// The time without a datagram after which the rest of an amount counts as lost, ns.
const LOST_NS: u64 = 2_000_000_000;
/// The interval at which the user's request to quit and the other end's silence are looked at, ns.
const CHECK_NS: u64 = 250_000_000;
/// The interval at which the amount received is looked at, ns.
const AMOUNT_CHECK_NS: u64 = 2_000_000;
/// The interval at which acknowledgements are looked at, ns.
const DRAIN_CHECK_NS: u64 = 500_000;

fn as_ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX / 4)
}

/// The running test of a client.
pub(super) struct ClientTest<'a> {
    request: &'a Iperf3Request,
    parameters: &'a Parameters,
    flows: Vec<PlannedFlow>,
    set: FlowSet,
    readings: Readings,
    congestion: Option<ExternalText>,
    usage: Option<Rusage>,
    /// The time after which it ends, where an amount does not end it.
    total: Option<Duration>,
    /// The time over which the server's clock runs and nothing that this end sent can arrive.
    idle: Duration,
}

impl<'a> ClientTest<'a> {
    pub(super) fn new(
        request: &'a Iperf3Request,
        flows: Vec<PlannedFlow>,
        set: FlowSet,
        congestion: Option<ExternalText>,
        usage: Option<Rusage>,
    ) -> Self {
        let parameters = &request.parameters;
        let omitted = Duration::from_secs(u64::from(parameters.omit_s));
        let by_time = parameters.end_bytes().is_none() && parameters.time_s > 0;
        Self {
            readings: Readings::new(Ticks::new(
                request.interval.unwrap_or(super::plan::MAX_DURATION),
                omitted,
                None,
            )),
            total: by_time.then(|| {
                let whole = Duration::from_secs(u64::from(parameters.time_s));
                request.time.unwrap_or(whole) + omitted
            }),
            request,
            parameters,
            flows,
            set,
            congestion,
            usage,
            idle: Duration::ZERO,
        }
    }

    /// The time over which the server measured and nothing that this end sent could arrive.
    pub(super) const fn idle(&self) -> Duration {
        self.idle
    }

    fn is_udp(&self) -> bool {
        self.parameters.protocol == TransportProtocol::Udp
    }

    fn has_flow(&self, direction: Direction) -> bool {
        self.flows.iter().any(|flow| flow.direction == direction)
    }

    /// Lets the test run and exchanges results: those of the server.
    pub(super) fn carry_out(
        &mut self,
        control: &mut ClientControl,
        events: &mut dyn FnMut(Event),
    ) -> Result<Results, Iperf3Error> {
        self.readings.read(&self.set, events);
        self.watch(control, events)?;
        let stopped_ns = monotonic_ns();
        let ended_ns = stopped_ns.saturating_sub(self.set.start_ns());
        self.set.stop_senders();
        let unmoved = self.await_sent(ended_ns);
        self.idle = if self.is_udp() {
            self.idle_until_now(stopped_ns, control)
        } else {
            unmoved
        };
        control.connection.send(&[ControlState::TestEnd])?;
        events(Event::Ending);
        control.await_state(ControlState::ExchangeResults, STEP_NS)?;
        let until_ns = tcp_trailing(stopped_ns, ended_ns);
        self.await_trailing(None, until_ns);
        let last = self.readings.last(&self.set, ended_ns);
        let peer_results = control.exchange_results(&self.results(&last, None))?;
        self.await_trailing(Some(&peer_results), until_ns);
        control.await_state(ControlState::DisplayResults, STEP_NS)?;
        let last = self.readings.last(&self.set, ended_ns);
        self.report(&last, &peer_results, events);
        Ok(peer_results)
    }

    /// Shows the ends of the flows and both ends' reports.
    fn report(&self, last: &[Sample], peer_results: &Results, events: &mut dyn FnMut(Event)) {
        let own_results = self.results(last, Some(peer_results));
        let measured = self.measured(last);
        send_flow_ends(last, events);
        events(Event::Reported(measured.local_report(&own_results)));
        events(Event::Reported(
            measured.peer_report(peer_results, self.idle),
        ));
        events(Event::Ended(ended_test(last, None)));
    }

    fn measured<'b>(&'b self, last: &'b [Sample]) -> MeasuredStream<'b> {
        MeasuredStream {
            flows: &self.flows,
            base: &self.readings.base,
            last,
        }
    }

    fn results(&self, last: &[Sample], peer_results: Option<&Results>) -> Results {
        let sends = self.has_flow(Direction::Up);
        Results {
            cpu_percent: cpu_percent(self.usage, monotonic_ns() - self.set.start_ns()),
            has_retransmits: sends.then_some(self.parameters.protocol == TransportProtocol::Tcp),
            congestion: self.congestion.clone(),
            streams: self.measured(last).stream_results(peer_results),
            ..Results::default()
        }
    }

    /// Ends the flows: their final reports, and the readings at the end of the warm-up.
    pub(super) fn finish(self) -> (Vec<FlowEnd>, Vec<Sample>) {
        self.set.stop_all();
        (self.set.finish(), self.readings.base)
    }

    /// Ends the flows of a test that did not reach its end.
    pub(super) fn abort(self, cut_short: CutShort, events: &mut dyn FnMut(Event)) {
        self.set.stop_senders();
        let last = self.readings.at_end(&self.set);
        send_flow_ends(&last, events);
        events(Event::Ended(ended_test(&last, Some(cut_short))));
        self.set.stop_all();
    }

    /// Waits for the end of the test, reading the streams when that is due.
    fn watch(
        &mut self,
        control: &mut ClientControl,
        events: &mut dyn FnMut(Event),
    ) -> Result<(), Iperf3Error> {
        let start_ns = self.set.start_ns();
        let end_ns = self.total.map(|total| start_ns + as_ns(total));
        if let Some(end_ns) = end_ns {
            self.set.stop_senders_at(end_ns);
        }
        let has_amount = self.parameters.end_bytes().is_some();
        let (mut progress, mut progress_ns) = (0, start_ns);
        loop {
            let due_ns = self.readings.due_ns(&self.set);
            let mut until_ns = monotonic_ns() + CHECK_NS;
            for at_ns in [due_ns, end_ns].into_iter().flatten() {
                until_ns = until_ns.min(at_ns);
            }
            if has_amount && self.has_flow(Direction::Down) {
                until_ns = until_ns.min(monotonic_ns() + AMOUNT_CHECK_NS);
            }
            control.expect_nothing(until_ns, &[self.set.ended_fd()])?;
            self.set.reset_ended();
            let now_ns = monotonic_ns();
            if due_ns.is_some_and(|at_ns| now_ns >= at_ns) {
                self.readings.read(&self.set, events);
            }
            let is_progressing = self.set.progress() != progress;
            if is_progressing {
                (progress, progress_ns) = (self.set.progress(), now_ns);
            }
            let quiet_ns = now_ns.saturating_sub(progress_ns);
            let is_over = end_ns.is_some_and(|end_ns| now_ns >= end_ns)
                || self.request.options.quit.load(Relaxed)
                || self.has_sent_all() && self.has_received_all(progress, quiet_ns);
            if is_over {
                self.read_end(now_ns - start_ns, events);
                return Ok(());
            }
            let patience = self.request.receive_timeout;
            if !self.has_flow(Direction::Up) && quiet_ns >= as_ns(patience) {
                return Err(Iperf3Error::Idle(patience.as_secs()));
            }
        }
    }

    /// Reads the streams at the end, unless that was just done.
    fn read_end(&mut self, elapsed_ns: u64, events: &mut dyn FnMut(Event)) {
        if elapsed_ns > self.readings.latest_ns + 1_000_000 {
            self.readings.read(&self.set, events);
        }
        self.readings.ensure_base(&self.set);
    }

    /// `true` when this end has sent all that it is to send.
    fn has_sent_all(&self) -> bool {
        !self.has_flow(Direction::Up) || self.set.is_over(Role::Sender)
    }

    /// `true` when this end has received all that it is to receive; where no amount ends the test, only the end of what
    /// this end sends (a file) can.
    fn has_received_all(&self, progress: u64, quiet_ns: u64) -> bool {
        if !self.has_flow(Direction::Down) {
            return true;
        }
        let Some(amount) = self.parameters.end_bytes() else {
            return false;
        };
        let is_quiet = quiet_ns >= LOST_NS.max(3 * self.gap_ns());
        self.received_bytes() >= amount || self.is_udp() && progress > 0 && is_quiet
    }

    /// Payload received, over all streams; where datagrams were lost, what they would have carried too.
    fn received_bytes(&self) -> u64 {
        let length = u64::from(self.parameters.length);
        let received = |sample: &Sample| match sample.counters {
            Counters::Receiver(received) if self.is_udp() => {
                (received.datagrams + received.lost) * length
            }
            Counters::Receiver(received) => received.bytes,
            Counters::Sender(_) => 0,
        };
        self.set.sample(0).iter().map(received).sum()
    }

    /// The time between datagrams, ns.
    fn gap_ns(&self) -> u64 {
        match self.parameters.rate_bps {
            0 => 0,
            rate => u64::from(self.parameters.length) * 8_000_000_000 / rate,
        }
    }

    /// The part of the server's time in which no datagram can arrive, until the end is announced now: its clock starts when
    /// it tells this end to start, a round trip before the first datagram arrives, and runs on behind the last.
    fn idle_until_now(&self, stopped_ns: u64, control: &ClientControl) -> Duration {
        let info = tcp::tcp_info(control.connection.stream());
        let rtt_ns = info.map_or(0, |info| u64::from(info.rtt_us) * 1000);
        Duration::from_nanos(monotonic_ns().saturating_sub(stopped_ns) + rtt_ns)
    }

    /// Waits until the server's program has read what was sent, in a test that took `elapsed_ns`: a server of iperf3 counts
    /// nothing that it reads after the end of the test was announced, and its clock runs until then. Over TCP the time in
    /// which it showed no sign of reading, where it was given more than a part of the test's time.
    fn await_sent(&self, elapsed_ns: u64) -> Duration {
        if !self.has_flow(Direction::Up) {
            return Duration::ZERO;
        }
        let grace_ns = reading_grace(elapsed_ns);
        if self.is_udp() {
            // Datagrams on the way arrive before the announcement, which follows them.
            sleep_until(monotonic_ns() + grace_ns.min(MAX_UDP_GRACE_NS));
            return Duration::ZERO;
        }
        let awaits_all = self.has_flow(Direction::Down) && self.parameters.end_bytes().is_some();
        let (grace_ns, max_grace_ns) = if awaits_all {
            (BUSY_GRACE_NS, MAX_BUSY_GRACE_NS)
        } else {
            let grace_ns = grace_ns.clamp(DRAIN_CHECK_NS, TCP_GRACE_NS);
            (grace_ns, MAX_TCP_GRACE_NS)
        };
        let until_ns = monotonic_ns() + DRAIN_NS;
        while !self.set.is_over(Role::Sender) && monotonic_ns() < until_ns {
            sleep_until(monotonic_ns() + DRAIN_CHECK_NS);
        }
        // What is acknowledged is in the kernel there; its program has still to read it, which opens the window.
        let until_ns = monotonic_ns() + max_grace_ns;
        let (mut windows, mut changed_ns) = (self.receiver_windows(), monotonic_ns());
        while monotonic_ns() < until_ns.min(changed_ns + grace_ns) {
            sleep_until(monotonic_ns() + DRAIN_CHECK_NS);
            let now = self.receiver_windows();
            if now != windows {
                (windows, changed_ns) = (now, monotonic_ns());
            }
        }
        match awaits_all {
            true => Duration::from_nanos(monotonic_ns().saturating_sub(changed_ns)),
            false => Duration::ZERO,
        }
    }

    /// The windows that the receivers of this end's TCP streams advertise.
    fn receiver_windows(&self) -> Vec<u64> {
        self.set
            .sample(0)
            .iter()
            .filter_map(|sample| match sample.counters {
                Counters::Sender(sender) => sender.tcp?.receiver_window_bytes,
                Counters::Receiver(_) => None,
            })
            .collect()
    }

    /// Waits for what the server has sent, as long as it is on the way; over TCP at most until `tcp_until_ns`.
    fn await_trailing(&self, peer_results: Option<&Results>, tcp_until_ns: u64) {
        if !self.has_flow(Direction::Down) {
            return;
        }
        match peer_results {
            Some(peer_results) if self.is_udp() => {
                for flow in self
                    .flows
                    .iter()
                    .filter(|flow| flow.direction == Direction::Down)
                {
                    if let Some(reported) = peer_results.stream(stream_id(flow.id)) {
                        self.set.expect_datagrams(flow.id, reported.packets);
                    }
                }
            }
            None if self.is_udp() => {
                // The results will report how many there were.
                sleep_until(monotonic_ns() + UDP_TRAILING_NS);
                return;
            }
            _ => {}
        }
        let until_ns = if self.is_udp() {
            max_trailing(monotonic_ns())
        } else {
            tcp_until_ns
        };
        await_trailing(&self.set, self.is_udp(), until_ns, || {
            self.set.is_over(Role::Receiver)
        });
    }
}
