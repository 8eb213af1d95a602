//! Bulk transfers over TCP.

use crate::options::LocalOptions;
use crate::workload::bulk::{BulkClientHalf, BulkFlows, BulkServerHalf, BulkTasks, limit};
use crate::workload::limits::ServerLimits;
use crate::workload::workload::{ClientHalf, ClientLink, OpenFlow, ServerHalf, Workload};
use caudal_core::plan::{Plan, PlannedFlow, TcpPlan, Transport};
use caudal_core::sample::{Granted, Role};
use caudal_core::units::ByteCount;
use caudal_flow::socket::{DataSocket, SocketSettings, granted_tcp};
use caudal_flow::{
    ByteBudget, NewFlow, Payload, ReceiveMode, RunError, TcpClose, TcpReceiver, TcpSender,
    WritePace, receive_buffer,
};
use caudal_sys::tcp::SplicedSource;
use caudal_wire::datagram::{fill_payload, tag};
use caudal_wire::preamble::TestToken;
use std::sync::Arc;
use std::time::Duration;

/// A bulk transfer over TCP.
pub(crate) struct TcpWorkload {
    plan: TcpPlan,
    /// The time between the starts of two flows of a direction.
    stagger: Duration,
}

impl TcpWorkload {
    pub(crate) const fn new(plan: TcpPlan) -> Self {
        Self::staggered(plan, Duration::ZERO)
    }

    /// A transfer whose flows start one after another in each direction, this far apart.
    pub(crate) const fn staggered(plan: TcpPlan, stagger: Duration) -> Self {
        Self { plan, stagger }
    }
}

impl Workload for TcpWorkload {
    fn plan(&self) -> Plan {
        Plan::Tcp(self.plan.clone())
    }

    fn limit(&mut self, limits: &ServerLimits) -> Vec<String> {
        limit(&mut self.plan.bulk, limits)
    }

    fn socket_settings(&self, _flow: &PlannedFlow) -> SocketSettings {
        SocketSettings {
            window: self.plan.bulk.window.map(|bytes| bytes.get() as usize),
            mss: self.plan.mss,
            congestion: self.plan.congestion.clone(),
            no_delay: self.plan.no_delay,
            dscp: self.plan.bulk.dscp,
            ask_ecn: self.plan.ask_ecn,
            flow_label: None,
            mptcp: self.plan.mptcp,
            ..SocketSettings::new(Transport::Tcp)
        }
    }

    fn client_half(
        &self,
        flows: Vec<OpenFlow>,
        link: &ClientLink<'_>,
        options: &LocalOptions,
    ) -> Result<Box<dyn ClientHalf>, RunError> {
        let tasks = || Box::new(TcpTasks::new(self, tag(link.token))) as Box<dyn BulkTasks>;
        let directions = BulkFlows::spawn_by_direction(&self.plan.bulk, flows, tasks, options)?;
        Ok(Box::new(BulkClientHalf::new(
            self.plan(),
            &self.plan.bulk,
            directions,
            link.trailing_ns,
        )))
    }

    fn server_half(
        &self,
        flows: Vec<OpenFlow>,
        token: TestToken,
        limits: &ServerLimits,
    ) -> Result<Box<dyn ServerHalf>, RunError> {
        let mut tasks = TcpTasks::new(self, tag(token));
        let options = LocalOptions::default();
        let flows = BulkFlows::spawn_limited(
            &self.plan.bulk,
            flows,
            &mut tasks,
            &options,
            &limits.session,
        )?;
        Ok(Box::new(BulkServerHalf::new(flows, false)))
    }
}

/// The tasks of the flows of one end.
struct TcpTasks {
    plan: TcpPlan,
    stagger: Duration,
    tag: u32,
    /// The generated block, shared by all flows that send.
    block: Option<Arc<Vec<u8>>>,
    budget: Arc<ByteBudget>,
}

impl TcpTasks {
    fn new(workload: &TcpWorkload, tag: u32) -> Self {
        let plan = &workload.plan;
        Self {
            plan: plan.clone(),
            stagger: workload.stagger,
            tag,
            block: None,
            budget: ByteBudget::new(plan.bulk.bytes().map(ByteCount::get)),
        }
    }

    fn payload(&mut self, options: &LocalOptions) -> Result<Payload, RunError> {
        let length = self.plan.bulk.length as usize;
        if let Some(path) = &options.tcp.file {
            return Payload::open(path, length)
                .map_err(|cause| RunError::local(format!("opening {}", path.display()), cause));
        }
        if self.plan.zero_copy {
            let pages = SplicedSource::new(length)
                .map_err(|cause| RunError::local("preparing pages for zero copy", cause))?;
            return Ok(Payload::Pages(pages));
        }
        let tag = self.tag;
        let block = self.block.get_or_insert_with(|| {
            let mut block = vec![0; length];
            fill_payload(&mut block, tag);
            Arc::new(block)
        });
        Ok(Payload::Block(Arc::clone(block)))
    }

    fn sender(&mut self, options: &LocalOptions) -> Result<TcpSender, RunError> {
        Ok(TcpSender {
            payload: self.payload(options)?,
            length: self.plan.bulk.length as usize,
            pace: self.plan.bulk.rate.limit().map(WritePace::from_rate),
            budget: Arc::clone(&self.budget),
            close: TcpClose::HalfClose,
            peer_may_close: false,
            bytes_before: 0,
        })
    }

    fn receiver(&self) -> TcpReceiver {
        let mode = if self.plan.discard {
            ReceiveMode::Discard
        } else {
            ReceiveMode::Copy {
                buffer: receive_buffer(self.plan.bulk.length),
                coalesce: self.plan.bulk.window.is_none(),
            }
        };
        TcpReceiver {
            quick_ack: self.is_sparse(),
            ..TcpReceiver::new(mode)
        }
    }

    /// `true` where segments are far apart.
    fn is_sparse(&self) -> bool {
        self.plan.bulk.rate.has_sparse_segments()
    }
}

impl BulkTasks for TcpTasks {
    fn shared_bytes(&self) -> u64 {
        u64::from(self.plan.bulk.length)
    }

    fn new_flow(
        &mut self,
        open: OpenFlow,
        role: Role,
        options: &LocalOptions,
    ) -> Result<NewFlow, RunError> {
        let task = match role {
            Role::Sender => {
                let nth = open.flow.id % self.plan.bulk.parallel.max(1);
                let task = self.sender(options)?.into_task();
                task.delayed(self.stagger.saturating_mul(nth))
            }
            Role::Receiver => self.receiver().into_task(),
        };
        let granted = match &open.socket {
            DataSocket::Tcp(stream) => Granted {
                quick_ack: (role == Role::Receiver && self.is_sparse()).then_some(true),
                ..granted_tcp(stream, self.plan.mptcp)
            },
            DataSocket::Udp(_) => return Err(RunError::wrong_socket()),
        };
        Ok(NewFlow {
            flow: open.flow,
            role,
            socket: Arc::new(open.socket),
            granted,
            cpu: None,
            task,
        })
    }
}
