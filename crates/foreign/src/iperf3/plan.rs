//! Parameters of iperf3 as a plan, and a plan as parameters.

use caudal_core::marks::Ecn;
use caudal_core::plan::{
    BulkPlan, Directions, Omit, Pacing, Plan, PlanError, Quantity, Rate, TcpPlan, TestEnd,
    Transport, UdpPlan,
};
use caudal_core::units::{BitRate, ByteCount};
use caudal_flow::{RunError, Unsupported};
use caudal_wire::iperf3::parameters::{MAX_BLOCK, MAX_OMIT_S, MAX_TIME_S};
use caudal_wire::iperf3::{MAX_STREAMS, Parameters, TransportProtocol};
use caudal_wire::protocol::Protocol;
use std::time::Duration;

/// The duration of a test that has no end of its own.
pub(super) const MAX_DURATION: Duration = Duration::from_secs(7 * 86_400);

/// The plan that parameters ask for, read every `interval`.
pub(super) fn plan_from_parameters(parameters: &Parameters, interval: Option<Duration>) -> Plan {
    let time = match parameters.time_s {
        0 => MAX_DURATION,
        seconds => Duration::from_secs(u64::from(seconds)),
    };
    let bulk = BulkPlan {
        directions: match (parameters.bidirectional, parameters.reverse) {
            (true, _) => Directions::Both,
            (_, true) => Directions::Down,
            _ => Directions::Up,
        },
        parallel: parameters.parallel,
        end: parameters.end_bytes().map_or(TestEnd::Time(time), |bytes| {
            TestEnd::Bytes(ByteCount::new(bytes))
        }),
        interval: interval.unwrap_or(MAX_DURATION),
        omit: match parameters.omit_s {
            0 => Omit::Nothing,
            seconds => Omit::Time(Duration::from_secs(u64::from(seconds))),
        },
        rate: match parameters.rate_bps {
            0 => Rate::Max,
            bps => Rate::Limit(BitRate::from_bps(bps)),
        },
        length: parameters.length,
        window: parameters.window.map(ByteCount::new),
        dscp: parameters.tos.map(|tos| tos >> 2),
        same_machine: false,
    };
    match parameters.protocol {
        TransportProtocol::Udp => Plan::Udp(UdpPlan {
            bulk,
            verify: false,
            pacing: Pacing::Balanced,
            ecn: parameters.tos.map_or(Ecn::NotEct, Ecn::from_tos),
        }),
        TransportProtocol::Tcp | TransportProtocol::Sctp => Plan::Tcp(TcpPlan {
            bulk,
            mss: parameters.mss,
            congestion: parameters
                .congestion
                .as_ref()
                .map(|name| name.as_received().to_owned()),
            no_delay: parameters.no_delay,
            mptcp: parameters.mptcp,
            discard: parameters.skip_rx_copy,
            zero_copy: parameters.zero_copy,
            ask_ecn: None,
        }),
    }
}

/// The parameters that ask for a plan.
///
/// # Errors
/// When iperf3 does not support the workload, or a setting of it.
pub(super) fn parameters_from_plan(plan: &Plan, tool: &str) -> Result<Parameters, RunError> {
    let Some(bulk) = plan.bulk() else {
        return Err(RunError::Unsupported {
            protocol: Protocol::Iperf3,
            what: Unsupported::Workload(plan.workload_name()),
        });
    };
    check(plan, bulk)?;
    let tcp = plan.tcp();
    let is_set = |setting: fn(&TcpPlan) -> bool| tcp.is_some_and(setting);
    let (time_s, bytes) = match bulk.end {
        TestEnd::Time(time) => (time.as_secs_f64().ceil() as u32, 0),
        TestEnd::Bytes(bytes) => (0, bytes.get()),
    };
    Ok(Parameters {
        protocol: match plan.transport() {
            Transport::Tcp => TransportProtocol::Tcp,
            Transport::Udp => TransportProtocol::Udp,
        },
        omit_s: bulk.omitted().as_secs() as u32,
        time_s,
        bytes,
        parallel: bulk.parallel,
        reverse: bulk.directions == Directions::Down,
        bidirectional: bulk.directions == Directions::Both,
        mss: tcp.and_then(|tcp| tcp.mss),
        no_delay: is_set(|tcp| tcp.no_delay),
        mptcp: is_set(|tcp| tcp.mptcp),
        window: bulk.window.map(ByteCount::get),
        length: bulk.length,
        rate_bps: bulk.rate.limit().map_or(0, BitRate::bps),
        tos: plan.tos(),
        congestion: tcp.and_then(|tcp| tcp.congestion.clone()).map(Into::into),
        zero_copy: is_set(|tcp| tcp.zero_copy),
        skip_rx_copy: is_set(|tcp| tcp.discard),
        client_version: Some(format!("3.21 ({tool})").into()),
        ..Parameters::default()
    })
}

