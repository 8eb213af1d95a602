//! A server of caudal, as the other end of tests.

use super::answer::is_lost_opening;
use super::client_channel::{ClientChannel, NewConnection};
use super::data_sockets::DataSockets;
use super::dialogue::{StopKind, TRAILING_NS, TestDialogue};
use super::mtu_probing::MtuProbing;
use super::other_server::with_other_server;
use super::peer_watch::PeerWatch;
use super::server_episodes::{clock_steps, of_interface, other_tests, stopped};
use crate::options::LocalOptions;
use crate::own_interface::InterfaceAccount;
use crate::peer::peer::{Peer, PeerInfo};
use crate::workload::{self, ClientHalf, ClientLink, EndedDialogue, Outcome};
use caudal_core::episode::{ClockStep, Episode};
use caudal_core::event::{Agreement, CutShort, Event};
use caudal_core::interval::ServerAccount;
use caudal_core::opening::{OpeningPattern, OpeningReport};
use caudal_core::plan::{Plan, PlanRecord};
use caudal_core::text::ExternalText;
use caudal_flow::{LocalBinding, RunError, Target, UserInterrupt};
use caudal_host::UsageMeter;
use caudal_sys::clock::monotonic_ns;
use caudal_sys::signal::Interrupt;
use caudal_sys::udp;
use caudal_wire::final_report::FinalReport;
use caudal_wire::message::{OtherTest, OwnStop, ToClient, ToServer, Usage};
use caudal_wire::protocol::Protocol;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// The delay of a queue that counts as empty.
const SHORT_QUEUE: Duration = Duration::from_millis(50);

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
    episodes: Vec<Episode>,
    other_tests: Vec<OtherTest>,
    stops: Vec<OwnStop>,
    server_clock_steps: Vec<ClockStep>,
    server_interface: InterfaceAccount,
}

