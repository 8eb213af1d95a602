//! The list of workloads.

use super::connect::ConnectWorkload;
use super::quality::QualityWorkload;
use super::rtt::RttWorkload;
use super::tcp::TcpWorkload;
use super::trains::TrainsWorkload;
use super::transfer::TransferWorkload;
use super::udp::UdpWorkload;
use super::workload::Workload;
use caudal_core::plan::{Plan, PlannedFlow};
use caudal_flow::socket::SocketSettings;

/// The workload that carries a plan out.
pub(crate) fn from_plan(plan: &Plan) -> Box<dyn Workload> {
    match plan {
        Plan::Tcp(plan) => Box::new(TcpWorkload::new(plan.clone())),
        Plan::Udp(plan) => Box::new(UdpWorkload::new(plan.clone())),
        Plan::Echo(plan) => Box::new(RttWorkload::new(plan.clone())),
        Plan::Connect(plan) => Box::new(ConnectWorkload::new(plan.clone())),
        Plan::Quality(plan) => Box::new(QualityWorkload::new(plan.clone())),
        Plan::Transfer(plan) => Box::new(TransferWorkload::new(plan.clone())),
        Plan::Trains(plan) => Box::new(TrainsWorkload::new(*plan)),
    }
}

/// The settings of a flow's data socket in a test that carries a plan out.
#[must_use]
pub fn socket_settings(plan: &Plan, flow: &PlannedFlow) -> SocketSettings {
    from_plan(plan).socket_settings(flow)
}