/// Checks a plan against what iperf3 supports.
fn check(plan: &Plan, bulk: &BulkPlan) -> Result<(), PlanError> {
    let seconds = |time: Duration| format!("{} s", time.as_secs_f64());
    let error = |quantity: Quantity, value: String, allowed: String| {
        Err(PlanError {
            quantity,
            value,
            allowed: format!("with iperf3 {allowed}"),
        })
    };
    if bulk.parallel > MAX_STREAMS {
        return error(
            Quantity::ParallelFlows,
            bulk.parallel.to_string(),
            format!("the maximum is {MAX_STREAMS}"),
        );
    }
    if plan.udp().is_some_and(|plan| plan.verify) {
        return error(
            Quantity::Verification,
            "given".to_owned(),
            "payload cannot be compared".to_owned(),
        );
    }
    if plan.transport() == Transport::Tcp && u64::from(bulk.length) > MAX_BLOCK {
        return error(
            Quantity::Length,
            bulk.length.to_string(),
            format!("the maximum is {MAX_BLOCK}"),
        );
    }
    let omitted = bulk.omitted();
    if omitted.subsec_nanos() != 0 || omitted.as_secs() > MAX_OMIT_S {
        return error(
            Quantity::WarmUp,
            seconds(omitted),
            format!("it must be whole seconds, at most {MAX_OMIT_S}"),
        );
    }
    match bulk.duration() {
        Some(time) if time > Duration::from_secs(MAX_TIME_S) => error(
            Quantity::Duration,
            seconds(time),
            format!("the maximum is {MAX_TIME_S} s"),
        ),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> TcpPlan {
        TcpPlan {
            bulk: BulkPlan {
                directions: Directions::Both,
                parallel: 2,
                end: TestEnd::Time(Duration::from_millis(1500)),
                interval: Duration::from_secs(1),
                omit: Omit::Time(Duration::from_secs(2)),
                rate: Rate::Max,
                length: 1 << 17,
                window: Some(ByteCount::new(65_536)),
                dscp: Some(46),
                same_machine: false,
            },
            mss: None,
            congestion: None,
            no_delay: false,
            mptcp: false,
            discard: true,
            zero_copy: false,
            ask_ecn: None,
        }
    }

    #[test]
    fn a_plan_becomes_the_parameters_that_ask_for_the_same() {
        let parameters = parameters_from_plan(&Plan::Tcp(plan()), "test").unwrap();
        assert!(parameters.bidirectional && parameters.skip_rx_copy && !parameters.reverse);
        assert_eq!(
            (parameters.time_s, parameters.omit_s, parameters.parallel),
            (2, 2, 2)
        );
        assert_eq!(
            (parameters.tos, parameters.window),
            (Some(184), Some(65_536))
        );
    }

    #[test]
    fn a_plan_iperf3_does_not_support_is_refused_with_its_quantity() {
        let refused = |plan: &Plan| match parameters_from_plan(plan, "test") {
            Err(RunError::Plan(error)) => error.quantity,
            other => panic!("{other:?}"),
        };
        let (mut parallel, mut omit) = (plan(), plan());
        parallel.bulk.parallel = 129;
        omit.bulk.omit = Omit::Time(Duration::from_millis(500));
        let verify = UdpPlan {
            bulk: plan().bulk,
            verify: true,
            pacing: Pacing::Balanced,
            ecn: Ecn::NotEct,
        };
        assert_eq!(
            [Plan::Tcp(parallel), Plan::Tcp(omit), Plan::Udp(verify)].map(|plan| refused(&plan)),
            [
                Quantity::ParallelFlows,
                Quantity::WarmUp,
                Quantity::Verification
            ]
        );
    }
}
