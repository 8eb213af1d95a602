//! The client's half of a phase of a test of latency under load.

use super::connect_prober::{ConnectProber, ConnectSettings};
use super::outcome::QualityOutcome;
use super::parts::{FlowParts, PartWorkloads, ReportParts};
use super::queue_meter::QueueMeter;
use crate::options::{EchoLocalOptions, LocalOptions};
use crate::workload::elapsed::time_since;
use crate::workload::outcome::Outcome;
use crate::workload::workload::{ClientHalf, ClientLink, EndedDialogue, Workload};
use caudal_core::episode::Episode;
use caudal_core::event::{CutShort, Event, ProbeReply};
use caudal_core::plan::{QualityPlan, Transport};
use caudal_core::quality::ConnectProbe;
use caudal_flow::RunError;
use caudal_sys::clock::monotonic_ns;
use caudal_wire::final_report::{FinalReport, FlowsReport};
use caudal_wire::message::ToClient;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// The client's half of a phase.
pub(super) struct QualityClientHalf {
    plan: QualityPlan,
    /// The load; `None` in the idle phase.
    load: Option<Box<dyn ClientHalf>>,
    /// The UDP probe; `None` where UDP does not pass.
    udp: Option<Box<dyn ClientHalf>>,
    tcp: Box<dyn ClientHalf>,
    /// The requests on new connections, once the test was started.
    connects: Option<ConnectProber>,
    /// What they need, until then.
    connect_settings: Option<ConnectSettings>,
    start_ns: u64,
    peer: SocketAddr,
    /// The readings of this end's own queue, once the test was started; they also report the replies that have arrived.
    queue: Option<QueueMeter>,
}

impl QualityClientHalf {
    pub(super) fn new(
        plan: &QualityPlan,
        parts: &PartWorkloads,
        flows: FlowParts,
        link: &ClientLink<'_>,
        options: &LocalOptions,
    ) -> Result<Self, RunError> {
        let probing = LocalOptions {
            echo: EchoLocalOptions {
                seed: 0,
                kernel_timestamps: false,
                // On a slow path the last replies are behind the load in a queue.
                time: Some(plan.time + plan.patience()),
                interval: None,
                report_replies: true,
            },
            ..options.clone()
        };
        let load = parts.load.as_ref();
        Ok(Self {
            load: load
                .map(|load| load.client_half(flows.load, link, options))
                .transpose()?,
            udp: flows
                .udp
                .map(|flow| parts.udp.client_half(vec![flow], link, &probing))
                .transpose()?,
            tcp: parts.tcp.client_half(vec![flows.tcp], link, &probing)?,
            connects: None,
            connect_settings: Some(ConnectSettings {
                peer: link.peer,
                binding: link.binding.clone(),
                token: link.token,
                period: Duration::from_nanos(plan.probes.connect_ns),
                timeout: plan.timeout,
                time: plan.time,
            }),
            start_ns: 0,
            peer: link.peer,
            queue: None,
            plan: plan.clone(),
        })
    }

    fn parts(&self) -> impl Iterator<Item = &dyn ClientHalf> {
        let load = self.load.as_deref();
        let udp = self.udp.as_deref();
        load.into_iter().chain(udp).chain([&*self.tcp])
    }

    fn probes_mut(&mut self) -> impl Iterator<Item = &mut Box<dyn ClientHalf>> {
        self.udp.iter_mut().chain([&mut self.tcp])
    }
}

/// Takes events of the probe over `transport` as those of its flow in the phase.
fn of_probe<'a>(
    plan: &'a QualityPlan,
    transport: Transport,
    events: &'a mut dyn FnMut(Event),
) -> impl FnMut(Event) + 'a {
    move |event| {
        if let Event::Replied(reply) = event {
            events(Event::Replied(ProbeReply {
                flow: plan.probe_flow(transport).id,
                ..reply
            }));
        }
    }
}

/// Takes events of the load; the phase reports its start itself.
fn of_load(events: &mut dyn FnMut(Event)) -> impl FnMut(Event) + '_ {
    |event| {
        if !matches!(event, Event::Started { .. }) {
            events(event);
        }
    }
}

