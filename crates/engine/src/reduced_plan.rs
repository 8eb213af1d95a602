//! A plan with those of its flows that opened.

use caudal_core::plan::{Direction, Plan, PlannedFlow, QualityPlan, Transport};

/// A plan with fewer flows than were asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReducedPlan {
    /// The plan.
    pub(crate) plan: Plan,
    /// Its flows, each behind the number that it had.
    pub(crate) flows: Vec<(u32, PlannedFlow)>,
}

/// A plan with those of its flows whose numbers are in `opened`, numbered anew: as many of each direction as opened of the one with
/// fewer. A phase of a test of latency under load can do without its UDP probe alone.
/// `None` where that leaves none, or the workload cannot do without any of its flows.
pub(crate) fn reduced_to(plan: &Plan, opened: &[u32]) -> Option<ReducedPlan> {
    let of_direction = |direction| {
        let flows = plan.flows().into_iter();
        let open = flows.filter(move |flow| flow.direction == direction);
        open.filter(|flow| opened.contains(&flow.id))
            .collect::<Vec<_>>()
    };
    let directions = match plan {
        Plan::Tcp(_) | Plan::Udp(_) => plan.bulk()?.directions.each(),
        Plan::Echo(_) => &[Direction::Up],
        Plan::Quality(phase) => return without_udp_probe(phase, opened),
        Plan::Connect(_) | Plan::Transfer(_) | Plan::Trains(_) => return None,
    };
    let open: Vec<Vec<PlannedFlow>> = directions.iter().map(|one| of_direction(*one)).collect();
    let count = open.iter().map(Vec::len).min().filter(|count| *count > 0)?;
    let mut plan = plan.clone();
    match &mut plan {
        Plan::Echo(echo) => echo.clients = count as u32,
        other => other.bulk_mut()?.parallel = count as u32,
    }
    let old = open.iter().flat_map(|flows| flows.iter().take(count));
    let flows = old.zip(plan.flows()).map(|(old, new)| (old.id, new));
    Some(ReducedPlan {
        flows: flows.collect(),
        plan,
    })
}

/// A phase without its UDP probe, where all its other flows are `opened`.
fn without_udp_probe(phase: &QualityPlan, opened: &[u32]) -> Option<ReducedPlan> {
    let udp = phase.probe_flow(Transport::Udp);
    let mut flows = phase.flows();
    flows.retain(|flow| *flow != udp);
    let are_open = flows.iter().all(|flow| opened.contains(&flow.id));
    are_open.then(|| ReducedPlan {
        plan: Plan::Quality(phase.clone()),
        flows: flows.into_iter().map(|flow| (flow.id, flow)).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::marks::Ecn;
    use caudal_core::plan::{BulkPlan, Directions, Omit, Pacing, Rate, TestEnd, UdpPlan};
    use std::time::Duration;

    fn both(parallel: u32) -> Plan {
        Plan::Udp(UdpPlan {
            bulk: BulkPlan {
                directions: Directions::Both,
                parallel,
                end: TestEnd::Time(Duration::from_secs(1)),
                interval: Duration::from_secs(1),
                omit: Omit::Nothing,
                rate: Rate::Max,
                length: 1448,
                window: None,
                dscp: None,
                same_machine: false,
            },
            verify: false,
            pacing: Pacing::Precise,
            ecn: Ecn::NotEct,
        })
    }

    #[test]
    fn both_directions_keep_as_many_flows_as_the_one_with_fewer() {
        let reduced = reduced_to(&both(3), &[0, 2, 4, 9]).unwrap();
        assert_eq!(reduced.plan, both(1));
        let flow = |id, direction| PlannedFlow { id, direction };
        assert_eq!(
            reduced.flows,
            [(0, flow(0, Direction::Up)), (4, flow(1, Direction::Down))]
        );
        assert_eq!(reduced_to(&both(3), &[0, 1, 2]), None);
        let all = reduced_to(&both(3), &[0, 1, 2, 3, 4, 5]).unwrap();
        assert_eq!(all.plan, both(3));
    }
}
