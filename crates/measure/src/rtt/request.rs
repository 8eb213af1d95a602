//! A round-trip test: from its request to its run.

use super::assemble::assemble;
use super::conditions::RttConditions;
use crate::control::{MeasureControl, Observer};
use crate::error::MeasureError;
use crate::measured::{MeasuredRun, RunEnding};
use crate::path_mtu::{SMALL_DATAGRAM, lost_in_black_hole};
use crate::test_peer::TestPeer;
use caudal_analysis::echo::{EchoRecord, EchoSummaryOptions};
use caudal_core::event::Event;
use caudal_core::plan::{EchoPlan, Plan, PlanRecord, Transport};
use caudal_core::units::BitRate;
use caudal_engine::{LocalOptions, RttOutcome, RunError};

/// A round-trip test that is asked for.
#[derive(Debug, Clone)]
pub struct RttRequest {
    /// The test.
    pub plan: EchoPlan,
    /// Sizes that were asked for and are not in the plan, because no datagram can have them.
    pub left_out: Vec<u32>,
    /// `true` to count the first message of each size with the others.
    pub include_first: bool,
    /// The confidence of intervals.
    pub confidence: f64,
    /// The link's rate, where the interface does not report it.
    pub link_rate: Option<BitRate>,
    /// The settings that concern this end alone.
    pub local: LocalOptions,
}

/// A round-trip test that was carried out.
#[derive(Debug)]
pub struct MeasuredRtt {
    /// Its document, and how it ended.
    pub measured: MeasuredRun,
    /// Every message.
    pub record: EchoRecord,
}

impl RttRequest {
    /// Fits the test to the path to `peer`.
    ///
    /// # Errors
    /// When the peer is lost, or the user interrupts.
    pub fn prepare(&mut self, peer: &mut TestPeer) -> Result<(), MeasureError> {
        let is_large = |size: &u32| *size > SMALL_DATAGRAM;
        if self.plan.transport == Transport::Udp && self.plan.sizes.iter().any(is_large) {
            peer.probe_path_mtu()?;
        }
        Ok(())
    }

    /// Carries the test out.
    ///
    /// # Errors
    /// When nothing could be measured.
    pub fn measure(
        &self,
        peer: &mut TestPeer,
        control: &mut MeasureControl<'_>,
    ) -> Result<MeasuredRtt, MeasureError> {
        let plan = Plan::Echo(self.plan.clone());
        peer.begin_observation(control.started, &PlanRecord::from(&plan))?;
        let (echo, began_ns) = self
            .carry_out(peer, &plan, control.observer)
            .map_err(|error| self.no_replies(error, peer))?;
        let sizes = echo.record.summarise(EchoSummaryOptions {
            confidence: self.confidence,
            include_first: self.include_first,
        });
        let mut run = assemble(
            &RttConditions {
                peer: peer.info(),
                echo: &echo,
                sizes: &sizes,
                began_ns,
                seed: self.local.echo.seed,
                left_out: &self.left_out,
                include_first: self.include_first,
                confidence: self.confidence,
                link_rate: self.link_rate,
            },
            control.started.header.clone(),
        );
        let ending = RunEnding::from_cut_short(echo.cut_short.as_ref());
        let ending = peer.end_observation(&mut run, ending);
        Ok(MeasuredRtt {
            measured: MeasuredRun {
                run,
                ending,
                peer: peer.info().address.ip(),
                arrivals: Vec::new(),
            },
            record: echo.record,
        })
    }

    /// Carries the plan out; the measurements, and the time the first message was sent, ns since 1970.
    fn carry_out(
        &self,
        peer: &mut TestPeer,
        plan: &Plan,
        observer: &mut dyn Observer,
    ) -> Result<(RttOutcome, Option<u64>), RunError> {
        let mut began_ns = None;
        let outcome = peer.peer_mut().run(plan, &self.local, &mut |event| {
            if matches!(event, Event::Started { .. }) {
                began_ns = Some(caudal_sys::clock::realtime_ns());
            }
            observer.event(&event);
        });
        if outcome.is_err() {
            observer.abandoned();
        }
        let outcome = outcome?
            .into_rtt()
            .ok_or_else(|| RunError::Protocol("no round-trip test".into()))?;
        Ok((outcome, began_ns))
    }

    /// The error of a test without any reply: on a path that drops packets of every size that was asked for, that is the reason.
    fn no_replies(&self, error: RunError, peer: &TestPeer) -> MeasureError {
        let smallest = self.plan.sizes.iter().copied().min().unwrap_or(0);
        match error {
            RunError::Flows(_) if self.plan.transport == Transport::Udp => {
                lost_in_black_hole(peer.info(), smallest).unwrap_or_else(|| error.into())
            }
            error => error.into(),
        }
    }
}
