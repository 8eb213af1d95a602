//! A server of caudal, as the other end of tests.

use super::client_channel::{ClientChannel, NewConnection};
use super::data_sockets::DataSockets;
use super::dialogue::{StopKind, TRAILING_NS, TestDialogue};
use crate::error::RunError;
use crate::host::UsageMeter;
use crate::interrupt::UserInterrupt;
use crate::options::LocalOptions;
use crate::peer::peer::{Peer, PeerInfo};
use crate::protocol::Protocol;
use crate::target::{LocalBinding, Target};
use crate::workload::{self, ClientHalf, ClientLink, EndedDialogue, Outcome};
use caudal_core::event::{Agreement, CutShort, Event};
use caudal_core::interval::ServerAccount;
use caudal_core::plan::{Plan, Transport};
use caudal_core::text::ExternalText;
use caudal_sys::clock::monotonic_ns;
use caudal_sys::signal::Interrupt;
use caudal_sys::udp;
use caudal_wire::message::{FinalReport, ToClient, ToServer, Usage};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A server of caudal, connected and greeted.
pub struct NativePeer {
    control: ClientChannel,
    binding: LocalBinding,
    info: PeerInfo,
}

/// The end of the dialogue of a test.
#[derive(Default)]
struct DialogueEnd {
    cut_short: Option<CutShort>,
    error: Option<RunError>,
    report: Option<(FinalReport, Usage)>,
    was_over: bool,
}

impl NativePeer {
    /// Connects to a server and greets it; `tool` is the name and version of this program.
    ///
    /// # Errors
    /// When no connection can be made, or the server speaks another protocol or refuses.
    pub fn connect(
        target: &Target,
        tool: &str,
        interrupt: Option<&'static Interrupt>,
    ) -> Result<Self, RunError> {
        let interrupt = UserInterrupt(interrupt);
        let connection =
            target.connect_first(|address| NewConnection::open(address, &target.binding))?;
        let control = ClientChannel::greet(connection, tool, target.token.as_ref(), interrupt)?;
        let same_boot = control.client.shares_machine_with(&control.server);
        let info = PeerInfo {
            address: control.channel.peer(),
            protocol: Protocol::Native,
            client: control.client.clone(),
            server: control.server.clone(),
            connect_time: control.connect_time,
            idle_rtt_us: control.clock.min_rtt_ns().map(|ns| ns as f64 / 1e3),
            path_mtu: udp::path_mtu(control.channel.stream()),
            // Two namespaces of one machine are two ends of a network, which need not be a perfect one.
            is_same_machine: same_boot
                && control
                    .client
                    .interface
                    .as_ref()
                    .map(ExternalText::as_received)
                    == Some("lo"),
            server_account: ServerAccount::Full,
            limits: control.limits,
        };
        Ok(Self {
            control,
            binding: target.binding.clone(),
            info,
        })
    }

    /// Sends a heartbeat where one is due; to be called every few seconds between tests.
    ///
    /// # Errors
    /// When the server is lost.
    pub fn keep_alive(&mut self) -> Result<(), RunError> {
        self.control.keep_alive()
    }

    /// The time data may arrive after the end of a test, ns, with that of the path itself.
    fn trailing_ns(&self) -> u64 {
        let rtt_ns = self.control.clock.min_rtt_ns();
        TRAILING_NS + rtt_ns.map_or(0, i64::unsigned_abs) * 4
    }

    /// Exchanges messages with the server until the test is over at both ends.
    fn attend(
        &mut self,
        half: &mut dyn ClientHalf,
        quit: &AtomicBool,
        events: &mut dyn FnMut(Event),
    ) -> DialogueEnd {
        let mut dialogue = TestDialogue::new(monotonic_ns());
        let mut end = DialogueEnd::default();
        half.start_requested(events);
        loop {
            let received = self.receive(half, &dialogue);
            let is_last = match received {
                Ok(message) => self.take(message, half, &mut dialogue, &mut end, events),
                Err(error) => {
                    end.error = Some(error);
                    true
                }
            };
            end.was_over = dialogue.is_over();
            if is_last || !self.advance(half, quit, &mut dialogue, &mut end, events) {
                return end;
            }
        }
    }

    /// Waits for a message, or until something else is due.
    fn receive(
        &mut self,
        half: &dyn ClientHalf,
        dialogue: &TestDialogue,
    ) -> Result<Option<ToClient>, RunError> {
        let channel = &mut self.control.channel;
        let until_ns =
            dialogue.wait_until_ns(monotonic_ns(), channel.heartbeat_due_ns(), half.due_ns());
        let mut others = half.wakeup_fds();
        if !dialogue.is_interrupted() {
            others.extend(self.control.interrupt.fds());
        }
        channel.recv(until_ns, &others)
    }

