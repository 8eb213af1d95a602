//! A phase of a test of latency under load: a bulk transfer over TCP, an echo over UDP and one over TCP beside it, and requests
//! on new connections. Each is the workload that it is by itself; here they share a test.

mod client;
mod connect_prober;
mod outcome;
mod parts;
mod queue_meter;
mod server;

pub use outcome::QualityOutcome;

use super::echo::EchoWorkload;
use super::limits::ServerLimits;
use super::tcp::TcpWorkload;
use super::workload::{ClientHalf, ClientLink, OpenFlow, ServerHalf, Workload};
use crate::error::RunError;
use crate::options::LocalOptions;
use crate::socket::SocketSettings;
use caudal_core::plan::{Plan, PlannedFlow, QualityPlan, Rate, Transport};
use caudal_wire::preamble::TestToken;
use client::QualityClientHalf;
use parts::{FlowParts, QualityFlow};
use server::QualityServerHalf;

/// A phase of a test of latency under load.
pub(crate) struct QualityWorkload {
    plan: QualityPlan,
}

impl QualityWorkload {
    pub(crate) const fn new(plan: QualityPlan) -> Self {
        Self { plan }
    }

    /// The load; `None` in the idle phase.
    fn load(&self) -> Option<TcpWorkload> {
        let plan = self.plan.load_plan()?;
        Some(TcpWorkload::staggered(plan, self.plan.stagger))
    }

    /// The echo probe over this transport.
    fn echo(&self, transport: Transport) -> EchoWorkload {
        EchoWorkload::beside_load(self.plan.echo_plan(transport))
    }
}

impl Workload for QualityWorkload {
    fn plan(&self) -> Plan {
        Plan::Quality(self.plan.clone())
    }

    fn limit(&mut self, limits: &ServerLimits) -> Vec<String> {
        let mut changed = Vec::new();
        if let Some(max) = limits.session.rate_per_flow(self.plan.parallel)
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
        match (QualityFlow::of(&self.plan, flow.id), self.load()) {
            (QualityFlow::Load, Some(load)) => load.socket_settings(flow),
            (QualityFlow::Probe(transport), _) => self.echo(transport).socket_settings(flow),
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
        let parts = FlowParts::split(&self.plan, flows)?;
        Ok(Box::new(QualityClientHalf::new(
            self, parts, link, options,
        )?))
    }

    fn server_half(
        &self,
        flows: Vec<OpenFlow>,
        token: TestToken,
        limits: &ServerLimits,
    ) -> Result<Box<dyn ServerHalf>, RunError> {
        let parts = FlowParts::split(&self.plan, flows)?;
        Ok(Box::new(QualityServerHalf::new(
            self, parts, token, limits,
        )?))
    }
}
