//! A test of the connection rate at a server of caudal.

use super::client::ConnectClientHalf;
use super::server::{ConnectServerHalf, connection_bytes, max_per_s};
use crate::options::LocalOptions;
use crate::workload::limits::ServerLimits;
use crate::workload::workload::{ClientHalf, ClientLink, OpenFlow, ServerHalf, Workload};
use caudal_core::plan::{ConnectPlan, Plan, PlannedFlow, Transport};
use caudal_core::units::ByteCount;
use caudal_flow::RunError;
use caudal_flow::socket::SocketSettings;
use caudal_transfer::{SessionCertificate, TlsAnswerer};
use caudal_wire::preamble::TestToken;
use std::time::Duration;

/// A test of the connection rate.
pub(crate) struct ConnectWorkload {
    plan: ConnectPlan,
    /// The server's end of TLS, where the plan asks for it.
    answerer: Option<TlsAnswerer>,
}

impl ConnectWorkload {
    pub(crate) const fn new(plan: ConnectPlan) -> Self {
        Self {
            plan,
            answerer: None,
        }
    }
}

impl Workload for ConnectWorkload {
    fn plan(&self) -> Plan {
        Plan::Connect(self.plan.clone())
    }

    fn limit(&mut self, limits: &ServerLimits) -> Vec<String> {
        let (plan, session) = (&mut self.plan, &limits.session);
        let mut changed = Vec::new();
        if let Some(max) = session.max_time.filter(|max| plan.time > *max) {
            plan.time = max;
            changed.push(format!("the server allows {} s a test", max.as_secs_f64()));
        }
        if let Some(max) = max_per_s(session, plan.tls)
            && plan.scheduled_per_s().is_none_or(|asked| asked > max)
        {
            plan.period = Some(Duration::from_secs_f64(1.0 / max));
            changed.push(format!("the server allows {max:.0} connections per second"));
        }
        if let Some(max) = session.max_bytes.map(ByteCount::get) {
            let max = (max / connection_bytes(plan.tls)).max(1);
            if plan.count.is_none_or(|asked| asked > max) {
                plan.count = Some(max);
                changed.push(format!("the server allows {max} connections a test"));
            }
        }
        changed
    }

    fn accept(&mut self, limits: &ServerLimits) -> Result<Vec<String>, RunError> {
        let changed = self.limit(limits);
        if self.plan.tls {
            let prepared =
                |cause: String| RunError::local("preparing TLS", std::io::Error::other(cause));
            let certificate = SessionCertificate::generate()
                .map_err(|cause| RunError::local("making a certificate", cause))?;
            self.plan.certificate = Some(certificate.fingerprint().to_string());
            let answerer = TlsAnswerer::new(&certificate);
            self.answerer = Some(answerer.map_err(|failure| prepared(failure.to_string()))?);
        }
        Ok(changed)
    }

    fn socket_settings(&self, _flow: &PlannedFlow) -> SocketSettings {
        SocketSettings::new(Transport::Tcp)
    }

    fn client_half(
        &self,
        _flows: Vec<OpenFlow>,
        link: &ClientLink<'_>,
        options: &LocalOptions,
    ) -> Result<Box<dyn ClientHalf>, RunError> {
        Ok(Box::new(ConnectClientHalf::new(&self.plan, link, options)?))
    }

    fn server_half(
        &self,
        _flows: Vec<OpenFlow>,
        _token: TestToken,
        limits: &ServerLimits,
    ) -> Result<Box<dyn ServerHalf>, RunError> {
        let answerer = self.answerer.clone();
        Ok(Box::new(ConnectServerHalf::new(
            &self.plan, answerer, limits,
        )?))
    }
}
