//! A bulk transfer within a server's limits.

use super::super::limits::ServerLimits;
use caudal_core::plan::{BulkPlan, Omit, Rate, TestEnd};

/// Changes a plan to fit a server's limits: the changes, as text for the client.
pub(crate) fn limit(plan: &mut BulkPlan, limits: &ServerLimits) -> Vec<String> {
    let mut changed = Vec::new();
    if let Some(max) = limits.session.rate_per_flow(plan.parallel)
        && plan.rate.limit().is_none_or(|asked| asked > max)
    {
        plan.rate = Rate::Limit(max);
        changed.push(format!("the server allows {max} a flow"));
    }
    if let (Some(max), TestEnd::Time(time)) = (limits.session.max_time, plan.end) {
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
    if let (Some(max), TestEnd::Bytes(bytes)) = (limits.session.max_bytes, plan.end)
        && bytes > max
    {
        plan.end = TestEnd::Bytes(max);
        changed.push(format!("the server allows {max} a test"));
    }
    changed
}
