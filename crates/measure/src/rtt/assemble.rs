//! The document of a round-trip test.

use super::conditions::RttConditions;
use super::episodes::episodes;
use super::marks::marks;
use super::warnings::warnings;
use super::window::{idle_windows, next_step};
use crate::bulk_recorder::seconds_to_the_microsecond;
use caudal_analysis::framing::Framing;
use caudal_analysis::link::{link_mtu, link_rate, timestamps};
use caudal_core::plan::{Direction, EchoSchedule, PlanRecord, PlannedFlow, RttPlanRecord};
use caudal_core::prediction::PredictionCheck;
use caudal_core::run::{
    ClockReport, CpuReport, FlowReport, RoundTripSummary, Run, RunHeader, RunResult,
};
use caudal_engine::RttOutcome;
use caudal_predict::echo::EchoPath;
use caudal_predict::round_trips::{RoundTripObservation, compare};
use caudal_stats::wilson;
use std::time::Duration;

/// About the bytes of a message over the control connection that measures the idle path.
const PROBE_BYTES: u32 = 64;

/// The document of a round-trip test.
pub(super) fn assemble(measured: &RttConditions<'_>, header: RunHeader) -> Run {
    let RttConditions { echo, peer, .. } = measured;
    let plan = PlanRecord::Rtt(RttPlanRecord {
        peer: Some(peer.address.to_string().into()),
        seed: match echo.plan.schedule {
            EchoSchedule::Every { poisson: true, .. } => Some(measured.seed),
            _ => None,
        },
        ..RttPlanRecord::from(&echo.plan)
    });
    let episodes = episodes(measured);
    Run {
        began_s: measured.began_ns.map(seconds_to_the_microsecond),
        environment: Some(peer.environment()),
        flows: Some(connections(echo)),
        result: Some(RunResult::RoundTrips(Box::new(summary(measured)))),
        predictions: Some(predictions(measured)),
        warnings: warnings(measured, &episodes),
        episodes,
        ..Run::new(header, plan)
    }
}

fn connections(echo: &RttOutcome) -> Vec<FlowReport> {
    echo.connections
        .iter()
        .map(|connection| FlowReport {
            connect_us: connection.connect_time.map(|took| took.as_secs_f64() * 1e6),
            granted: Some(connection.granted.clone()),
            server_granted: connection.server.as_ref().map(|end| end.granted.clone()),
            failure: connection.failure.clone(),
            ..FlowReport::new(PlannedFlow {
                id: connection.client,
                direction: Direction::Up,
            })
        })
        .collect()
}

fn summary(measured: &RttConditions<'_>) -> RoundTripSummary {
    let RttConditions {
        echo, peer, sizes, ..
    } = measured;
    let messages = sizes.iter().map(|size| size.pooled.sent).sum();
    let lost = sizes.iter().map(|size| size.pooled.lost).sum();
    let only = match sizes {
        [only] => Some(&only.pooled),
        _ => None,
    };
    let [window_up, window_down] = idle_windows(measured);
    RoundTripSummary {
        rtt_us: only.and_then(|only| only.rtt_us),
        mean_us: only.and_then(|only| only.mean_us),
        sizes: sizes.to_vec(),
        include_first: measured.include_first,
        messages,
        lost,
        loss: wilson(lost, messages, measured.confidence),
        elapsed_s: echo.elapsed.as_secs_f64(),
        idle_rtt_us: peer.idle_rtt_us,
        connect_us: Some(peer.connect_us()),
        kernel_stamps_missing: echo.timestamps_missing.clone().map(Into::into),
        clock: echo.record.clock.map(ClockReport::from),
        next_step_up: window_up.as_ref().map(next_step),
        next_step_down: window_down.as_ref().map(next_step),
        window_up: window_up.map(Box::new),
        window_down: window_down.map(Box::new),
        marks_up: marks([*echo], Direction::Up),
        marks_down: marks([*echo], Direction::Down),
        cpu: Some(CpuReport {
            client: Some(echo.client_usage),
            server: echo.server_usage,
        }),
        cut_short: echo
            .cut_short
            .as_ref()
            .map(ToString::to_string)
            .map(Into::into),
    }
}

/// The round-trip times the link should give; none where its rate is not known.
fn predictions(measured: &RttConditions<'_>) -> Vec<PredictionCheck> {
    let RttConditions {
        peer,
        echo,
        link_rate: given,
        ..
    } = measured;
    let (client, server) = (&peer.client, &peer.server);
    // The interfaces of both ends are not those of one path where TCP is ended between them.
    if peer.tcp_proxy.is_some() && given.is_none() {
        return Vec::new();
    }
    let rate_of = |direction| link_rate(*given, client, server, peer.is_loopback(), direction);
    let (Ok((rate, source)), Ok((back, _))) = (rate_of(Direction::Up), rate_of(Direction::Down))
    else {
        return Vec::new();
    };
    if rate != back {
        return Vec::new();
    }
    let framing = Framing {
        mtu: link_mtu(client, server),
        ip: peer.ip_version(),
        timestamps: timestamps(client),
        ..Framing::default()
    };
    let clients = match echo.plan.schedule {
        EchoSchedule::StopAndWait => echo.plan.clients,
        EchoSchedule::Every { .. } => 1,
    };
    let idle = peer.idle_rtt_us.and_then(|us| {
        let rtt = Duration::try_from_secs_f64(us / 1e6).ok()?;
        Some((rtt, PROBE_BYTES))
    });
    compare(&RoundTripObservation {
        path: EchoPath {
            transport: echo.plan.transport,
            rate,
            delay: Duration::ZERO,
            hosts: Duration::ZERO,
            framing,
            half_duplex: false,
        },
        rate_source: source,
        clients,
        idle,
        sizes: measured.sizes,
    })
}
