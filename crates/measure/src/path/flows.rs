//! How the path treats flows of several source ports, over TCP and UDP.

use super::idle_peer::IdlePeer;
use caudal_core::path::{DroppedFlow, FlowHop, PathFlows, PathReport};
use caudal_core::plan::Transport;
use caudal_core::warning::{Warning, WarningCode};
use caudal_engine::{FlowSurvey, LocalBinding, RunError, SurveyedFlow};
use caudal_probe::flow_answers::{FlowAnswers, FlowTries, paths_met};
use caudal_sys::signal::Interrupt;
use std::cell::RefCell;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;

/// The confidence with which the flows meet a path.
const CONFIDENCE: f64 = 0.95;
/// Maximum number of dropped flows whose last hop is looked for, which takes seconds for each.
const MAX_TRACED: usize = 2;

/// Flows of several source ports that are to be tried.
#[derive(Debug, Clone, Copy)]
pub struct FlowsRequest {
    /// The number of source ports.
    pub count: u32,
    /// The address and port they go to.
    pub server: SocketAddr,
}

/// Tries flows of several source ports, over both protocols.
///
/// # Errors
/// When no flow can be tried, or the user interrupts.
pub(super) fn flows(
    request: &FlowsRequest,
    bind: Option<IpAddr>,
    report: &PathReport,
    peer: &mut IdlePeer,
    interrupt: &'static Interrupt,
) -> Result<Vec<PathFlows>, RunError> {
    let binding = LocalBinding {
        address: bind,
        ..LocalBinding::default()
    };
    let peer = RefCell::new(peer);
    let is_over = || {
        peer.borrow_mut().keep_alive();
        interrupt.count() > 0
    };
    let survey = FlowSurvey::new(request.server, binding, request.count, &is_over);
    let max_ttl = report.hops.len().min(30) as u8;
    let found = [Transport::Tcp, Transport::Udp].map(|transport| -> Result<_, RunError> {
        let tried = survey.carry_out(transport)?;
        judged(&survey, transport, request.server.port(), &tried, max_ttl)
    });
    found.into_iter().collect()
}

fn judged(
    survey: &FlowSurvey<'_>,
    transport: Transport,
    port: u16,
    tried: &[SurveyedFlow],
    max_ttl: u8,
) -> Result<PathFlows, RunError> {
    let tries: Vec<FlowTries> = tried
        .iter()
        .map(|flow| FlowTries {
            source_port: flow.source_port,
            answered: flow.answered.iter().copied().map(Some).collect(),
        })
        .collect();
    let (dropped, undecided) = match FlowAnswers::of(&tries) {
        FlowAnswers::Unanswered => (Vec::new(), Vec::new()),
        FlowAnswers::Answered { dropped, undecided } => (dropped, undecided),
    };
    let mut flows = Vec::new();
    for (nth, source_port) in dropped.into_iter().enumerate() {
        let last_hop = if transport == Transport::Udp && nth < MAX_TRACED {
            survey.last_hop(source_port, max_ttl)?
        } else {
            None
        };
        flows.push(DroppedFlow {
            source_port,
            last_hop: last_hop.map(|(ttl, address)| FlowHop { ttl, address }),
        });
    }
    let count = NonZeroU32::new(tried.len() as u32);
    Ok(PathFlows {
        transport,
        port,
        tried: tried.len() as u32,
        answered: tried
            .iter()
            .filter(|flow| flow.answered.contains(&true))
            .count() as u32,
        dropped: flows,
        undecided,
        paths_met: count
            .and_then(|count| paths_met(count, CONFIDENCE))
            .unwrap_or(1),
    })
}

/// The warnings about flows that the path drops.
pub(super) fn warnings(flows: &[PathFlows]) -> Vec<Warning> {
    flows
        .iter()
        .filter(|flows| flows.is_uneven())
        .map(|flows| Warning::new(WarningCode::FlowsDropped, flows.to_string()))
        .collect()
}
