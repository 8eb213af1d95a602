//! A measurement of throughput as it happens, from its request to what is shown of it.

use super::plan::{is_endless, repetitions, summary_options};
use crate::args::{OutputArgs, TargetArgs, TrafficArgs};
use crate::command_run::CommandRun;
use crate::exit::{Exit, Failure};
use crate::output::line_width;
use crate::output::views::Views;
use crate::peer::{connect_as, describe};
use caudal_core::plan::Plan;
use caudal_engine::LocalOptions;
use caudal_measure::{
    BulkRequest, RateSearchRequest, Repetitions, TestPeer, ThroughputRequest, UdpRequest,
};
use caudal_sys::signal::Interrupt;
use caudal_views::headline::{BulkEnding, bulk_headline};
use caudal_views::run_table::RunGoal;
use caudal_views::text;

/// The flags that both commands have.
type CommonFlags<'a> = (&'a TargetArgs, &'a TrafficArgs, &'a OutputArgs);

/// Carries a bulk transfer out as often as asked for, shows the result and records it.
pub(super) fn run_bulk(
    bulk: BulkRequest,
    local: LocalOptions,
    (target, traffic, output): CommonFlags<'_>,
    interrupt: &'static Interrupt,
) -> Result<Exit, Failure> {
    let mut views = Views::open(output, false)?;
    let observation = traffic.capture.request();
    let mut peer = connect_as(target, traffic.protocol, observation, interrupt)?;
    let mut request = ThroughputRequest {
        bulk,
        repetitions: repetitions(traffic),
        is_endless: is_endless(traffic),
        summary: summary_options(traffic, output),
        local,
    };
    request.prepare(&mut peer)?;
    let run = CommandRun::begin(&output.store);
    views.note(&headline(&peer, &request.bulk.plan(), traffic));
    if let Some(goal) = goal(request.repetitions) {
        views.begin_runs(goal, output.confidence);
    }
    let measured = request.measure(&mut peer, &mut run.control(&mut views, interrupt))?;
    // The user may look at the result for long, and others wait for the place at the server.
    drop(peer);
    run.finish(measured, views, Vec::new)
}

/// The test in a line: what is sent, to whom, for how long.
fn headline(peer: &TestPeer, plan: &Plan, traffic: &TrafficArgs) -> String {
    let ending = if is_endless(traffic) {
        BulkEnding::Interrupt
    } else {
        BulkEnding::Planned
    };
    bulk_headline(&describe(peer), plan, ending, line_width())
}

/// The goal of several runs; `None` of a single one.
fn goal(repetitions: Repetitions) -> Option<RunGoal> {
    let goal = match repetitions {
        Repetitions::Count(count) => RunGoal::Count(count),
        Repetitions::UntilPrecise {
            relative_error,
            max,
        } => RunGoal::Precision(relative_error, max),
    };
    (repetitions.max() > 1).then_some(goal)
}

/// Searches for the highest rate with at most `loss_limit` of the datagrams lost, each trial shown as it is decided.
pub(super) fn find_rate(
    udp: UdpRequest,
    loss_limit: f64,
    local: LocalOptions,
    (target, traffic, output): CommonFlags<'_>,
    interrupt: &'static Interrupt,
) -> Result<Exit, Failure> {
    let mut views = Views::open(output, false)?;
    let observation = traffic.capture.request();
    let mut peer = connect_as(target, traffic.protocol, observation, interrupt)?;
    let mut request = RateSearchRequest {
        udp,
        loss_limit,
        summary: summary_options(traffic, output),
        local,
    };
    let run = CommandRun::begin(&output.store);
    request.prepare(&mut peer)?;
    let plan = Plan::Udp(request.udp.plan.clone());
    views.note(&headline(&peer, &plan, traffic));
    let what = format!(
        "the highest rate with at most {} of the datagrams lost:",
        text::percent(loss_limit)
    );
    views.note(&text::fold(&what, 4, views.line_width()));
    let measured = request.measure(&mut peer, &mut run.control(&mut views, interrupt))?;
    // The user may look at the result for long, and others wait for the place at the server.
    drop(peer);
    run.finish(measured, views, Vec::new)
}
