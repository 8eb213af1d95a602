//! Latency under load between both ends, as `caudal quality` measures it.

use super::request::ThroughputRequest;
use crate::args::{OutputArgs, TargetArgs};
use crate::exit::Failure;
use crate::invocation::started_run;
use crate::peer::CommandPeer;
use crate::quality::{QualityArgs, measure_quality};
use caudal_core::run::Run;
use caudal_sys::signal::Interrupt;

/// Measures latency under load with the server: the run of `caudal quality`.
///
/// # Errors
/// When nothing could be measured.
pub(super) fn measure_latency(
    peer: &mut CommandPeer,
    asked: &ThroughputRequest,
    confidence: f64,
    interrupt: &'static Interrupt,
) -> Result<Run, Failure> {
    let args = QualityArgs {
        // The server is connected already.
        target: TargetArgs {
            host: None,
            port: None,
            ipv4: false,
            ipv6: false,
            token_file: None,
            bind: None,
            device: None,
        },
        idle: asked.run / 2,
        time: asked.run,
        omit: None,
        parallel: asked.flows,
        congestion: asked.congestion.clone(),
        dscp: None,
        output: OutputArgs {
            confidence,
            ..OutputArgs::default()
        },
    };
    measure_quality(peer, &args, started_run().header, interrupt)
}
