//! The check of a plan of any kind but a file transfer.

use super::error::{AcceptanceError, check_duration, check_rate, same};
use super::transfer::check_transfer;
use caudal_core::plan::{
    BulkPlan, ConnectPlan, EchoPlan, Omit, Plan, QualityPlan, Quantity, TcpPlan, TestEnd,
    TrainsPlan, UdpPlan,
};

/// Checks a plan that a server accepted against the plan that was offered.
///
/// A server may lower the rate, the duration and the number of bytes, and leave out a warm-up for which its time is too short.
/// How the server's own sender paces is left to it. Of a file transfer it fills in what only it knows. Everything else stays as it
/// was offered.
///
/// # Errors
/// Names the first change that it may not make.
pub fn check_accepted(offered: &Plan, accepted: &Plan) -> Result<(), AcceptanceError> {
    match (offered, accepted) {
        (Plan::Tcp(offered), Plan::Tcp(accepted)) => check_tcp(offered, accepted),
        (Plan::Udp(offered), Plan::Udp(accepted)) => check_udp(offered, accepted),
        (Plan::Echo(offered), Plan::Echo(accepted)) => check_echo(offered, accepted),
        (Plan::Connect(offered), Plan::Connect(accepted)) => check_connect(offered, accepted),
        (Plan::Quality(offered), Plan::Quality(accepted)) => check_quality(offered, accepted),
        (Plan::Transfer(offered), Plan::Transfer(accepted)) => check_transfer(offered, accepted),
        (Plan::Trains(offered), Plan::Trains(accepted)) => check_trains(offered, accepted),
        _ => Err(AcceptanceError::Different("kind of test")),
    }
}

fn check_tcp(offered: &TcpPlan, accepted: &TcpPlan) -> Result<(), AcceptanceError> {
    // Every field by name: a new one is compared, or this does not compile.
    let TcpPlan {
        bulk,
        mss,
        congestion,
        no_delay,
        mptcp,
        discard,
        zero_copy,
        // Connections are opened by the client, whose kernel asks.
        ask_ecn: _,
    } = accepted;
    check_bulk(&offered.bulk, bulk)?;
    same("maximum segment size", &offered.mss, mss)?;
    same("congestion control", &offered.congestion, congestion)?;
    same("setting of Nagle's algorithm", &offered.no_delay, no_delay)?;
    same("setting of Multipath TCP", &offered.mptcp, mptcp)?;
    same("way to receive", &offered.discard, discard)?;
    same("way to send", &offered.zero_copy, zero_copy)
}

fn check_udp(offered: &UdpPlan, accepted: &UdpPlan) -> Result<(), AcceptanceError> {
    // A server of a version without the setting paces precisely; how it paced stands in its sender's report.
    let UdpPlan {
        bulk,
        verify,
        pacing: _,
        ecn,
    } = accepted;
    check_bulk(&offered.bulk, bulk)?;
    same("setting of payload verification", &offered.verify, verify)?;
    same("ECN field", &offered.ecn, ecn)
}

/// A server may open connections more slowly, or fewer of them, and makes the certificate.
fn check_connect(offered: &ConnectPlan, accepted: &ConnectPlan) -> Result<(), AcceptanceError> {
    let ConnectPlan {
        parallel,
        time,
        count,
        interval,
        period,
        timeout,
        tls,
        certificate: _,
        dscp,
    } = accepted;
    same("number of connections at once", &offered.parallel, parallel)?;
    check_duration(offered.time, *time)?;
    let count_of = |count: &Option<u64>| count.unwrap_or(u64::MAX);
    if count_of(count) > count_of(&offered.count) {
        return Err(AcceptanceError::Different("number of connections"));
    }
    same("reporting interval", &offered.interval, interval)?;
    if offered
        .period
        .is_some_and(|offered| period.is_none_or(|period| period < offered))
    {
        return Err(AcceptanceError::Different("schedule"));
    }
    same("timeout", &offered.timeout, timeout)?;
    same("use of TLS", &offered.tls, tls)?;
    same("DSCP", &offered.dscp, dscp)
}

