//! A phase of a test of latency under load: a bulk transfer over TCP, an echo over UDP and one over TCP beside it, and requests
//! on new connections. Each is the workload that it is by itself; here they share a test.

mod client;
mod connect_prober;
mod outcome;
mod parts;
mod queue_meter;
mod server;

pub use outcome::QualityOutcome;

use super::limits::ServerLimits;
use super::workload::{ClientHalf, ClientLink, OpenFlow, ServerHalf, Workload};
use crate::error::RunError;
use crate::options::LocalOptions;
use crate::socket::SocketSettings;
use caudal_core::plan::{Plan, PlannedFlow, QualityPlan, Rate, Transport};
use caudal_wire::preamble::TestToken;
use client::QualityClientHalf;
use parts::{FlowParts, PartWorkloads, QualityFlow};
use server::{LOAD_SHARE, QualityServerHalf};

/// A phase of a test of latency under load.
pub(crate) struct QualityWorkload {
    plan: QualityPlan,
}

impl QualityWorkload {
    pub(crate) const fn new(plan: QualityPlan) -> Self {
        Self { plan }
    }

    fn parts(&self) -> PartWorkloads {
        PartWorkloads::new(&self.plan)
    }
}

impl Workload for QualityWorkload {
    fn plan(&self) -> Plan {
        Plan::Quality(self.plan.clone())
    }

    fn limit(&mut self, limits: &ServerLimits) -> Vec<String> {
        let mut changed = Vec::new();
        if let Some(max) = limits
            .session
            .share(LOAD_SHARE)
            .rate_per_flow(self.plan.parallel)
            && self.plan.rate.limit().is_none_or(|asked| asked > max)
            && self.plan.load_flows() > 0
        {
            self.plan.rate = Rate::Limit(max);
            changed.push(format!("the server allows {max} a flow"));
        }
        if let Some(max) = limits.session.max_time
            && self.plan.time > max
        {
            let share = max.as_secs_f64() / self.plan.time.as_secs_f64();
            self.plan.time = max;
            self.plan.ramp = self.plan.ramp.mul_f64(share);
            changed.push(format!("the server allows {} s a phase", max.as_secs_f64()));
        }
        changed
    }

    fn socket_settings(&self, flow: &PlannedFlow) -> SocketSettings {
        let parts = self.parts();
        match (QualityFlow::of(&self.plan, flow.id), parts.load) {
            (QualityFlow::Load, Some(load)) => load.socket_settings(flow),
            (QualityFlow::Probe(Transport::Udp), _) => parts.udp.socket_settings(flow),
            (QualityFlow::Probe(Transport::Tcp), _) => parts.tcp.socket_settings(flow),
            (QualityFlow::Load, None) => SocketSettings::new(Transport::Tcp),
        }
    }

    fn needs_clock_offset(&self) -> bool {
        true
    }

    fn answers_probes(&self) -> bool {
        true
    }

    fn client_half(
        &self,
        flows: Vec<OpenFlow>,
        link: &ClientLink<'_>,
        options: &LocalOptions,
    ) -> Result<Box<dyn ClientHalf>, RunError> {
        let flows = FlowParts::split(&self.plan, flows)?;
        let half = QualityClientHalf::new(&self.plan, &self.parts(), flows, link, options)?;
        Ok(Box::new(half))
    }

    fn server_half(
        &self,
        flows: Vec<OpenFlow>,
        token: TestToken,
        limits: &ServerLimits,
    ) -> Result<Box<dyn ServerHalf>, RunError> {
        let flows = FlowParts::split(&self.plan, flows)?;
        let half = QualityServerHalf::new(&self.plan, &self.parts(), flows, token, limits)?;
        Ok(Box::new(half))
    }
}
