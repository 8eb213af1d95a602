//! The client's end of a control connection: greeted, with the server's clock measured.

use super::answer::read_answer;
use super::control::{ControlChannel, STEP_TIMEOUT};
use super::greeting::{GreetedServer, exchange_hosts};
use caudal_analysis::tcp_proxy::ControlConnection;
use caudal_core::echo::ClockOffset;
use caudal_core::host::Host;
use caudal_core::plan::{Plan, TransferContent};
use caudal_core::tcp_proxy::TcpProxy;
use caudal_core::text::ExternalText;
use caudal_flow::socket::connect_announcing;
use caudal_flow::{LocalBinding, RunError, UserInterrupt};
use caudal_host::describe_host;
use caudal_stats::ClockEstimate;
use caudal_sys::clock::{monotonic_ns, realtime_ns, sleep_until};
use caudal_sys::tcp::tcp_info;
use caudal_wire::acceptance::check_accepted;
use caudal_wire::access_token::AccessToken;
use caudal_wire::frame::MAX_MESSAGE_BYTES;
use caudal_wire::message::{
    ARCHIVES, CONNECT, PARTIAL, PublishedLimits, QUALITY, Refusal, TRAINS, TRANSFER, ToClient,
    ToServer,
};
use caudal_wire::preamble::{PreambleAnswer, Purpose, TestToken};
use caudal_wire::server_instance::{SeenConnection, ServerInstance};
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// The time before the start of a test at which waiting becomes exact, ns: waiting for messages is to the millisecond.
const EXACT_WAIT_NS: u64 = 3_000_000;
/// Maximum number of times the server's clock is asked for in one measurement.
const MAX_PINGS: u32 = 20;
/// Minimum number.
const MIN_PINGS: u32 = 3;
/// The time after which no more than the minimum are made, ns.
const PINGS_NS: u64 = 200_000_000;
/// Maximum error of reading one clock at two processors, ns.
const CLOCK_READING_NS: i64 = 1_000;

/// Largest segment that the control connection announces, bytes of payload: less than any interface has, so that a server whose TCP may
/// send larger ones was not told by this client's. Messages are short, and larger segments would gain them nothing; these
/// pass where a router drops full ones without saying so.
pub(super) const CONTROL_MSS: u32 = 1000;

/// The client's end of a control connection.
pub(super) struct ClientChannel {
    pub(super) channel: ControlChannel,
    pub(super) interrupt: UserInterrupt,
    /// The offset of the server's clock, and the idle round-trip time.
    pub(super) clock: ClockEstimate,
    pub(super) client: Host,
    pub(super) server: Host,
    /// What the server supports beyond the first version of the protocol.
    features: Vec<ExternalText>,
    /// The server, among those that its address may stand for; `None` of an earlier version.
    pub(super) instance: Option<ServerInstance>,
    /// What ends TCP between both ends, where something does.
    pub(super) tcp_proxy: Option<TcpProxy>,
    /// `true` once no UDP flow of a test got an answer.
    pub(super) is_udp_blocked: bool,
    /// The limits that the server sets on each test, where it says so.
    pub(super) limits: Option<PublishedLimits>,
    /// The token of probes of the path MTU; `None` where the server answers none.
    pub(super) probe_token: Option<TestToken>,
    pub(super) connect_time: Duration,
    /// The time of the last question whose answer nobody waits for, ns of the monotonic clock.
    asked_ns: i64,
    /// The time that answers may take beyond the usual.
    patience: Duration,
}

/// A control connection on which nothing was sent yet.
pub(super) struct NewConnection {
    stream: TcpStream,
    peer: SocketAddr,
    connect_time: Duration,
    /// `true` when it announced [`CONTROL_MSS`].
    announces_mss: bool,
}

impl NewConnection {
    /// Connects to a server.
    pub(super) fn open(peer: SocketAddr, binding: &LocalBinding) -> Result<Self, RunError> {
        let began_ns = monotonic_ns();
        let (stream, announces_mss) = connect_announcing(peer, binding, CONTROL_MSS)?;
        Ok(Self {
            announces_mss,
            stream,
            peer,
            connect_time: Duration::from_nanos(monotonic_ns() - began_ns),
        })
    }
}

