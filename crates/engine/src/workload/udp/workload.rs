//! The bulk transfer over UDP as a workload.

use super::datagrams::{NativeFormat, NativeReader};
use crate::options::LocalOptions;
use crate::workload::bulk::{BulkClientHalf, BulkFlows, BulkServerHalf, BulkTasks, limit};
use crate::workload::limits::ServerLimits;
use crate::workload::workload::{ClientHalf, ClientLink, OpenFlow, ServerHalf, Workload};
use caudal_core::plan::{Plan, PlannedFlow, Rate, Transport, UdpPlan};
use caudal_core::sample::Role;
use caudal_flow::socket::{DataSocket, SocketSettings, granted_batched_udp};
use caudal_flow::{
    CreditId, DatagramFormat, DatagramLimit, DatagramPace, DatagramReceiver, DatagramSender,
    FlowWork, NewFlow, RunError, SendGrouping, UnsentDatagrams,
};
use caudal_wire::datagram::{HEADER_BYTES, tag};
use caudal_wire::preamble::TestToken;
use std::sync::Arc;

/// A bulk transfer over UDP.
pub(crate) struct UdpWorkload {
    plan: UdpPlan,
}

impl UdpWorkload {
    pub(crate) const fn new(plan: UdpPlan) -> Self {
        Self { plan }
    }
}

impl Workload for UdpWorkload {
    fn plan(&self) -> Plan {
        Plan::Udp(self.plan.clone())
    }

    fn limit(&mut self, limits: &ServerLimits) -> Vec<String> {
        limit(&mut self.plan.bulk, limits)
    }

    fn socket_settings(&self, _flow: &PlannedFlow) -> SocketSettings {
        SocketSettings {
            window: self.plan.bulk.window.map(|bytes| bytes.get() as usize),
            dscp: self.plan.bulk.dscp,
            ecn: self.plan.ecn,
            ..SocketSettings::new(Transport::Udp)
        }
    }

    fn client_half(
        &self,
        flows: Vec<OpenFlow>,
        link: &ClientLink<'_>,
        options: &LocalOptions,
    ) -> Result<Box<dyn ClientHalf>, RunError> {
        let tasks =
            || Box::new(UdpTasks::new(&self.plan, tag(link.token), false)) as Box<dyn BulkTasks>;
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
        let mut tasks = UdpTasks::new(&self.plan, tag(token), true);
        let options = LocalOptions::default();
        let flows = BulkFlows::spawn_limited(
            &self.plan.bulk,
            flows,
            &mut tasks,
            &options,
            &limits.session,
        )?;
        Ok(Box::new(BulkServerHalf::new(flows, true)))
    }
}

/// The tasks of the flows of one end.
struct UdpTasks {
    plan: UdpPlan,
    tag: u32,
    is_server: bool,
}

impl UdpTasks {
    fn new(plan: &UdpPlan, tag: u32, is_server: bool) -> Self {
        Self {
            plan: plan.clone(),
            tag,
            is_server,
        }
    }

    /// The credit that keeps the receiver's buffer from overflowing: on one machine, without a rate.
    fn credit(&self, flow: u32) -> Option<CreditId> {
        let bulk = &self.plan.bulk;
        let tag = self.tag;
        (bulk.same_machine && bulk.rate == Rate::Max).then_some(CreditId { flow, tag })
    }

    fn send_task(&self, format: NativeFormat) -> FlowWork {
        let bulk = &self.plan.bulk;
        DatagramSender {
            format,
            length: bulk.length,
            sizes: self.plan.datagram_sizes(format.flow),
            pace: DatagramPace::from_rate(bulk.rate.limit()),
            pacing: self.plan.pacing,
            grouping: SendGrouping::Batches,
            unsent: UnsentDatagrams::Skip,
            limit: self
                .credit(format.flow)
                .map_or(DatagramLimit::Unlimited, DatagramLimit::Credit),
        }
        .into_task()
    }

    fn receive_task(&self, format: NativeFormat) -> FlowWork {
        let length = self.plan.bulk.length;
        let reader = NativeReader::new(format, self.is_server, self.credit(format.flow), length);
        let mut receiver =
            DatagramReceiver::new(reader).with_sizes(self.plan.datagram_sizes(format.flow));
        if self.plan.verify {
            let mut datagram = vec![0; length as usize];
            format.fill(&mut datagram);
            receiver = receiver.with_verification(datagram, HEADER_BYTES);
        }
        receiver.into_task()
    }
}

impl BulkTasks for UdpTasks {
    fn new_flow(
        &mut self,
        open: OpenFlow,
        role: Role,
        _options: &LocalOptions,
    ) -> Result<NewFlow, RunError> {
        let format = NativeFormat {
            flow: open.flow.id,
            tag: self.tag,
        };
        let task = match role {
            Role::Sender => self.send_task(format),
            Role::Receiver => self.receive_task(format),
        };
        let granted = match &open.socket {
            DataSocket::Udp(socket) => granted_batched_udp(socket, self.plan.bulk.length),
            DataSocket::Tcp(_) => return Err(RunError::wrong_socket()),
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
