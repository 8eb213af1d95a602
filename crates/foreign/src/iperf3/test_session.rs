//! The running test of a session, from its first byte to both ends' results.

use super::control::ControlInput;
use super::readings::{Readings, ended_test, send_flow_ends};
use super::results::{MeasuredStream, cpu_percent};
use super::reverse_amount::ReverseAmount;
use super::session::{STEP_NS, ServerSession};
use super::session_error::SessionError;
use super::trailing::{await_trailing, max_trailing};
use caudal_core::event::{CutShort, EndedTest, Event, PeerOutput};
use caudal_core::plan::{Direction, PlannedFlow, Ticks};
use caudal_core::sample::{Counters, Role, Sample};
use caudal_core::text::ExternalText;
use caudal_engine::admission::PlaceActivity;
use caudal_flow::{FlowSet, LimitReached};
use caudal_sys::clock::{Rusage, monotonic_ns, sleep_until};
use caudal_wire::iperf3::{
    ControlState, Iperf3ErrorCode, MAX_RESULTS_BYTES, Parameters, Results, TransportProtocol,
    stream_id,
};
use std::time::Duration;

/// The time a client's results may take, ns.
const RESULTS_NS: u64 = 30_000_000_000;
/// The time after its planned end that a test may go on, ns.
const GRACE_NS: u64 = 40_000_000_000;
/// The time senders that were stopped may take to count their last bytes, ns.
const LAST_BYTES_NS: u64 = 200_000_000;
/// The interval at which it is looked whether a client has its amount, ns.
const AMOUNT_CHECK_NS: u64 = 50_000_000;
/// The interval at which progress is looked at, ns.
const CHECK_NS: u64 = 500_000_000;

fn as_ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX / 4)
}

/// The end of a test that met no error.
pub(super) enum TestEnding {
    /// Both ends have reported.
    Reported,
    /// One of the ends was terminated.
    Terminated,
}

/// The running test of a session.
pub(super) struct ServerTest<'a, 'b> {
    session: &'a mut ServerSession<'b>,
    parameters: &'a Parameters,
    flows: Vec<PlannedFlow>,
    set: FlowSet,
    readings: Readings,
    congestion: Option<ExternalText>,
    usage: Option<Rusage>,
    amount: ReverseAmount,
}

impl<'a, 'b> ServerTest<'a, 'b> {
    pub(super) fn new(
        session: &'a mut ServerSession<'b>,
        parameters: &'a Parameters,
        flows: Vec<PlannedFlow>,
        set: FlowSet,
        congestion: Option<ExternalText>,
        usage: Option<Rusage>,
        amount: ReverseAmount,
    ) -> Self {
        let interval = session.state.options.interval;
        Self {
            readings: Readings::new(Ticks::new(
                interval.unwrap_or(super::plan::MAX_DURATION),
                Duration::from_secs(u64::from(parameters.omit_s)),
                None,
            )),
            session,
            parameters,
            flows,
            set,
            congestion,
            usage,
            amount,
        }
    }

    /// Lets the test run and exchanges results.
    pub(super) fn carry_out(&mut self) -> Result<TestEnding, SessionError> {
        let session = &mut *self.session;
        self.readings
            .read(&self.set, &mut |event| session.send_event(&event));
        self.readings.ensure_base(&self.set);
        if let Some(cut_short) = self.watch()? {
            self.set.stop_senders();
            let last = self.readings.at_end(&self.set);
            send_flow_ends(&last, &mut |event| self.session.send_event(&event));
            self.session
                .send_event(&Event::Ended(ended_test(&last, Some(cut_short))));
            return Ok(TestEnding::Terminated);
        }
        self.exchange()?;
        Ok(TestEnding::Reported)
    }

    /// Ends the flows: what they carried.
    pub(super) fn finish(self) -> EndedTest {
        self.set.stop_all();
        ended_test(&self.set.sample(0), None)
    }

    fn has_flow(&self, direction: Direction) -> bool {
        self.flows.iter().any(|flow| flow.direction == direction)
    }