/// A plan that the server has accepted.
pub(super) struct AcceptedPlan {
    pub(super) plan: Plan,
    pub(super) token: TestToken,
    /// The changes the server made.
    pub(super) changed: Vec<ExternalText>,
}

impl ClientChannel {
    /// Greets the server of a connection, with a `token` authenticated by it, and measures its clock and the idle round-trip time.
    pub(super) fn greet(
        connection: NewConnection,
        tool: &str,
        token: Option<&AccessToken>,
        interrupt: UserInterrupt,
    ) -> Result<Self, RunError> {
        let NewConnection {
            mut stream,
            peer,
            connect_time,
            announces_mss,
        } = connection;
        let lost = |cause| RunError::Lost {
            doing: "greeting it",
            cause,
        };
        stream.set_nodelay(true).map_err(lost)?;
        stream.write_all(&Purpose::Control.encode()).map_err(lost)?;
        let client = describe_host(tool, Some(peer));
        let answer = read_answer(&mut stream, peer, interrupt)?;
        let mut channel = ControlChannel::new(stream, peer, MAX_MESSAGE_BYTES).map_err(lost)?;
        if answer == PreambleAnswer::Refused {
            return Err(read_refusal(&mut channel));
        }
        let GreetedServer {
            host: server,
            features,
            limits,
            instance,
            connection: seen,
            probe_token,
        } = exchange_hosts(&mut channel, &client, token, interrupt)?;
        let mut greeted = Self {
            channel,
            interrupt,
            clock: ClockEstimate::default(),
            client,
            server,
            features,
            limits,
            instance,
            tcp_proxy: None,
            probe_token,
            is_udp_blocked: false,
            connect_time,
            asked_ns: 0,
            patience: Duration::ZERO,
        };
        greeted.measure_clock()?;
        let announced_mss = announces_mss.then_some(CONTROL_MSS);
        greeted.tcp_proxy = seen.and_then(|seen| greeted.find_tcp_proxy(seen, announced_mss));
        Ok(greeted)
    }

    /// What ends TCP between both ends, by what both of them see of the control connection.
    fn find_tcp_proxy(&self, seen: SeenConnection, announced_mss: Option<u32>) -> Option<TcpProxy> {
        let stream = self.channel.stream();
        let info = tcp_info(stream).ok()?;
        let rtt_us = info.min_rtt_us.unwrap_or(info.rtt_us).min(info.rtt_us);
        ControlConnection {
            server: self.channel.peer(),
            seen_client: seen.client,
            seen_server: seen.server,
            announced_mss,
            server_mss: seen.mss,
            echo_us: self.clock.min_rtt_ns()? as f64 / 1e3,
            client_rtt_us: Some(f64::from(rtt_us)),
            server_rtt_us: Some(f64::from(seen.rtt_us)),
        }
        .find_proxy()
    }

    /// `true` when the server tells which flows reach it, and goes on with those.
    pub(super) fn supports_partial(&self) -> bool {
        self.features.iter().any(|one| one == PARTIAL)
    }

    /// Lets answers take so long beyond the usual.
    pub(super) fn set_patience(&mut self, patience: Duration) {
        self.patience = patience;
        self.channel.set_patience(patience);
    }

    /// The next message that is no heartbeat, within `patience` and what the path is known to need beyond it.
    pub(super) fn expect(
        &mut self,
        patience: Duration,
        due: &'static str,
    ) -> Result<ToClient, RunError> {
        let patience = patience.saturating_add(self.patience);
        let until_ns = monotonic_ns() + patience.as_nanos() as u64;
        loop {
            match self.channel.recv(until_ns, &self.interrupt.fds())? {
                Some(ToClient::Alive) if monotonic_ns() < until_ns => {}
                // The answer to a question of the watch over a test that is over.
                Some(ToClient::Pong { t1, .. }) if t1 <= self.asked_ns => {}
                Some(ToClient::Alive) | None if self.interrupt.is_set() => {
                    return Err(RunError::Interrupted);
                }
                Some(ToClient::Alive) | None => {
                    return Err(RunError::Silent {
                        waiting_for: due,
                        seconds: patience.as_secs(),
                    });
                }
                Some(message) => return Ok(message),
            }
        }
    }

