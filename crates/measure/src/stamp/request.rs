//! A test with STAMP: from its request to its run.

use super::assemble::assemble;
use crate::control::MeasureControl;
use crate::error::MeasureError;
use crate::measured::{MeasuredRun, RunEnding};
use caudal_analysis::echo::EchoRecord;
use caudal_core::event::{Agreement, Event};
use caudal_core::plan::{PlanRecord, StampPlan, StampPlanRecord};
use caudal_engine::Target;
use caudal_foreign::stamp::{ReflectorOptions, StampReflectorServer, StampSender};
use caudal_sys::clock::realtime_ns;
use caudal_wire::stamp::StampKey;
use std::net::{IpAddr, SocketAddr};

/// A test with STAMP that is asked for.
#[derive(Debug, Clone)]
pub struct StampRequest {
    /// The test.
    pub plan: StampPlan,
    /// The key of its packets, where they are authenticated.
    pub key: Option<StampKey>,
    /// The seed of exponential gaps.
    pub seed: u64,
    /// The confidence of intervals.
    pub confidence: f64,
}

/// A test with STAMP that was carried out.
#[derive(Debug)]
pub struct MeasuredStamp {
    /// Its document, and how it ended.
    pub measured: MeasuredRun,
    /// Every packet.
    pub record: EchoRecord,
}

impl StampRequest {
    /// Carries the test out with the reflector at the first of a host's addresses.
    ///
    /// # Errors
    /// When nothing could be measured.
    pub fn measure(
        &self,
        target: &Target,
        control: &mut MeasureControl<'_>,
    ) -> Result<MeasuredStamp, MeasureError> {
        let addresses = target.resolve()?;
        let peer = *addresses.first().ok_or_else(|| target.no_address())?;
        self.measure_at(peer, target, control)
    }

    /// Carries the test out with a reflector of its own at an address of loopback.
    ///
    /// # Errors
    /// When nothing could be measured.
    pub fn measure_here(
        &self,
        loopback: IpAddr,
        target: &Target,
        control: &mut MeasureControl<'_>,
    ) -> Result<MeasuredStamp, MeasureError> {
        let reflector = StampReflectorServer::start(ReflectorOptions {
            bind: Some(loopback),
            scope_id: 0,
            device: None,
            port: 0,
            allow: vec![loopback.into()],
            key: self.key.clone(),
            is_stateless: false,
            answers_short: false,
            per_source: u32::MAX,
        })
        .map_err(|error| match error.os_error() {
            Some(EADDRNOTAVAIL) => MeasureError::NoLoopback(loopback),
            _ => error.into(),
        })?;
        self.measure_at(reflector.local(), target, control)
    }

    fn measure_at(
        &self,
        peer: SocketAddr,
        target: &Target,
        control: &mut MeasureControl<'_>,
    ) -> Result<MeasuredStamp, MeasureError> {
        let keys = StampPlanRecord {
            peer: Some(peer.to_string().into()),
            seed: self.plan.poisson.then_some(self.seed),
            ..StampPlanRecord::from(&self.plan)
        };
        let record = PlanRecord::Stamp(keys);
        control.observer.event(&Event::Agreed(Agreement {
            repeat: None,
            plan: record.clone(),
            changed: Vec::new(),
        }));
        let mut began_ns = None;
        let sender = StampSender {
            plan: &self.plan,
            key: self.key.as_ref(),
            seed: self.seed,
            ssid: ssid(),
            binding: &target.binding,
            interrupt: control.interrupt,
        };
        let observer = &mut control.observer;
        let outcome = sender.run(peer, &mut |event| {
            if matches!(event, Event::Started { .. }) {
                began_ns = Some(realtime_ns());
            }
            observer.event(&event);
        });
        if control.observer.is_unread() {
            return Err(MeasureError::Unread);
        }
        let outcome = outcome.inspect_err(|_| control.observer.abandoned())?;
        let ending = RunEnding::from_cut_short(outcome.cut_short.as_ref());
        let header = control.started.header.clone();
        let (run, record) = assemble(
            outcome,
            (&self.plan, self.confidence),
            record,
            (header, began_ns),
        );
        Ok(MeasuredStamp {
            measured: MeasuredRun {
                run,
                ending,
                peer: peer.ip(),
                arrivals: Vec::new(),
            },
            record,
        })
    }
}

/// `EADDRNOTAVAIL` of Linux.
const EADDRNOTAVAIL: i32 = 99;

/// The identifier of a session, which is not 0: those without one have that.
fn ssid() -> u16 {
    let ns = realtime_ns();
    ((ns ^ (ns >> 16) ^ (ns >> 32)) as u16).max(1)
}