    /// Lets the test run until its client ends it, or one of both ends is terminated.
    fn watch(&mut self) -> Result<Option<CutShort>, SessionError> {
        let mut limits = TestLimits::new(self);
        loop {
            let mut until_ns = monotonic_ns() + CHECK_NS;
            let due_ns = [
                self.readings.due_ns(&self.set),
                self.set.limit_due_ns(),
                limits.expiry_ns,
            ];
            for at_ns in due_ns.into_iter().flatten() {
                until_ns = until_ns.min(at_ns);
            }
            if self.amount.is_watched() {
                until_ns = until_ns.min(monotonic_ns() + AMOUNT_CHECK_NS);
            }
            let session = &mut *self.session;
            let stop = session.client.stop_fd();
            let ended = self.set.ended_fd();
            let input = session.control.recv(until_ns, &[stop, ended])?;
            self.set.reset_ended();
            match input {
                ControlInput::State(ControlState::TestEnd) => return Ok(None),
                ControlInput::State(ControlState::ClientTerminate) => {
                    let code = Iperf3ErrorCode::CLIENT_TERMINATED;
                    return Ok(Some(CutShort::ByClient(code.to_string().into())));
                }
                ControlInput::Closed => {
                    let code = Iperf3ErrorCode::CONTROL_CLOSED;
                    return Ok(Some(CutShort::Lost(code.to_string().into())));
                }
                ControlInput::State(_) | ControlInput::Unknown(_) => {
                    return Err(Iperf3ErrorCode::MESSAGE.into());
                }
                ControlInput::Nothing => {}
            }
            if session.client.is_stopping() {
                let _ = session.control.send(&[ControlState::ServerTerminate]);
                let code = Iperf3ErrorCode::SERVER_TERMINATED;
                return Ok(Some(CutShort::ByServer(code.to_string().into())));
            }
            let now_ns = monotonic_ns();
            if self
                .readings
                .due_ns(&self.set)
                .is_some_and(|due_ns| now_ns >= due_ns)
            {
                self.readings
                    .read(&self.set, &mut |event| session.send_event(&event));
            }
            self.amount.check(&self.set, now_ns);
            if limits.expiry_ns.is_none() && self.amount.is_sent(&self.set) {
                limits.expiry_ns = Some(now_ns + GRACE_NS);
            }
            let activity = session.client.slot().activity();
            activity.test_moves(self.set.progress(), PlaceActivity::MIN_BYTES, now_ns);
            match self.set.limit_reached(now_ns) {
                Some(reached @ LimitReached::Bytes(_)) => {
                    let _ = session.control.send(&[ControlState::ServerTerminate]);
                    return Ok(Some(CutShort::ByServer(reached.to_string().into())));
                }
                Some(reached) => return Err(SessionError::Limit(reached)),
                None => limits.check(now_ns, self.set.progress())?,
            }
        }
    }

    /// Ends the streams and exchanges results with the client.
    fn exchange(&mut self) -> Result<(), SessionError> {
        let ended_ns = monotonic_ns().saturating_sub(self.set.start_ns());
        self.set.stop_senders();
        self.await_senders();
        self.set.half_close_senders();
        let control = &mut self.session.control;
        control.send(&[ControlState::ExchangeResults])?;
        let until_ns = monotonic_ns() + RESULTS_NS;
        let json = control.recv_json(MAX_RESULTS_BYTES, until_ns, "the client's results", &[])?;
        let peer_results = Results::decode(&json).map_err(|error| {
            SessionError::Code(Iperf3ErrorCode::RECEIVE_RESULTS, Some(error.to_string()))
        })?;
        self.await_trailing(&peer_results);
        // The client's clock ends the test; what arrived later still belongs to it.
        let last = self.readings.last(&self.set, ended_ns);
        let mut own_results = self.report(&last, &peer_results);
        if self.parameters.get_server_output {
            let view = self.session.view.as_ref();
            match view.and_then(|view| view.output()) {
                Some(PeerOutput::Text(text)) => own_results.output_text = Some(text),
                Some(PeerOutput::Json(json)) => {
                    own_results.output_json = serde_json::from_str(json.as_received()).ok();
                }
                None => {}
            }
        }
        self.set.stop_all();
        let control = &mut self.session.control;
        control.send_json(&own_results.encode())?;
        control.send(&[ControlState::DisplayResults])?;
        // The client confirms or closes; nothing depends on which.
        let stop = self.session.client.stop_fd();
        let _ = control.recv(monotonic_ns() + STEP_NS, &[stop]);
        Ok(())
    }

    /// Shows the ends of the flows and both ends' reports: this end's results.
    fn report(&mut self, last: &[Sample], peer_results: &Results) -> Results {
        let measured = MeasuredStream {
            flows: &self.flows,
            base: &self.readings.base,
            last,
        };
        let sends = self.has_flow(Direction::Down);
        let own_results = Results {
            cpu_percent: cpu_percent(self.usage, monotonic_ns() - self.set.start_ns()),
            has_retransmits: sends.then_some(self.parameters.protocol == TransportProtocol::Tcp),
            congestion: self.congestion.clone(),
            streams: measured.stream_results(Some(peer_results)),
            ..Results::default()
        };
        let reports = [
            measured.local_report(&own_results),
            measured.peer_report(peer_results, Duration::ZERO),
        ];
        let session = &mut *self.session;
        send_flow_ends(last, &mut |event| session.send_event(&event));
        for report in reports {
            session.send_event(&Event::Reported(report));
        }
        session.send_event(&Event::Ended(ended_test(last, None)));
        own_results
    }

    /// Waits until the senders, which were stopped, have counted their last bytes.
    fn await_senders(&self) {
        let until_ns = monotonic_ns() + LAST_BYTES_NS;
        while !self.set.is_over(Role::Sender) && monotonic_ns() < until_ns {
            sleep_until(monotonic_ns() + 1_000_000);
        }
    }