    /// Asks the server for an answer that nobody waits for, to hear from it.
    pub(super) fn ask(&mut self) -> Result<(), RunError> {
        let t1 = monotonic_ns() as i64;
        self.asked_ns = t1;
        self.channel.send(&ToServer::Ping { t1 })
    }

    /// Sends a heartbeat where one is due.
    pub(super) fn keep_alive(&mut self) -> Result<(), RunError> {
        if self.channel.is_heartbeat_due() {
            self.channel.send(&ToServer::Alive)?;
        }
        Ok(())
    }

    /// Keeps the connection while no test is carried out: sends a heartbeat where one is due, and reads those of the server.
    ///
    /// # Errors
    /// When the server has ended the session, or is lost.
    pub(super) fn keep_idle(&mut self) -> Result<(), RunError> {
        self.keep_alive()?;
        loop {
            match self.channel.recv(monotonic_ns(), &[])? {
                None => return Ok(()),
                Some(ToClient::Alive | ToClient::Pong { .. }) => {}
                Some(ToClient::Refused {
                    reason, message, ..
                }) => return Err(RunError::Refused { reason, message }),
                Some(_) => {
                    let what = "the server sent a message of a test that nobody asked for";
                    return Err(RunError::Protocol(what.into()));
                }
            }
        }
    }

    /// Offers a plan: the plan both ends then hold.
    pub(super) fn offer(&mut self, plan: &Plan) -> Result<AcceptedPlan, RunError> {
        plan.check()?;
        self.check_support(plan)?;
        self.channel.send(&ToServer::Offer { plan: plan.clone() })?;
        match self.expect(STEP_TIMEOUT, "an answer to the plan")? {
            ToClient::Accepted {
                plan: accepted,
                token,
                changed,
            } => {
                accepted.check().map_err(|error| {
                    RunError::Protocol(format!("it accepted a plan in which {error}").into())
                })?;
                check_accepted(plan, &accepted)?;
                // A server of a version without the setting answers as if it were precise; this end paces as it was asked to.
                let accepted = match plan.udp() {
                    Some(offered) => accepted.with_pacing(offered.pacing),
                    None => accepted,
                };
                let token = TestToken::from_hex(&token)
                    .ok_or_else(|| RunError::Protocol("a malformed token".into()))?;
                Ok(AcceptedPlan {
                    plan: accepted,
                    token,
                    changed,
                })
            }
            other => Err(RunError::unexpected(other, "an answer to the plan")),
        }
    }

    /// Checks that the server supports the workload of a plan: an older one would end the connection at the offer.
    pub(super) fn check_support(&self, plan: &Plan) -> Result<(), RunError> {
        let feature = match plan {
            Plan::Tcp(_) | Plan::Udp(_) | Plan::Echo(_) => return Ok(()),
            Plan::Connect(_) => CONNECT,
            Plan::Quality(_) => QUALITY,
            Plan::Transfer(plan) => match plan.content {
                TransferContent::Archive(_) => ARCHIVES,
                TransferContent::Generated { .. } | TransferContent::File(_) => TRANSFER,
            },
            Plan::Trains(_) => TRAINS,
        };
        if self.features.iter().any(|one| one == feature) {
            return Ok(());
        }
        Err(RunError::OlderServer {
            tool: self.server.tool.clone(),
            what: plan.workload_name(),
        })
    }

    /// Waits until `start_at_ns` of the wall clock, with everything open: the request to start is next. The server waits for
    /// that for ten seconds.
    pub(super) fn wait_until(&mut self, start_at_ns: Option<u64>) -> Result<(), RunError> {
        let Some(start_at_ns) = start_at_ns else {
            return Ok(());
        };
        let due_ns = monotonic_ns() + start_at_ns.saturating_sub(realtime_ns());
        let roughly_ns = due_ns.saturating_sub(EXACT_WAIT_NS);
        while monotonic_ns() < roughly_ns {
            match self.channel.recv(roughly_ns, &self.interrupt.fds())? {
                Some(ToClient::Alive) => {}
                None if self.interrupt.is_set() => return Err(RunError::Interrupted),
                None => {}
                Some(other) => {
                    return Err(RunError::unexpected(other, "nothing before the start"));
                }
            }
        }
        sleep_until(due_ns);
        Ok(())
    }