impl DialogueEnd {
    /// Gives the end that an error, or a silence to the last, made its reason and its time, `elapsed_s` after the start.
    fn explain(&mut self, elapsed_s: f64) {
        let is_open = |episode: &&Episode| episode.is_open();
        let silence = self.episodes.iter().rfind(is_open).map(Episode::text);
        let is_lost = matches!(
            self.error,
            Some(RunError::Lost { .. } | RunError::Silent { .. })
        );
        if self.cut_short.is_some() || self.report.is_some() {
            return;
        }
        let error = self.error.as_ref().filter(|_| is_lost);
        let reason = silence
            .or_else(|| error.map(|error| format!("{error}, {elapsed_s:.1} s after the start")));
        self.cut_short = reason.map(|reason| CutShort::Lost(reason.into()));
    }
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
        let greet = || {
            let connection =
                target.connect_first(|address| NewConnection::open(address, &target.binding))?;
            ClientChannel::greet(connection, tool, target.token.as_ref(), interrupt)
        };
        let control = match greet() {
            Err(error) if is_lost_opening(&error) => greet()?,
            greeted => greeted?,
        };
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
                && control.tcp_proxy.is_none()
                && control
                    .client
                    .interface
                    .as_ref()
                    .map(ExternalText::as_received)
                    == Some("lo"),
            tcp_proxy: control.tcp_proxy.clone(),
            opening: None,
            server_account: ServerAccount::Full,
            limits: control.limits,
            mtu_evidence: None,
        };
        Ok(Self {
            control,
            binding: target.binding.clone(),
            info,
        })
    }

    /// The time data may arrive after the end of a test, ns, with that of the path itself.
    fn trailing_ns(&self) -> u64 {
        let rtt_ns = self.control.clock.min_rtt_ns();
        TRAILING_NS + rtt_ns.map_or(0, i64::unsigned_abs) * 4
    }

    /// The maximum round-trip time of a path without a queue.
    fn empty_rtt(&self) -> Duration {
        let idle_us = self.info.idle_rtt_us.unwrap_or_default();
        Duration::from_secs_f64(idle_us * 2.0 / 1e6) + SHORT_QUEUE
    }

    /// Exchanges messages with the server until the test is over at both ends.
    fn attend(
        &mut self,
        half: &mut dyn ClientHalf,
        options: &LocalOptions,
        events: &mut dyn FnMut(Event),
    ) -> DialogueEnd {
        let quit = &*options.quit;
        let patience_ns = options.patience.as_nanos() as u64;
        let start_ns = monotonic_ns();
        let mut dialogue = TestDialogue::new(start_ns, patience_ns);
        let mut end = DialogueEnd::default();
        let mut watch = half.heard_ns().map(|_| {
            PeerWatch::start(
                self.control.channel.stream(),
                self.idle_rtt(),
                options.patience,
            )
        });
        let mut arrived_bytes = 0;
        half.start_requested(events);
        loop {
            let now_arrived_bytes = half.arrived_bytes();
            if now_arrived_bytes != arrived_bytes {
                arrived_bytes = now_arrived_bytes;
                self.control.channel.payload_arrived(monotonic_ns());
            }
            let received = self.receive(half, &dialogue, watch.as_mut());
            self.look(half, &dialogue, watch.as_mut());
            let is_last = match received {
                Ok(message) => self.take(message, half, &mut dialogue, &mut end, events),
                Err(error) => {
                    end.error = Some(self.with_other_server(error));
                    true
                }
            };
            end.was_over = dialogue.is_over();
            if is_last || !self.advance(half, quit, &mut dialogue, &mut end, events) {
                let (episodes, own_interface) = watch.map(PeerWatch::finish).unwrap_or_default();
                end.episodes = episodes;
                let elapsed_s = (monotonic_ns() - start_ns) as f64 / 1e9;
                let told = stopped(&end.stops, &end.episodes, elapsed_s);
                end.episodes.extend(told);
                let steps = clock_steps(&end.server_clock_steps, &end.episodes, elapsed_s);
                end.episodes.extend(steps);
                end.episodes
                    .extend(other_tests(&end.other_tests, elapsed_s));
                end.explain(elapsed_s);
                end.episodes.extend(of_interface(
                    &own_interface,
                    &end.server_interface,
                    &self.info,
                    elapsed_s,
                ));
                return end;
            }
        }
    }

    /// The error, with its reason where another server answers at the peer's address now.
    fn with_other_server(&self, error: RunError) -> RunError {
        let (peer, instance) = (self.control.channel.peer(), self.control.instance);
        with_other_server(error, peer, instance, &self.binding)
    }

    /// The round-trip time of the idle path.
    fn idle_rtt(&self) -> Duration {
        let rtt_ns = self.control.clock.min_rtt_ns().unwrap_or(0);
        Duration::from_nanos(rtt_ns.unsigned_abs())
    }

    /// Looks at the peer and at this end, and asks a peer that was not heard for an answer.
    fn look(
        &mut self,
        half: &dyn ClientHalf,
        dialogue: &TestDialogue,
        watch: Option<&mut PeerWatch>,
    ) {
        let Some(watch) = watch else { return };
        let payload_ns = half.heard_ns().unwrap_or(0);
        let is_due = watch.look(&self.control.channel, payload_ns);
        if is_due && dialogue.has_started() {
            // A peer that is lost is noticed when a message is received.
            let _ = self.control.ask();
        }
    }

    /// Waits for a message, or until something else is due.
    fn receive(
        &mut self,
        half: &dyn ClientHalf,
        dialogue: &TestDialogue,
        watch: Option<&mut PeerWatch>,
    ) -> Result<Option<ToClient>, RunError> {
        let channel = &mut self.control.channel;
        let until_ns =
            dialogue.wait_until_ns(monotonic_ns(), channel.heartbeat_due_ns(), half.due_ns());
        let until_ns = watch.map_or(until_ns, |watch| watch.wait_until_ns(until_ns));
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
                other_tests,
                stops,
                clock_steps,
                interface,
                routes,
            }) => {
                end.report = Some((report, usage));
                end.other_tests = other_tests;
                end.stops = stops;
                end.server_clock_steps = clock_steps;
                end.server_interface = InterfaceAccount {
                    events: interface,
                    routes,
                };
                if let (None, Some(reason)) = (&end.cut_short, stopped) {
                    end.cut_short = Some(CutShort::ByServer(reason));
                }
                true
            }
            Some(ToClient::Refused {
                reason, message, ..
            }) => {
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
        if half.is_over() && dialogue.over(now_ns, self.control.smoothed_rtt_ns()) {
            events(Event::Ending);
            if let Some(stop) = dialogue.final_stop(!half.sent_datagrams().is_empty()) {
                self.send_stop(stop, half);
            }
        }
        if dialogue.is_expired(now_ns) {
            if dialogue.is_start_missing() {
                end.error = Some(RunError::Silent {
                    waiting_for: "the start of the test",
                    seconds: dialogue.start_timeout_s(),
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

    fn keep_alive(&mut self) -> Result<(), RunError> {
        self.control.keep_idle()
    }

    fn probe_path_mtu(&mut self) -> Result<(), RunError> {
        let Some(known) = self.info.path_mtu.filter(|_| !self.info.is_loopback()) else {
            return Ok(());
        };
        let probing = MtuProbing::prepare(&mut self.control, &self.binding, known)?;
        if let Some(found) = probing.measure()? {
            self.info.path_mtu = Some(found.bytes);
            self.info.mtu_evidence = Some(found.evidence);
        }
        Ok(())
    }

    fn run(
        &mut self,
        plan: &Plan,
        options: &LocalOptions,
        events: &mut dyn FnMut(Event),
    ) -> Result<Outcome, RunError> {
        self.carry_out(plan, options, events)
            .map_err(|error| self.with_other_server(error))
            .map_err(|error| error.with_needed_descriptors(plan.sockets()))
    }
}

impl NativePeer {
    fn carry_out(
        &mut self,
        plan: &Plan,
        options: &LocalOptions,
        events: &mut dyn FnMut(Event),
    ) -> Result<Outcome, RunError> {
        self.control.set_patience(options.patience);
        let accepted = self.control.offer(plan)?;
        let mut workload = workload::from_plan(&accepted.plan);
        let peer = self.info.address;
        events(Event::Agreed(Agreement::new(
            &accepted.plan,
            peer,
            &accepted.changed,
        )));
        let binding = LocalBinding {
            port: options.local_port,
            ..self.binding.clone()
        };
        let opened = DataSockets::new(&mut self.control, accepted.token, options.partial).open(
            &accepted.plan,
            |flow| workload.socket_settings(flow),
            &binding,
        )?;
        let flows = opened.flows;
        let earlier = self.info.opening.take();
        if let Some((plan, opening)) = opened.reduced {
            workload = workload::from_plan(&plan);
            events(Event::Agreed(Agreement::new(
                &plan,
                peer,
                &accepted.changed,
            )));
            // What was found blocked once is waited for no longer than to see that it still is.
            let is_blocked = |one: &OpeningReport| one.pattern == OpeningPattern::Blocked;
            let known = earlier.filter(|earlier| is_blocked(earlier) && is_blocked(&opening));
            self.info.opening = Some(known.unwrap_or(opening));
        }
        let clock_before = match workload.needs_clock_offset() {
            true => Some(self.control.read_clock()?),
            false => None,
        };
        let meter = UsageMeter::start_with_drop_reasons(peer);
        let link = ClientLink {
            token: accepted.token,
            peer,
            binding: &self.binding,
            trailing_ns: self.trailing_ns(),
        };
        let mut half = workload.client_half(flows, &link, options)?;
        self.control.wait_until(options.start_at_ns)?;
        self.control.channel.send(&ToServer::Start)?;
        let end = self.attend(&mut *half, options, events);
        if !options.patience.is_zero() && end.report.is_some() {
            // A server that is lost meanwhile is noticed by the next test.
            let _ = self.control.settle(self.empty_rtt(), options.patience);
        }
        // The clocks may have drifted during the test by more than the delay of a short path.
        let clock = clock_before.map(|before| {
            let after = end
                .report
                .as_ref()
                .and_then(|_| self.control.read_clock().ok());
            (before, after.unwrap_or(before))
        });
        let (report, server_usage) = end.report.unzip();
        let server_usage = server_usage.filter(Usage::is_possible);
        let rate = |plan: &Plan| PlanRecord::from(plan).rate();
        let server_set_rate = rate(plan) != rate(&accepted.plan);
        half.finish(EndedDialogue {
            changed: accepted.changed,
            server_set_rate,
            meter,
            cut_short: end.cut_short,
            episodes: end.episodes,
            error: end.error,
            report,
            server_usage,
            was_over: end.was_over,
            clock,
        })
    }
}
