//! A test with a server of iperf3, as its client.

use super::client_control::{ClientControl, STEP_NS};
use super::client_streams::StreamOpener;
use super::control::Iperf3Control;
use super::error::Iperf3Error;
use super::plan::plan_from_parameters;
use super::request::Iperf3Request;
use super::streams::{StreamTasks, congestion, data_connections};
use super::test_client::ClientTest;
use caudal_core::event::{Agreement, Event};
use caudal_core::host::Usage;
use caudal_core::plan::{MAX_DATAGRAM, Plan};
use caudal_core::sample::{FlowEnd, Sample};
use caudal_flow::socket::{CONNECT_TIMEOUT, connect_within};
use caudal_flow::{RunError, UserInterrupt};
use caudal_host::UsageMeter;
use caudal_sys::clock::{Rusage, monotonic_ns};
use caudal_sys::signal::Interrupt;
use caudal_sys::{tcp, udp};
use caudal_wire::iperf3::parameters::{TCP_BLOCK, UDP_BLOCK};
use caudal_wire::iperf3::{ControlState, Cookie, Parameters, Results, TransportProtocol};
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// The time a server may keep a client waiting for its streams, as others may have their turn first, ns.
const TURN_NS: u64 = 900_000_000_000;

/// The measurements of a test that reached its end.
#[derive(Debug, Clone)]
pub struct Iperf3Outcome {
    /// The parameters as a plan.
    pub plan: Plan,
    /// The final report of this end on each flow.
    pub ends: Vec<FlowEnd>,
    /// The resources this machine used.
    pub usage: Usage,
    /// The readings at the end of the warm-up.
    pub(super) base: Vec<Sample>,
    /// The time over which the server measured and nothing that this end sent could arrive.
    pub(super) idle: Duration,
    /// The server's results.
    pub(super) results: Results,
}

/// A control connection to a server that seems to be iperf3's.
pub struct Iperf3Client {
    control: ClientControl,
    cookie: Cookie,
    request: Iperf3Request,
    mss: Option<u32>,
    connect_time: Duration,
    /// `true` once the server has asked for the parameters.
    is_asked: bool,
}

fn new_cookie() -> Result<Cookie, RunError> {
    let mut random = [0; 36];
    getrandom::fill(&mut random).map_err(|cause| RunError::local("naming a test", cause.into()))?;
    Ok(Cookie::from_random(random))
}

impl Iperf3Client {
    /// Connects to the server and names the test.
    ///
    /// # Errors
    /// When the host is unknown or no server answers there.
    pub fn connect(
        request: Iperf3Request,
        interrupt: Option<&'static Interrupt>,
    ) -> Result<Self, Iperf3Error> {
        let timeout = request.connect_timeout.unwrap_or(CONNECT_TIMEOUT);
        let target = &request.target;
        let (stream, peer, connect_time) = target.connect_first(|peer| {
            let began_ns = monotonic_ns();
            let stream = connect_within(peer, &target.binding, None, timeout)?;
            let connect_time = Duration::from_nanos(monotonic_ns() - began_ns);
            Ok((stream, peer, connect_time))
        })?;
        let mut client = Self::announce(stream, peer, request, UserInterrupt(interrupt))?;
        client.connect_time = connect_time;
        Ok(client)
    }

    /// Sends the cookie over a new connection.
    fn announce(
        mut stream: TcpStream,
        peer: SocketAddr,
        mut request: Iperf3Request,
        interrupt: UserInterrupt,
    ) -> Result<Self, RunError> {
        let lost = |cause| RunError::Lost {
            doing: "greeting it",
            cause,
        };
        let cookie = new_cookie()?;
        stream.set_nodelay(true).map_err(lost)?;
        stream.write_all(cookie.bytes()).map_err(lost)?;
        let mss = tcp::max_segment(&stream).ok();
        request.parameters.length = match (request.length, request.parameters.protocol) {
            (Some(length), _) => length,
            // The payload of a packet on the path of the control connection.
            (None, TransportProtocol::Udp) => mss
                .filter(|mss| (16..=MAX_DATAGRAM).contains(mss))
                .unwrap_or(UDP_BLOCK),
            (None, _) => TCP_BLOCK,
        };
        Ok(Self {
            control: ClientControl {
                connection: Iperf3Control::new(stream, peer).map_err(lost)?,
                interrupt,
            },
            cookie,
            request,
            mss,
            connect_time: Duration::ZERO,
            is_asked: false,
        })
    }

