//! The phase of a test of latency under load as a workload.

use super::client::QualityClientHalf;
use super::parts::{FlowParts, PartWorkloads, QualityFlow};
use super::server::{LOAD_SHARE, QualityServerHalf};
use crate::options::LocalOptions;
use crate::workload::limits::ServerLimits;
use crate::workload::workload::{ClientHalf, ClientLink, OpenFlow, ServerHalf, Workload};
use caudal_core::plan::{Plan, PlannedFlow, QualityPlan, Rate, Transport};
use caudal_flow::RunError;
use caudal_flow::socket::SocketSettings;
use caudal_wire::preamble::TestToken;

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