fn check_quality(offered: &QualityPlan, accepted: &QualityPlan) -> Result<(), AcceptanceError> {
    let QualityPlan {
        load,
        parallel,
        time,
        ramp,
        stagger,
        interval,
        probes,
        timeout,
        rate,
        congestion,
        dscp,
        same_machine,
    } = accepted;
    same("load", &offered.load, load)?;
    same("number of flows", &offered.parallel, parallel)?;
    check_duration(offered.time, *time)?;
    check_duration(offered.ramp, *ramp)?;
    same("time between starts", &offered.stagger, stagger)?;
    same("reporting interval", &offered.interval, interval)?;
    same("schedule of probes", &offered.probes, probes)?;
    same("reply timeout", &offered.timeout, timeout)?;
    check_rate(offered.rate, *rate)?;
    same("congestion control", &offered.congestion, congestion)?;
    same("DSCP", &offered.dscp, dscp)?;
    same(
        "placement of both ends",
        &offered.same_machine,
        same_machine,
    )
}

fn check_bulk(offered: &BulkPlan, accepted: &BulkPlan) -> Result<(), AcceptanceError> {
    let BulkPlan {
        directions,
        parallel,
        end,
        interval,
        omit,
        rate,
        length,
        window,
        dscp,
        same_machine,
    } = accepted;
    same("direction", &offered.directions, directions)?;
    same("number of flows", &offered.parallel, parallel)?;
    check_end((offered.end, offered.omit), (*end, *omit))?;
    check_rate(offered.rate, *rate)?;
    same("reporting interval", &offered.interval, interval)?;
    same("length", &offered.length, length)?;
    same("window", &offered.window, window)?;
    same("DSCP", &offered.dscp, dscp)?;
    same(
        "placement of both ends",
        &offered.same_machine,
        same_machine,
    )
}

/// Checks the end of a test and its warm-up, which a server leaves out when its time is too short for it.
fn check_end(offered: (TestEnd, Omit), accepted: (TestEnd, Omit)) -> Result<(), AcceptanceError> {
    match (offered, accepted) {
        ((TestEnd::Time(measured), Omit::Time(omitted)), (TestEnd::Time(time), Omit::Nothing)) => {
            check_duration(measured.saturating_add(omitted), time)
        }
        ((TestEnd::Time(offered), omit), (TestEnd::Time(accepted), accepted_omit)) => {
            same("warm-up", &omit, &accepted_omit)?;
            check_duration(offered, accepted)
        }
        ((TestEnd::Bytes(offered), omit), (TestEnd::Bytes(accepted), accepted_omit)) => {
            same("warm-up", &omit, &accepted_omit)?;
            if accepted <= offered {
                return Ok(());
            }
            Err(AcceptanceError::Larger {
                quantity: Quantity::Bytes,
                offered: offered.to_string(),
                accepted: accepted.to_string(),
            })
        }
        _ => Err(AcceptanceError::Different("end of the test")),
    }
}

fn check_echo(offered: &EchoPlan, accepted: &EchoPlan) -> Result<(), AcceptanceError> {
    let EchoPlan {
        transport,
        clients,
        sizes,
        count,
        schedule,
        timeout,
        no_delay,
        congestion,
        dscp,
        window,
    } = accepted;
    same("transport", &offered.transport, transport)?;
    same("number of clients", &offered.clients, clients)?;
    same("list of message sizes", &offered.sizes, sizes)?;
    same("number of messages", &offered.count, count)?;
    same("schedule", &offered.schedule, schedule)?;
    same("reply timeout", &offered.timeout, timeout)?;
    same("setting of Nagle's algorithm", &offered.no_delay, no_delay)?;
    same("congestion control", &offered.congestion, congestion)?;
    same("DSCP", &offered.dscp, dscp)?;
    same("window", &offered.window, window)
}

