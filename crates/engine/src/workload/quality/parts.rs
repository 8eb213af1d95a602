//! The flows of a phase by the part of the test that they belong to.

use crate::workload::rtt::RttWorkload;
use crate::workload::tcp::TcpWorkload;
use crate::workload::workload::OpenFlow;
use caudal_core::plan::{PlannedFlow, QualityPlan, Transport};
use caudal_core::quality::SenderQueue;
use caudal_core::sample::FlowEnd;
use caudal_flow::RunError;
use caudal_wire::final_report::{FinalReport, FlowsReport};

/// The part of the test that a flow belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QualityFlow {
    /// The load.
    Load,
    /// The echo probe over this transport.
    Probe(Transport),
}

impl QualityFlow {
    /// The part that flow `id` of a plan belongs to.
    pub(super) fn of(plan: &QualityPlan, id: u32) -> Self {
        let probe = |transport| plan.probe_flow(transport).id == id;
        match (probe(Transport::Udp), probe(Transport::Tcp)) {
            (true, _) => Self::Probe(Transport::Udp),
            (_, true) => Self::Probe(Transport::Tcp),
            _ => Self::Load,
        }
    }
}

/// The workloads that a phase consists of.
pub(super) struct PartWorkloads {
    /// The load; `None` in the idle phase.
    pub(super) load: Option<TcpWorkload>,
    pub(super) udp: RttWorkload,
    pub(super) tcp: RttWorkload,
}

impl PartWorkloads {
    /// The workloads of a phase with this plan.
    pub(super) fn new(plan: &QualityPlan) -> Self {
        let load = plan.load_plan();
        let echo = |transport| RttWorkload::beside_load(plan.echo_plan(transport));
        Self {
            load: load.map(|load| TcpWorkload::staggered(load, plan.stagger)),
            udp: echo(Transport::Udp),
            tcp: echo(Transport::Tcp),
        }
    }
}

/// The open flows of a phase.
pub(super) struct FlowParts {
    pub(super) load: Vec<OpenFlow>,
    /// That of the UDP probe, as the only flow of a test of its own; `None` where UDP does not pass.
    pub(super) udp: Option<OpenFlow>,
    /// That of the TCP probe, as the only flow of a test of its own.
    pub(super) tcp: OpenFlow,
}

impl FlowParts {
    /// The flows of `plan`, which must all be open, except that of the UDP probe.
    pub(super) fn split(plan: &QualityPlan, flows: Vec<OpenFlow>) -> Result<Self, RunError> {
        let (mut load, mut udp, mut tcp) = (Vec::new(), None, None);
        for open in flows {
            match QualityFlow::of(plan, open.flow.id) {
                QualityFlow::Load => load.push(open),
                QualityFlow::Probe(Transport::Udp) => udp = Some(renumbered(open, 0)),
                QualityFlow::Probe(Transport::Tcp) => tcp = Some(renumbered(open, 0)),
            }
        }
        let missing = || RunError::Protocol("a probe has no data socket".into());
        Ok(Self {
            load,
            udp,
            tcp: tcp.ok_or_else(missing)?,
        })
    }
}

fn renumbered(open: OpenFlow, id: u32) -> OpenFlow {
    OpenFlow {
        flow: PlannedFlow { id, ..open.flow },
        ..open
    }
}

/// The reports of a server on the parts of a phase.
#[derive(Debug, Default)]
pub(super) struct ReportParts {
    pub(super) load: FlowsReport,
    pub(super) udp: FlowsReport,
    pub(super) tcp: FlowsReport,
    /// The backlog of the server's interface towards the client.
    pub(super) sender_queue: Option<SenderQueue>,
}

impl ReportParts {
    /// The parts of the report on a phase of `plan`.
    pub(super) fn split(plan: &QualityPlan, report: FinalReport) -> Self {
        let sender_queue = report.sender_queue();
        let report = report.into_flows();
        let mut parts = Self {
            load: FlowsReport {
                flows: Vec::new(),
                arrivals: report.arrivals,
            },
            sender_queue,
            ..Self::default()
        };
        for end in report.flows {
            match QualityFlow::of(plan, end.flow) {
                QualityFlow::Load => parts.load.flows.push(end),
                QualityFlow::Probe(Transport::Udp) => {
                    parts.udp.flows.push(FlowEnd { flow: 0, ..end });
                }
                QualityFlow::Probe(Transport::Tcp) => {
                    parts.tcp.flows.push(FlowEnd { flow: 0, ..end });
                }
            }
        }
        parts
    }

    /// The report on the whole phase.
    pub(super) fn join(mut self, plan: &QualityPlan) -> FinalReport {
        let numbered = |report: FlowsReport, transport| {
            let flow = plan.probe_flow(transport).id;
            report
                .flows
                .into_iter()
                .map(move |end| FlowEnd { flow, ..end })
        };
        let mut flows = std::mem::take(&mut self.load.flows);
        flows.extend(numbered(self.udp, Transport::Udp));
        flows.extend(numbered(self.tcp, Transport::Tcp));
        let report = FlowsReport { flows, ..self.load };
        match self.sender_queue {
            Some(queue) => FinalReport::Quality(report, queue),
            None => FinalReport::Flows(report),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::plan::{PhaseLoad, ProbePeriods, Rate};
    use caudal_core::sample::{Counters, SenderCounters};
    use std::time::Duration;

    fn plan() -> QualityPlan {
        QualityPlan {
            load: PhaseLoad::Both,
            parallel: 2,
            time: Duration::from_secs(1),
            ramp: Duration::ZERO,
            stagger: Duration::ZERO,
            interval: Duration::from_millis(100),
            probes: ProbePeriods {
                udp_ns: 20_000_000,
                tcp_ns: 100_000_000,
                connect_ns: 200_000_000,
            },
            timeout: Duration::from_secs(1),
            rate: Rate::Max,
            congestion: None,
            dscp: None,
            same_machine: true,
        }
    }

    #[test]
    fn the_report_on_a_phase_is_that_of_its_parts() {
        let end = |flow| FlowEnd::from_counters(flow, Counters::Sender(SenderCounters::default()));
        let flows = FlowsReport {
            flows: (0..6).map(end).collect(),
            arrivals: None,
        };
        let whole = FinalReport::Quality(flows, SenderQueue::default());
        let parts = ReportParts::split(&plan(), whole.clone());
        assert_eq!(parts.load.flows.len(), 4);
        assert_eq!((parts.udp.flows[0].flow, parts.tcp.flows[0].flow), (0, 0));
        assert_eq!(parts.join(&plan()), whole);
    }
}