    /// The server's address.
    #[must_use]
    pub const fn peer(&self) -> SocketAddr {
        self.control.connection.peer()
    }

    /// The maximum segment size of the control connection, bytes.
    #[must_use]
    pub const fn mss(&self) -> Option<u32> {
        self.mss
    }

    /// The time it took to connect.
    #[must_use]
    pub const fn connect_time(&self) -> Duration {
        self.connect_time
    }

    /// The smoothed round-trip time of the control connection, µs.
    #[must_use]
    pub fn rtt_us(&self) -> Option<u32> {
        tcp::tcp_info(self.control.connection.stream())
            .ok()
            .map(|info| info.rtt_us)
    }

    /// The path MTU the kernel knows towards the server, bytes.
    #[must_use]
    pub fn path_mtu(&self) -> Option<u32> {
        udp::path_mtu(self.control.connection.stream())
    }

    /// The name of the test.
    #[must_use]
    pub const fn cookie(&self) -> Cookie {
        self.cookie
    }

    /// The parameters, with the length that was chosen.
    #[must_use]
    pub const fn parameters(&self) -> &Parameters {
        &self.request.parameters
    }

    /// Replaces what the server is to be asked for. The connection is there already: its target and its time to connect
    /// stay.
    pub(super) fn set_request(&mut self, request: Iperf3Request) {
        self.request = request;
    }

    /// Waits until the server asks for the parameters, which only one of iperf3 does.
    ///
    /// # Errors
    /// When it refuses, speaks another protocol, or sends nothing in that time.
    pub fn await_question(&mut self, patience: Duration) -> Result<(), Iperf3Error> {
        if !self.is_asked {
            let patience_ns = u64::try_from(patience.as_nanos()).unwrap_or(STEP_NS);
            self.control
                .await_state(ControlState::ParamExchange, patience_ns)?;
            self.is_asked = true;
        }
        Ok(())
    }

    /// Carries out the test.
    ///
    /// # Errors
    /// When it did not reach its end; events have shown what was counted until then.
    pub fn run(mut self, events: &mut dyn FnMut(Event)) -> Result<Iperf3Outcome, Iperf3Error> {
        let patience = self.request.connect_timeout.unwrap_or(Duration::ZERO);
        self.await_question(patience.max(Duration::from_nanos(STEP_NS)))?;
        let parameters = self.request.parameters.clone();
        self.control.connection.send_json(&parameters.encode())?;
        let plan = plan_from_parameters(&parameters, self.request.interval)
            .with_pacing(self.request.pacing);
        events(Event::Agreed(Agreement::new(&plan, self.peer(), &[])));
        self.control
            .await_state(ControlState::CreateStreams, TURN_NS)?;
        let meter = UsageMeter::start(self.peer());
        let usage = Rusage::of_process();
        let tasks = StreamTasks::new(&parameters, &plan, true);
        let mut set = tasks.new_set(None, 0)?;
        let (mut connections, mut congestion_used) = (Vec::new(), None);
        StreamOpener {
            control: &mut self.control,
            request: &self.request,
            cookie: self.cookie,
        }
        .open(&plan, |stream| {
            let stream = [stream];
            connections.extend(data_connections(&stream, true));
            congestion_used = congestion_used.take().or_else(|| congestion(&stream));
            let [stream] = stream;
            tasks.add(&mut set, stream, &self.request.options)
        })?;
        self.control.await_state(ControlState::TestStart, STEP_NS)?;
        connections
            .into_iter()
            .map(Event::Opened)
            .for_each(&mut *events);
        self.control
            .await_state(ControlState::TestRunning, STEP_NS)?;
        set.start_senders();
        events(Event::Started { repeat: None });
        let mut test = ClientTest::new(
            &self.request,
            plan.flows(),
            set,
            congestion_used.map(Into::into),
            usage,
        );
        match test.carry_out(&mut self.control, events) {
            Ok(results) => {
                let is_told = self.control.connection.send(&[ControlState::IperfDone]);
                let idle = test.idle();
                let (ends, base) = test.finish();
                let usage = meter.read();
                if is_told.is_ok() {
                    self.control.connection.close();
                }
                Ok(Iperf3Outcome {
                    plan,
                    ends,
                    usage,
                    base,
                    idle,
                    results,
                })
            }
            Err(error) => {
                test.abort(error.cut_short(), events);
                Err(error)
            }
        }
    }
}
