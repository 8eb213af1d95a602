//! A test of the connection rate: from its request to its run.

use super::assemble::{ConnectConditionsOfRun, assemble};
use crate::control::MeasureControl;
use crate::error::MeasureError;
use crate::measured::{MeasuredRun, RunEnding};
use crate::test_peer::TestPeer;
use caudal_analysis::connect::ConnectEnds;
use caudal_core::event::Event;
use caudal_core::host::Host;
use caudal_core::plan::{ConnectPlan, Plan, PlanRecord};
use caudal_core::run::Environment;
use caudal_core::warning::Warning;
use caudal_engine::{
    ConnectOutcome, LocalOptions, RunError, TOOL, Target, connect_to_port, describe_host,
};
use caudal_sys::clock::realtime_ns;
use caudal_sys::interface::route_to_socket;
use std::net::SocketAddr;

/// A test of the connection rate that is asked for.
#[derive(Debug, Clone)]
pub struct ConnectRequest {
    /// The test.
    pub plan: ConnectPlan,
    /// The confidence of intervals.
    pub confidence: f64,
    /// The settings that concern this end alone.
    pub local: LocalOptions,
}

impl ConnectRequest {
    /// Carries the test out with a server of caudal.
    ///
    /// # Errors
    /// When nothing could be measured.
    pub fn measure(
        &self,
        peer: &mut TestPeer,
        control: &mut MeasureControl<'_>,
    ) -> Result<MeasuredRun, MeasureError> {
        let plan = Plan::Connect(self.plan.clone());
        peer.check_support(&plan)?;
        peer.begin_observation(control.started, &PlanRecord::from(&plan))?;
        let mut began_ns = None;
        let outcome =
            peer.peer_mut()
                .run(&plan, &self.local, &mut observed(control, &mut began_ns));
        let outcome = self.measured(outcome, control)?;
        let mut outcome = outcome
            .into_connect()
            .ok_or_else(|| RunError::Protocol("no test of the connection rate".into()))?;
        let info = peer.info();
        outcome.conditions.ends = match (peer.is_own(), info.is_same_machine) {
            (true, _) => ConnectEnds::OneProcess,
            (false, true) => ConnectEnds::OneHost,
            (false, false) => ConnectEnds::Apart,
        };
        let conditions = ConnectConditionsOfRun {
            peer: info.address,
            environment: info.environment(),
            path_warnings: info.path_warnings(plan.transport()),
            began_ns,
            confidence: self.confidence,
        };
        let mut measured = finished(outcome, conditions, control);
        measured.ending = peer.end_observation(&mut measured.run, measured.ending);
        Ok(measured)
    }

    /// Carries the test out with a port of any server: connections are closed once they have opened.
    ///
    /// # Errors
    /// When nothing could be measured.
    pub fn measure_port(
        &self,
        target: &Target,
        control: &mut MeasureControl<'_>,
    ) -> Result<MeasuredRun, MeasureError> {
        let mut began_ns = None;
        let interrupt = Some(control.interrupt);
        let outcome = connect_to_port(
            &self.plan,
            target,
            &self.local,
            interrupt,
            &mut observed(control, &mut began_ns),
        );
        let (peer, outcome) = self.measured(outcome, control)?;
        let conditions = ConnectConditionsOfRun {
            peer,
            environment: Environment {
                client: Some(describe_host(TOOL, Some(peer))),
                server: Some(Host {
                    tool: "any server".into(),
                    name: target.host.clone().into(),
                    ..Host::default()
                }),
                ..Environment::default()
            },
            path_warnings: Vec::<Warning>::new(),
            began_ns,
            confidence: self.confidence,
        };
        Ok(finished(outcome, conditions, control))
    }

    /// What was measured, if anyone reads it.
    fn measured<T>(
        &self,
        outcome: Result<T, RunError>,
        control: &mut MeasureControl<'_>,
    ) -> Result<T, MeasureError> {
        if control.observer.is_unread() {
            return Err(MeasureError::Unread);
        }
        Ok(outcome.inspect_err(|_| control.observer.abandoned())?)
    }
}

/// `true` when connections to this address stay on this host.
#[must_use]
pub fn is_of_this_host(address: SocketAddr) -> bool {
    address.ip().is_loopback()
        || route_to_socket(address).is_some_and(|route| route.interface == "lo")
}

/// Passes events on, with the time at which the first connection was begun, ns since 1970.
fn observed<'a>(
    control: &'a mut MeasureControl<'_>,
    began_ns: &'a mut Option<u64>,
) -> impl FnMut(Event) + 'a {
    |event| {
        if matches!(event, Event::Started { .. }) {
            *began_ns = Some(realtime_ns());
        }
        control.observer.event(&event);
    }
}

fn finished(
    outcome: ConnectOutcome,
    conditions: ConnectConditionsOfRun,
    control: &MeasureControl<'_>,
) -> MeasuredRun {
    let peer = conditions.peer.ip();
    let (completed, _) = outcome.tally.ended();
    let ending = match RunEnding::from_cut_short(outcome.cut_short.as_ref()) {
        RunEnding::Complete if completed == 0 => RunEnding::Unanswered,
        ending => ending,
    };
    let header = control.started.header.clone();
    MeasuredRun {
        run: assemble(outcome, conditions, header),
        ending,
        peer,
        arrivals: Vec::new(),
    }
}