    /// Takes a message; `true` when it is the last.
    fn take(
        &self,
        message: Option<ToClient>,
        half: &mut dyn ClientHalf,
        dialogue: &mut TestDialogue,
        end: &mut DialogueEnd,
        events: &mut dyn FnMut(Event),
    ) -> bool {
        match message {
            None | Some(ToClient::Alive | ToClient::Pong { .. }) => false,
            Some(ToClient::Started) => {
                dialogue.started();
                half.started(events);
                false
            }
            Some(ToClient::Finished {
                report,
                usage,
                stopped,
            }) => {
                end.report = Some((report, usage));
                if let (None, Some(reason)) = (&end.cut_short, stopped) {
                    end.cut_short = Some(CutShort::ByServer(reason));
                }
                true
            }
            Some(ToClient::Refused { reason, message }) => {
                end.cut_short = Some(CutShort::ByServer(message.clone()));
                end.error = Some(RunError::Refused { reason, message });
                true
            }
            Some(message) => match half.receive(message, events) {
                Ok(()) => false,
                Err(error) => {
                    end.error = Some(error);
                    true
                }
            },
        }
    }

    /// Does what is due; `false` when the dialogue is over.
    fn advance(
        &mut self,
        half: &mut dyn ClientHalf,
        quit: &AtomicBool,
        dialogue: &mut TestDialogue,
        end: &mut DialogueEnd,
        events: &mut dyn FnMut(Event),
    ) -> bool {
        let now_ns = monotonic_ns();
        half.advance(now_ns, events);
        let interrupt = self.control.interrupt;
        if (interrupt.is_set() || quit.load(Relaxed))
            && let Some(stop) = dialogue.interrupted(now_ns)
        {
            end.cut_short = Some(CutShort::Interrupted);
            half.stop();
            self.send_stop(stop, half);
        }
        if interrupt.count() > 1 {
            return false;
        }
        if half.is_over() && dialogue.over(now_ns) {
            events(Event::Ending);
            if let Some(stop) = dialogue.final_stop(!half.sent_datagrams().is_empty()) {
                self.send_stop(stop, half);
            }
        }
        if dialogue.is_expired(now_ns) {
            if dialogue.is_start_missing() {
                end.error = Some(RunError::Silent {
                    waiting_for: "the start of the test",
                    seconds: 10,
                });
            }
            return false;
        }
        // A peer that is lost is noticed when a message is received.
        let _ = self.control.keep_alive();
        true
    }

    fn send_stop(&mut self, kind: StopKind, half: &dyn ClientHalf) {
        // A peer that is lost is noticed when a message is received; what was measured stands.
        let _ = self.control.channel.send(&ToServer::Stop {
            now: kind == StopKind::Immediate,
            sent: half.sent_datagrams(),
        });
    }
}

impl Peer for NativePeer {
    fn info(&self) -> &PeerInfo {
        &self.info
    }

    fn check_support(&self, plan: &Plan) -> Result<(), RunError> {
        self.control.check_support(plan)
    }

    fn run(
        &mut self,
        plan: &Plan,
        options: &LocalOptions,
        events: &mut dyn FnMut(Event),
    ) -> Result<Outcome, RunError> {
        let accepted = self.control.offer(plan)?;
        let workload = workload::from_plan(&accepted.plan);
        let peer = self.info.address;
        events(Event::Agreed(Agreement::new(
            &accepted.plan,
            peer,
            &accepted.changed,
        )));
        let udp_port = options
            .udp_port
            .filter(|_| accepted.plan.transport() == Transport::Udp);
        let binding = LocalBinding {
            port: udp_port.or(self.binding.port),
            ..self.binding.clone()
        };
        let flows = DataSockets::new(&mut self.control, accepted.token).open(
            &accepted.plan.flows(),
            |flow| workload.socket_settings(flow),
            &binding,
        )?;
        let clock_before = match workload.needs_clock_offset() {
            true => Some(self.control.read_clock()?),
            false => None,
        };
        let meter = UsageMeter::start(peer.ip());
        let link = ClientLink {
            token: accepted.token,
            peer,
            binding: &self.binding,
            trailing_ns: self.trailing_ns(),
        };
        let mut half = workload.client_half(flows, &link, options)?;
        self.control.wait_until(options.start_at_ns)?;
        self.control.channel.send(&ToServer::Start)?;
        let end = self.attend(&mut *half, &options.quit, events);
        // The clocks may have drifted during the test by more than the delay of a short path.
        let clock = clock_before.map(|before| {
            let after = end
                .report
                .as_ref()
                .and_then(|_| self.control.read_clock().ok());
            (before, after.unwrap_or(before))
        });
        let (report, server_usage) = end.report.unzip();
        half.finish(EndedDialogue {
            changed: accepted.changed,
            meter,
            cut_short: end.cut_short,
            error: end.error,
            report,
            server_usage,
            was_over: end.was_over,
            clock,
        })
    }
}