impl ClientHalf for QualityClientHalf {
    fn wakeup_fds(&self) -> Vec<BorrowedFd<'_>> {
        self.parts().flat_map(ClientHalf::wakeup_fds).collect()
    }

    fn due_ns(&self) -> Option<u64> {
        let parts = self.parts().filter_map(ClientHalf::due_ns);
        let queue = self.queue.as_ref().filter(|_| !self.is_over());
        parts.chain(queue.map(QueueMeter::due_ns)).min()
    }

    fn start_requested(&mut self, events: &mut dyn FnMut(Event)) {
        if let Some(load) = &mut self.load {
            load.start_requested(&mut of_load(events));
        }
        self.probes_mut()
            .for_each(|probe| probe.start_requested(events));
    }

    fn started(&mut self, events: &mut dyn FnMut(Event)) {
        self.start_ns = monotonic_ns();
        let ns = |time: Duration| time.as_nanos() as u64;
        self.queue = Some(QueueMeter::start(
            Some(self.peer),
            self.start_ns,
            ns(self.plan.ramp),
            ns(self.plan.interval),
        ));
        if let Some(load) = &mut self.load {
            load.started(&mut of_load(events));
        }
        self.probes_mut()
            .for_each(|probe| probe.started(&mut |_| {}));
        if let Some(settings) = self.connect_settings.take() {
            // Without a thread for them the requests are missing from the result.
            self.connects = ConnectProber::spawn(settings, self.start_ns).ok();
        }
        events(Event::Started { repeat: None });
    }

    fn receive(
        &mut self,
        message: ToClient,
        events: &mut dyn FnMut(Event),
    ) -> Result<(), RunError> {
        match &mut self.load {
            Some(load) => load.receive(message, events),
            None => Err(RunError::unexpected(message, "the end of the test")),
        }
    }

    fn advance(&mut self, now_ns: u64, events: &mut dyn FnMut(Event)) {
        if let Some(load) = &mut self.load {
            load.advance(now_ns, &mut of_load(events));
        }
        let plan = &self.plan;
        if let Some(udp) = &mut self.udp {
            udp.advance(now_ns, &mut of_probe(plan, Transport::Udp, events));
        }
        self.tcp
            .advance(now_ns, &mut of_probe(plan, Transport::Tcp, events));
        if let Some(queue) = &mut self.queue {
            queue.advance(now_ns);
        }
    }

    fn arrived_bytes(&self) -> u64 {
        self.parts().map(ClientHalf::arrived_bytes).sum()
    }

    fn is_over(&self) -> bool {
        self.start_ns > 0 && self.parts().all(ClientHalf::is_over)
    }

    fn heard_ns(&self) -> Option<u64> {
        self.parts().filter_map(ClientHalf::heard_ns).max()
    }

    fn stop(&mut self) {
        if let Some(load) = &mut self.load {
            load.stop();
        }
        self.probes_mut().for_each(|probe| probe.stop());
        if let Some(connects) = &self.connects {
            connects.stop();
        }
    }

    fn finish(mut self: Box<Self>, mut ended: EndedDialogue) -> Result<Outcome, RunError> {
        let elapsed = time_since(self.start_ns, monotonic_ns());
        let connects = self.connects.take().map(ConnectProber::finish);
        let connects = without_stops(connects.unwrap_or_default(), &ended.episodes);
        let client_usage = ended.meter.read();
        let reports = ended
            .report
            .take()
            .map(|report| ReportParts::split(&self.plan, report));
        let server_queue = reports.as_ref().and_then(|parts| parts.sender_queue);
        let (load_report, udp_report, tcp_report) = match reports {
            Some(parts) => (Some(parts.load), Some(parts.udp), Some(parts.tcp)),
            None => (None, None, None),
        };
        let mut cut_short = ended.cut_short.take();
        if let (None, false, Some(error)) = (&cut_short, ended.was_over, &ended.error) {
            cut_short = Some(CutShort::Lost(error.to_string().into()));
        }
        let part = |report: Option<FlowsReport>| EndedDialogue {
            changed: ended.changed.clone(),
            server_set_rate: ended.server_set_rate,
            episodes: ended.episodes.clone(),
            meter: ended.meter.clone(),
            cut_short: cut_short.clone(),
            error: None,
            report: report.map(FinalReport::Flows),
            server_usage: ended.server_usage,
            was_over: ended.was_over,
            clock: ended.clock,
        };
        let load = self.load.map(|load| load.finish(part(load_report)));
        let udp = self.udp.map(|udp| udp.finish(part(udp_report)));
        let tcp = self.tcp.finish(part(tcp_report));
        let has_udp = udp.as_ref().is_some_and(Result::is_ok);
        if load.as_ref().is_none_or(Result::is_err) && !has_udp && tcp.is_err() {
            let error = ended.error.take().or(tcp.err());
            return Err(error.unwrap_or(RunError::Interrupted));
        }
        if let (None, Some(Err(failure))) = (&cut_short, &load) {
            cut_short = Some(CutShort::Lost(failure.to_string().into()));
        }
        let load = load.and_then(Result::ok).and_then(Outcome::into_bulk);
        Ok(Outcome::Quality(Box::new(QualityOutcome {
            plan: self.plan,
            changed: ended.changed,
            episodes: ended.episodes,
            cut_short: cut_short.or_else(|| load.as_ref()?.cut_short.clone()),
            load,
            udp: udp.and_then(Result::ok).and_then(Outcome::into_rtt),
            tcp: tcp.ok().and_then(Outcome::into_rtt),
            connects,
            client_queue: self.queue.and_then(QueueMeter::finish),
            server_queue,
            start_ns: self.start_ns,
            elapsed,
            client_usage,
            server_usage: ended.server_usage,
        })))
    }
}

/// The requests without those that a program at either end delayed by standing still.
fn without_stops(mut connects: Vec<ConnectProbe>, episodes: &[Episode]) -> Vec<ConnectProbe> {
    let own = episodes.iter().filter(|one| one.is_stop());
    let stops: Vec<&Episode> = own.collect();
    connects.retain(|probe| {
        let from_s = probe.at_ns as f64 / 1e9;
        let took_ns = probe.connect_ns.unwrap_or(0) + probe.answer_ns.unwrap_or(0);
        let to_s = from_s + took_ns as f64 / 1e9;
        stops.iter().all(|stop| stop.overlap_s(from_s, to_s) == 0.0)
    });
    connects
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::episode::EpisodeKind;

    #[test]
    fn requests_that_a_stop_of_this_program_delayed_are_left_out() {
        let probe = |at_ms: u64, took_ms: u64| ConnectProbe {
            at_ns: at_ms * 1_000_000,
            connect_ns: Some(took_ms * 1_000_000),
            answer_ns: None,
        };
        let stop = Episode {
            kind: EpisodeKind::ProgramStopped,
            from_s: 1.0,
            to_s: Some(1.5),
            direction: None,
            evidence: String::new(),
        };
        let all = vec![probe(900, 20), probe(990, 520), probe(1600, 20)];
        let kept = without_stops(all.clone(), &[stop]);
        assert_eq!(kept, [all[0], all[2]]);
        assert_eq!(without_stops(all.clone(), &[]), all);
    }
}