/// A server carries trains out as they are, or refuses them: fewer or slower ones would measure something else.
fn check_trains(offered: &TrainsPlan, accepted: &TrainsPlan) -> Result<(), AcceptanceError> {
    let TrainsPlan { series, dscp } = accepted;
    same("series of trains", &offered.series, series)?;
    same("DSCP", &offered.dscp, dscp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::plan::{Directions, EchoSchedule, Pacing, Rate, Transport};
    use caudal_core::units::{BitRate, ByteCount};
    use std::time::Duration;

    fn bulk() -> BulkPlan {
        BulkPlan {
            directions: Directions::Up,
            parallel: 2,
            end: TestEnd::Time(Duration::from_secs(10)),
            interval: Duration::from_secs(1),
            omit: Omit::Time(Duration::from_secs(2)),
            rate: Rate::Limit(BitRate::from_bps(1_000_000)),
            length: 1000,
            window: None,
            dscp: None,
            same_machine: false,
        }
    }

    fn tcp() -> TcpPlan {
        TcpPlan {
            bulk: bulk(),
            mss: None,
            congestion: None,
            no_delay: false,
            mptcp: false,
            discard: false,
            zero_copy: false,
            ask_ecn: None,
        }
    }

    fn udp() -> UdpPlan {
        UdpPlan {
            bulk: bulk(),
            verify: false,
            pacing: Pacing::Balanced,
            ecn: caudal_core::marks::Ecn::NotEct,
        }
    }

    fn echo() -> EchoPlan {
        EchoPlan {
            transport: Transport::Tcp,
            clients: 2,
            sizes: vec![1, 64],
            count: 100,
            schedule: EchoSchedule::StopAndWait,
            timeout: Duration::from_secs(1),
            no_delay: true,
            congestion: None,
            dscp: None,
            window: None,
        }
    }

    fn changed<P: Clone>(plan: &P, change: impl Fn(&mut P)) -> P {
        let mut plan = plan.clone();
        change(&mut plan);
        plan
    }

    #[test]
    fn a_plan_is_accepted_as_it_was_offered() {
        for plan in [Plan::Tcp(tcp()), Plan::Udp(udp()), Plan::Echo(echo())] {
            assert_eq!(check_accepted(&plan, &plan), Ok(()));
        }
    }

    #[test]
    fn a_server_may_lower_what_a_test_uses() {
        let changes: [fn(&mut BulkPlan); 3] = [
            |plan| plan.rate = Rate::Limit(BitRate::from_bps(999_999)),
            |plan| plan.end = TestEnd::Time(Duration::from_secs(9)),
            // Its time is too short for the warm-up: all of it is measured.
            |plan| {
                plan.end = TestEnd::Time(Duration::from_secs(12));
                plan.omit = Omit::Nothing;
            },
        ];
        for change in changes {
            assert_eq!(check_bulk(&bulk(), &changed(&bulk(), change)), Ok(()));
        }
        let unlimited = changed(&bulk(), |plan| plan.rate = Rate::Max);
        assert_eq!(
            check_bulk(&unlimited, &bulk_without_time(5)),
            different_end()
        );
        assert_eq!(check_bulk(&unlimited, &bulk()), Ok(()));
        assert_eq!(
            check_bulk(&bulk_without_time(5), &bulk_without_time(4)),
            Ok(())
        );
    }

    fn bulk_without_time(bytes: u64) -> BulkPlan {
        changed(&bulk(), |plan| {
            plan.end = TestEnd::Bytes(ByteCount::new(bytes));
            plan.omit = Omit::Nothing;
        })
    }

    fn different_end() -> Result<(), AcceptanceError> {
        Err(AcceptanceError::Different("end of the test"))
    }

    #[test]
    fn a_server_may_not_raise_what_a_test_uses() {
        let larger = |quantity, change: fn(&mut BulkPlan)| {
            let error = check_bulk(&bulk(), &changed(&bulk(), change)).unwrap_err();
            assert!(
                matches!(error, AcceptanceError::Larger { quantity: found, .. } if found == quantity),
                "{error}"
            );
        };
        larger(Quantity::Rate, |plan| plan.rate = Rate::Max);
        larger(Quantity::Rate, |plan| {
            plan.rate = Rate::Limit(BitRate::from_bps(1_000_001));
        });
        larger(Quantity::Duration, |plan| {
            plan.end = TestEnd::Time(Duration::from_secs(11));
        });
        larger(Quantity::Duration, |plan| {
            plan.end = TestEnd::Time(Duration::from_secs(13));
            plan.omit = Omit::Nothing;
        });
        let error = check_bulk(&bulk_without_time(5), &bulk_without_time(6)).unwrap_err();
        assert!(error.to_string().contains("number of bytes"), "{error}");
        assert_eq!(check_bulk(&bulk_without_time(5), &bulk()), different_end());
    }

    #[test]
    fn a_server_without_a_choice_of_pacing_is_accepted() {
        let accepted = changed(&udp(), |plan| plan.pacing = Pacing::Precise);
        assert_eq!(check_udp(&udp(), &accepted), Ok(()));
    }

    #[test]
    fn a_server_may_not_change_the_kind_of_test() {
        let plans = [Plan::Tcp(tcp()), Plan::Udp(udp()), Plan::Echo(echo())];
        for offered in &plans {
            for accepted in plans.iter().filter(|plan| *plan != offered) {
                assert_eq!(
                    check_accepted(offered, accepted),
                    Err(AcceptanceError::Different("kind of test"))
                );
            }
        }
    }

    #[test]
    fn a_server_may_not_change_any_other_setting_of_a_bulk_transfer() {
        let changes: [fn(&mut BulkPlan); 10] = [
            |plan| plan.directions = Directions::Both,
            |plan| plan.parallel = 1,
            |plan| plan.parallel = 3,
            |plan| plan.interval = Duration::from_millis(10),
            |plan| plan.omit = Omit::Auto,
            |plan| plan.omit = Omit::Time(Duration::from_secs(3)),
            |plan| plan.length = 1001,
            |plan| plan.window = Some(ByteCount::new(1 << 30)),
            |plan| plan.dscp = Some(46),
            |plan| plan.same_machine = true,
        ];
        for (nth, change) in changes.into_iter().enumerate() {
            let accepted = changed(&bulk(), change);
            let outcome = check_bulk(&bulk(), &accepted);
            assert!(
                matches!(outcome, Err(AcceptanceError::Different(_))),
                "change {nth}: {outcome:?}"
            );
        }
        let changes: [fn(&mut TcpPlan); 6] = [
            |plan| plan.mss = Some(536),
            |plan| plan.congestion = Some("bbr".to_owned()),
            |plan| plan.no_delay = true,
            |plan| plan.mptcp = true,
            |plan| plan.discard = true,
            |plan| plan.zero_copy = true,
        ];
        for change in changes {
            assert!(check_tcp(&tcp(), &changed(&tcp(), change)).is_err());
        }
        assert!(check_udp(&udp(), &changed(&udp(), |plan| plan.verify = true)).is_err());
    }

    #[test]
    fn a_server_may_not_change_any_setting_of_a_round_trip_test() {
        let changes: [fn(&mut EchoPlan); 11] = [
            |plan| plan.transport = Transport::Udp,
            |plan| plan.clients = 3,
            |plan| plan.sizes = vec![1, 65],
            |plan| plan.sizes = vec![1],
            |plan| plan.count = 101,
            |plan| {
                plan.schedule = EchoSchedule::Every {
                    period: Duration::from_millis(1),
                    poisson: false,
                };
            },
            |plan| plan.timeout = Duration::from_secs(2),
            |plan| plan.no_delay = false,
            |plan| plan.congestion = Some("reno".to_owned()),
            |plan| plan.dscp = Some(1),
            |plan| plan.window = Some(ByteCount::new(1)),
        ];
        for (nth, change) in changes.into_iter().enumerate() {
            let outcome = check_echo(&echo(), &changed(&echo(), change));
            assert!(
                matches!(outcome, Err(AcceptanceError::Different(_))),
                "change {nth}: {outcome:?}"
            );
        }
    }
}
