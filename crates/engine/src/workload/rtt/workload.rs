//! The round-trip test as a workload.

use super::client::RttClientHalf;
use super::server::RttServerHalf;
use crate::options::LocalOptions;
use crate::workload::limits::ServerLimits;
use crate::workload::workload::{ClientHalf, ClientLink, OpenFlow, ServerHalf, Workload};
use caudal_core::plan::{EchoPlan, Plan, PlannedFlow, Transport};
use caudal_flow::socket::SocketSettings;
use caudal_flow::{PlannedEnd, RunError};
use caudal_wire::datagram::tag;
use caudal_wire::echo::STAMPED_BYTES;
use caudal_wire::preamble::TestToken;

/// A round-trip test.
pub(crate) struct RttWorkload {
    plan: EchoPlan,
    end: PlannedEnd,
}

impl RttWorkload {
    pub(crate) const fn new(plan: EchoPlan) -> Self {
        Self {
            plan,
            end: PlannedEnd::Unknown,
        }
    }

    /// The probe beside a load that ends by itself: so does the probe.
    pub(crate) const fn beside_load(plan: EchoPlan) -> Self {
        Self {
            plan,
            end: PlannedEnd::ByItself,
        }
    }
}

impl Workload for RttWorkload {
    fn plan(&self) -> Plan {
        Plan::Echo(self.plan.clone())
    }

    fn limit(&mut self, limits: &ServerLimits) -> Vec<String> {
        let max = limits.session.max_rate;
        let change = max
            .map(|max| format!("the server allows {max} a test: messages beyond that wait there"));
        change.into_iter().collect()
    }

    fn socket_settings(&self, _flow: &PlannedFlow) -> SocketSettings {
        SocketSettings {
            window: self.plan.window.map(|bytes| bytes.get() as usize),
            congestion: self.plan.congestion.clone(),
            no_delay: self.plan.no_delay,
            dscp: self.plan.dscp,
            is_bulk: false,
            ..SocketSettings::new(self.plan.transport)
        }
    }

    /// Messages that carry times yield the delay of each direction.
    fn needs_clock_offset(&self) -> bool {
        self.plan.transport == Transport::Udp
            && self.plan.is_scheduled()
            && self
                .plan
                .sizes
                .iter()
                .any(|size| *size as usize >= STAMPED_BYTES)
    }

    fn client_half(
        &self,
        flows: Vec<OpenFlow>,
        link: &ClientLink<'_>,
        options: &LocalOptions,
    ) -> Result<Box<dyn ClientHalf>, RunError> {
        let half = RttClientHalf::spawn(&self.plan, flows, tag(link.token), options)?;
        Ok(Box::new(half))
    }

    fn server_half(
        &self,
        flows: Vec<OpenFlow>,
        _token: TestToken,
        limits: &ServerLimits,
    ) -> Result<Box<dyn ServerHalf>, RunError> {
        let half = RttServerHalf::spawn(&self.plan, flows, &limits.session, self.end)?;
        Ok(Box::new(half))
    }
}
