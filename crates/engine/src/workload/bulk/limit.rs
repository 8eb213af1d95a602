//! A bulk transfer within a server's limits.

use super::super::limits::ServerLimits;
use caudal_core::plan::{BulkPlan, Omit, Rate, TestEnd};
use caudal_core::units::BitRate;

/// Changes a plan to fit a server's limits: the changes, as text for the client.
pub(crate) fn limit(plan: &mut BulkPlan, limits: &ServerLimits) -> Vec<String> {
    let mut changed = Vec::new();
    if let Some(max) = limits.rate_per_flow(plan.parallel) {
        let asked = plan.rate.limit().map_or(u64::MAX, BitRate::bps);
        if asked > max {
            let max = BitRate::from_bps(max);
            plan.rate = Rate::Limit(max);
            changed.push(format!("the server allows {max} a flow"));
        }
    }
    if let (Some(max), TestEnd::Time(time)) = (limits.max_time, plan.end) {
        let omitted = plan.omitted();
        if time + omitted > max {
            let mut change = format!("the server allows {} s a test", max.as_secs_f64());
            if omitted < max {
                plan.end = TestEnd::Time(max - omitted);
            } else {
                plan.omit = Omit::Nothing;
                plan.end = TestEnd::Time(max);
                change += ", so that no warm-up is excluded";
            }
            changed.push(change);
        }
    }
    changed
}