    /// Measures the offset of the server's clock, more often where answers are quick.
    fn measure_clock(&mut self) -> Result<(), RunError> {
        let began_ns = monotonic_ns();
        for nth in 0..MAX_PINGS {
            if nth >= MIN_PINGS && monotonic_ns() - began_ns > PINGS_NS {
                break;
            }
            let (t1, t2, t3) = self.ping()?;
            self.clock.push(t1, t2, t3, monotonic_ns() as i64);
        }
        Ok(())
    }

    /// Asks for the server's clock: when it was asked, and the server's times of the question and of the answer, ns.
    fn ping(&mut self) -> Result<(i64, i64, i64), RunError> {
        self.channel.send(&ToServer::Ping {
            t1: monotonic_ns() as i64,
        })?;
        match self.expect(STEP_TIMEOUT, "an answer to a ping")? {
            ToClient::Pong { t1, t2, t3 } => Ok((t1, t2, t3)),
            other => Err(RunError::unexpected(other, "an answer to a ping")),
        }
    }

    /// Waits until the queues that a test has filled are empty: until a round trip takes no more than `empty`, or `patience` is over.
    pub(super) fn settle(&mut self, empty: Duration, patience: Duration) -> Result<(), RunError> {
        let until_ns = monotonic_ns() + patience.as_nanos() as u64;
        while monotonic_ns() < until_ns {
            let began_ns = monotonic_ns();
            self.ping()?;
            if monotonic_ns() - began_ns <= empty.as_nanos() as u64 {
                break;
            }
        }
        Ok(())
    }

    /// The kernel's smoothed round-trip time of the control connection, ns; 0 where it does not tell.
    pub(super) fn smoothed_rtt_ns(&self) -> u64 {
        tcp_info(self.channel.stream()).map_or(0, |info| u64::from(info.rtt_us) * 1000)
    }

    /// Measures the offset of the server's clock again; its time is that of this machine's monotonic clock.
    pub(super) fn read_clock(&mut self) -> Result<ClockOffset, RunError> {
        let earlier = std::mem::take(&mut self.clock);
        let began_ns = monotonic_ns();
        let measured = self.measure_clock();
        let at_ns = began_ns.midpoint(monotonic_ns()) as i64;
        let found = self.clock.offset_ns().zip(self.clock.bound_ns());
        if found.is_none() {
            self.clock = earlier;
        }
        measured?;
        let (offset_ns, bound_ns) =
            found.ok_or_else(|| RunError::Protocol("its clock runs backwards".into()))?;
        let measured = ClockOffset {
            at_ns,
            offset_ns,
            bound_ns,
        };
        let is_one_clock = self.client.shares_clock_with(&self.server);
        Ok(if is_one_clock {
            of_one_clock(measured)
        } else {
            measured
        })
    }
}

/// The offset between two readers of one clock: none. A measurement that contradicts it stands, as that of two copies of a virtual
/// machine, which have one boot identifier.
fn of_one_clock(measured: ClockOffset) -> ClockOffset {
    if measured.offset_ns.abs() > measured.bound_ns.saturating_add(CLOCK_READING_NS) {
        return measured;
    }
    ClockOffset {
        offset_ns: 0,
        bound_ns: CLOCK_READING_NS,
        ..measured
    }
}

/// The reason a server gives for refusing a connection.
fn read_refusal(channel: &mut ControlChannel) -> RunError {
    let until_ns = monotonic_ns() + STEP_TIMEOUT.as_nanos() as u64;
    match channel.recv(until_ns, &[]) {
        Ok(Some(ToClient::Refused {
            reason, message, ..
        })) => RunError::Refused { reason, message },
        Ok(_) => RunError::Refused {
            reason: Refusal::Other,
            message: "it gave no reason".into(),
        },
        Err(error) => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_clock_has_no_offset_unless_it_was_measured() {
        let measured = |offset_ns| ClockOffset {
            at_ns: 7,
            offset_ns,
            bound_ns: 20_000_000,
        };
        // Half of the asymmetry of a path of 10 and 30 ms.
        let one = of_one_clock(measured(-10_000_000));
        assert_eq!((one.at_ns, one.offset_ns, one.bound_ns), (7, 0, 1_000));
        let apart = measured(5_000_000_000);
        assert_eq!(of_one_clock(apart), apart);
    }
}
