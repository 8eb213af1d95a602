//! Plans for protocols that know a transfer of payload and little else.

use caudal_core::plan::{BulkPlan, Plan, Quantity, TcpPlan};
use caudal_flow::{RunError, Unsupported};
use caudal_wire::protocol::Protocol;

/// The error for something that a protocol does not support.
pub(crate) const fn unsupported(protocol: Protocol, what: Unsupported) -> RunError {
    RunError::Unsupported { protocol, what }
}

/// The error for a setting that a protocol does not support.
pub(crate) fn unsupported_setting(
    protocol: Protocol,
    quantity: Quantity,
    detail: Option<&str>,
) -> RunError {
    let detail = detail.map(str::to_owned);
    unsupported(protocol, Unsupported::Setting { quantity, detail })
}

/// The settings of a plan for a protocol that transfers payload, compares none, and knows neither Multipath TCP, sending without a copy nor
/// asking for ECN.
///
/// # Errors
/// When the plan is of another workload, or asks for one of these.
pub(crate) fn plain_bulk(plan: &Plan, protocol: Protocol) -> Result<&BulkPlan, RunError> {
    let Some(bulk) = plan.bulk() else {
        let workload = Unsupported::Workload(plan.workload_name());
        return Err(unsupported(protocol, workload));
    };
    let is_set = |setting: fn(&TcpPlan) -> bool| plan.tcp().is_some_and(setting);
    let verifies = plan.udp().is_some_and(|plan| plan.verify);
    for (is_set, quantity) in [
        (verifies, Quantity::Verification),
        (
            plan.tcp().is_some_and(|tcp| tcp.ask_ecn.is_some()),
            Quantity::Ecn,
        ),
        (is_set(|tcp| tcp.mptcp), Quantity::Multipath),
        (is_set(|tcp| tcp.zero_copy), Quantity::ZeroCopy),
    ] {
        if is_set {
            return Err(unsupported_setting(protocol, quantity, None));
        }
    }
    Ok(bulk)
}
