//! The file transfer as a workload.

use super::client::TransferClientHalf;
use super::files::{client_task, server_task};
use super::mover_thread::{MoverTask, MoverWork};
use super::server::TransferServerHalf;
use crate::options::LocalOptions;
use crate::workload::limits::ServerLimits;
use crate::workload::workload::{ClientHalf, ClientLink, OpenFlow, ServerHalf, Workload};
use caudal_core::plan::{Plan, PlannedFlow, Rate, TransferPlan, TransferVia};
use caudal_flow::RunError;
use caudal_flow::socket::SocketSettings;
use caudal_transfer::{SessionCertificate, movers};
use caudal_wire::preamble::TestToken;
use std::cell::Cell;
use std::sync::Arc;

/// A file transfer.
pub(crate) struct TransferWorkload {
    plan: TransferPlan,
    /// What the server does, from the moment it has accepted the plan until it begins.
    server_task: Cell<Option<MoverTask>>,
    /// The certificate of the session, at the server of a transfer that is encrypted.
    certificate: Option<Arc<SessionCertificate>>,
}

impl TransferWorkload {
    pub(crate) const fn new(plan: TransferPlan) -> Self {
        Self {
            plan,
            server_task: Cell::new(None),
            certificate: None,
        }
    }

    fn work(
        &self,
        task: MoverTask,
        flows: Vec<OpenFlow>,
        token: TestToken,
    ) -> Result<MoverWork, RunError> {
        let open = flows
            .into_iter()
            .next()
            .ok_or_else(RunError::wrong_socket)?;
        if open.socket.transport() != self.plan.transport() {
            return Err(RunError::wrong_socket());
        }
        Ok(MoverWork {
            task,
            plan: self.plan.clone(),
            token,
            socket: Arc::new(open.socket),
            is_client: false,
            connect_time: open.connect_time,
            certificate: self.certificate.clone(),
            limit: None,
            cpu: None,
        })
    }
}

impl Workload for TransferWorkload {
    fn plan(&self) -> Plan {
        Plan::Transfer(self.plan.clone())
    }

    fn limit(&mut self, limits: &ServerLimits) -> Vec<String> {
        let mut changed = Vec::new();
        if let Some(max) = limits.session.rate_per_flow(1)
            && self.plan.rate.limit().is_none_or(|asked| asked > max)
        {
            self.plan.rate = Rate::Limit(max);
            changed.push(format!("the server allows {max}"));
        }
        changed
    }

    fn accept(&mut self, limits: &ServerLimits) -> Result<Vec<String>, RunError> {
        let mut changed = self.limit(limits);
        let (task, more) = server_task(&mut self.plan, &limits.transfer, &limits.session)?;
        self.server_task.set(Some(task));
        changed.extend(more);
        if movers::has_certificate(self.plan.via.protocol()) {
            let certificate = SessionCertificate::generate()
                .map_err(|cause| RunError::local("making a certificate", cause))?;
            self.plan.certificate = Some(certificate.fingerprint().to_string());
            self.certificate = Some(Arc::new(certificate));
        }
        Ok(changed)
    }

    fn socket_settings(&self, _flow: &PlannedFlow) -> SocketSettings {
        let settings = SocketSettings {
            dscp: self.plan.dscp,
            ..SocketSettings::new(self.plan.transport())
        };
        match &self.plan.via {
            TransferVia::Tcp(tcp) | TransferVia::Tls(tcp) => SocketSettings {
                mss: tcp.mss,
                congestion: self.plan.congestion.clone(),
                no_delay: tcp.no_delay,
                ..settings
            },
            // The congestion control is the protocol's own.
            TransferVia::Rbt(_) => settings,
            // quinn asks for its own control messages and has room for no others: a receive timestamp beside them leaves one cut off.
            TransferVia::Quic => SocketSettings {
                is_bulk: false,
                ..settings
            },
        }
    }

    fn client_half(
        &self,
        flows: Vec<OpenFlow>,
        link: &ClientLink<'_>,
        options: &LocalOptions,
    ) -> Result<Box<dyn ClientHalf>, RunError> {
        let task = client_task(&self.plan, &options.transfer)?;
        let work = self.work(task, flows, link.token)?;
        Ok(Box::new(TransferClientHalf::new(MoverWork {
            is_client: true,
            cpu: options.cpu(0),
            ..work
        })))
    }

    fn server_half(
        &self,
        flows: Vec<OpenFlow>,
        token: TestToken,
        limits: &ServerLimits,
    ) -> Result<Box<dyn ServerHalf>, RunError> {
        let task = self.server_task.take();
        let task = task.ok_or_else(|| RunError::Protocol("a transfer was begun twice".into()))?;
        let work = self.work(task, flows, token)?;
        Ok(Box::new(TransferServerHalf::new(work, limits)?))
    }
}