    /// Waits for what the client reports to have sent, as long as it is on the way.
    fn await_trailing(&self, peer_results: &Results) {
        let receiving: Vec<&PlannedFlow> = self
            .flows
            .iter()
            .filter(|flow| flow.direction == Direction::Up)
            .collect();
        if receiving.is_empty() {
            return;
        }
        let reported = |flow: &PlannedFlow| peer_results.stream(stream_id(flow.id));
        let is_udp = self.parameters.protocol == TransportProtocol::Udp;
        for flow in receiving.iter().filter(|_| is_udp) {
            if let Some(reported) = reported(flow) {
                self.set.expect_datagrams(flow.id, reported.packets);
            }
        }
        await_trailing(&self.set, is_udp, max_trailing(monotonic_ns()), || {
            let samples = self.set.sample(0);
            // The client does not report what it has sent in its warm-up.
            self.parameters.omit_s == 0
                && receiving.iter().all(|flow| {
                    let bytes = reported(flow).map_or(0, |reported| reported.bytes);
                    let sample = samples.iter().find(|sample| sample.flow == flow.id);
                    matches!(sample.map(|sample| sample.counters),
                             Some(Counters::Receiver(received)) if received.bytes >= bytes)
                })
        });
    }
}

/// The server's limits on a running test.
struct TestLimits {
    /// The time at which it is ended, ns.
    expiry_ns: Option<u64>,
    /// The time it may go on without a byte, ns; `None` where only this end sends.
    patience_ns: Option<u64>,
    rate: Option<(u64, Duration)>,
    progress: u64,
    progress_ns: u64,
    /// The begin of the window over which the rate is averaged, ns, and the bytes until then.
    window: (u64, u64),
}

impl TestLimits {
    fn new(test: &ServerTest<'_, '_>) -> Self {
        let start_ns = test.set.start_ns();
        let options = &test.session.state.options;
        let parameters = test.parameters;
        let planned = u64::from(parameters.time_s) + u64::from(parameters.omit_s);
        let by_time = parameters.end_bytes().is_none() && parameters.time_s > 0;
        Self {
            // A test by time has a grace of its own; the limits of every test hold besides.
            expiry_ns: if by_time {
                Some(start_ns + planned * 1_000_000_000 + GRACE_NS)
            } else {
                None
            },
            patience_ns: test
                .has_flow(Direction::Up)
                .then(|| as_ns(options.receive_timeout)),
            rate: options.rate_limit,
            progress: 0,
            progress_ns: start_ns,
            window: (start_ns, 0),
        }
    }

    fn check(&mut self, now_ns: u64, progress: u64) -> Result<(), Iperf3ErrorCode> {
        if self.expiry_ns.is_some_and(|expiry_ns| now_ns >= expiry_ns) {
            return Err(Iperf3ErrorCode::DURATION_EXPIRED);
        }
        if progress != self.progress {
            (self.progress, self.progress_ns) = (progress, now_ns);
        } else if self
            .patience_ns
            .is_some_and(|patience_ns| now_ns >= self.progress_ns + patience_ns)
        {
            return Err(Iperf3ErrorCode::NO_MESSAGE);
        }
        let (began_ns, before) = self.window;
        if let Some((max_bps, window)) = self.rate
            && now_ns >= began_ns + as_ns(window)
        {
            let bits = u128::from(progress - before) * 8 * 1_000_000_000;
            // A tenth more is what a schedule and a full socket buffer may add.
            if bits / u128::from(now_ns - began_ns) > u128::from(max_bps) * 11 / 10 {
                return Err(Iperf3ErrorCode::TOTAL_RATE);
            }
            self.window = (now_ns, progress);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    fn limits() -> TestLimits {
        TestLimits {
            expiry_ns: Some(60 * SECOND_NS),
            patience_ns: Some(10 * SECOND_NS),
            rate: Some((8_000_000, Duration::from_secs(5))),
            progress: 0,
            progress_ns: 0,
            window: (0, 0),
        }
    }

    #[test]
    fn a_test_is_ended_at_its_time_and_when_nothing_arrives() {
        let mut test = limits();
        assert_eq!(test.check(SECOND_NS, 1), Ok(()));
        assert_eq!(test.check(10 * SECOND_NS, 1), Ok(()));
        assert_eq!(
            test.check(11 * SECOND_NS, 1),
            Err(Iperf3ErrorCode::NO_MESSAGE)
        );
        assert_eq!(
            limits().check(60 * SECOND_NS, 1),
            Err(Iperf3ErrorCode::DURATION_EXPIRED)
        );
    }

    #[test]
    fn a_rate_is_judged_over_a_whole_window() {
        let mut test = limits();
        // A burst within the window is no violation, its mean is.
        assert_eq!(test.check(SECOND_NS, 5_000_000), Ok(()));
        assert_eq!(test.check(5 * SECOND_NS, 5_400_000), Ok(()));
        assert_eq!(
            test.check(10 * SECOND_NS, 11_000_000),
            Err(Iperf3ErrorCode::TOTAL_RATE)
        );
    }
}
