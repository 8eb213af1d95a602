//! The flows of a case as tasks of processes.

use std::path::{Path, PathBuf};

use caudal_core::plan::{Direction, FileProtocol, Transport};
use caudal_core::units::ByteCount;
use caudal_engine::PORT;
use caudal_experiment::{Case, DEFAULT_MESSAGES, FlowKindFile, FlowSpec, PathScope};

use super::active_testbed::ActiveTestbed;
use super::program::{BulkEnd, BulkTask, EchoTask, FileTask, FlowTask, FlowTraffic, PathTask};
use super::setup::TrialSetup;
use crate::error::StudyError;
use crate::flow_times::{FlowTimes, message_sizes, probing_time};
use crate::testbed::{Testbed, is_echo, offered_rate};

/// The size of echo messages of a flow that names none.
const DEFAULT_SIZES: &str = "64";

/// The server of a flow, as its client sees it.
struct FlowServer {
    host: String,
    port: u16,
    /// The direction of a bulk transfer, seen from the client.
    direction: Direction,
}

impl ActiveTestbed {
    /// The task of a flow that starts at `start_ns` since 1970, and writes the samples of an echo flow to `samples`.
    ///
    /// # Errors
    /// When its server or its rate is not known.
    pub(super) fn flow_task(
        &self,
        setup: &TrialSetup<'_>,
        flow: &FlowSpec,
        start_ns: u64,
        samples: &Path,
    ) -> Result<FlowTask, StudyError> {
        let server = self.flow_server(setup, flow)?;
        let traffic = match (flow.via, flow.bytes) {
            _ if flow.path.is_some() => FlowTraffic::Path(path_task(setup.case, flow)),
            (Some(via), Some(bytes)) => {
                FlowTraffic::File(file_task(setup, flow, (via, bytes), server.direction)?)
            }
            _ if is_echo(flow) => {
                FlowTraffic::Echo(echo_task(setup.case, flow, samples.to_owned()))
            }
            _ => FlowTraffic::Bulk(bulk_task(setup, flow, server.direction)?),
        };
        Ok(FlowTask {
            host: server.host,
            port: server.port,
            connections: flow.count,
            start_ns,
            congestion: flow.congestion.clone(),
            window: flow.window,
            dscp: flow.dscp,
            traffic,
        })
    }

    fn flow_server(
        &self,
        setup: &TrialSetup<'_>,
        flow: &FlowSpec,
    ) -> Result<FlowServer, StudyError> {
        let (host, port, direction) = match (self, setup.testbed) {
            (Self::Loopback(server), _) => {
                ("127.0.0.1".to_owned(), server.local().port(), Direction::Up)
            }
            (_, Testbed::Lab(network)) => {
                let node = network.topology.node(&flow.to);
                let addresses = node
                    .map(|node| network.topology.addresses_of(node))
                    .unwrap_or_default();
                let address = addresses.first().ok_or_else(|| StudyError::NoAddress {
                    host: flow.to.clone(),
                })?;
                (address.to_string(), PORT, Direction::Up)
            }
            (_, Testbed::Hosts { at, .. }) => match (at.get(&flow.to), at.get(&flow.from)) {
                (Some(receiver), _) => (receiver.host.clone(), receiver.port, Direction::Up),
                (None, Some(sender)) => (sender.host.clone(), sender.port, Direction::Down),
                (None, None) => return Err(no_other_host(flow)),
            },
            (_, Testbed::Loopback) => return Err(no_other_host(flow)),
        };
        Ok(FlowServer {
            host,
            port,
            direction,
        })
    }
}

fn no_other_host(flow: &FlowSpec) -> StudyError {
    StudyError::NoOtherHost {
        flow: flow.name.clone(),
    }
}

fn bulk_task(
    setup: &TrialSetup<'_>,
    flow: &FlowSpec,
    direction: Direction,
) -> Result<BulkTask, StudyError> {
    let rate_bps =
        offered_rate(flow, setup.testbed).map_err(|problem| StudyError::UnknownRate { problem })?;
    let times = FlowTimes::new(setup.case, flow);
    let end = match (times.time, flow.bytes) {
        (None, Some(bytes)) => BulkEnd::Bytes(bytes),
        (time, _) => BulkEnd::Time {
            measure: time.unwrap_or(setup.case.measure),
            omit: times.omit,
        },
    };
    Ok(BulkTask {
        transport: match flow.kind {
            FlowKindFile::Udp => Transport::Udp,
            _ => Transport::Tcp,
        },
        direction,
        rate_bps,
        interval: setup.case.interval,
        length: flow.length,
        mss: flow.mss,
        end,
    })
}

fn file_task(
    setup: &TrialSetup<'_>,
    flow: &FlowSpec,
    (via, bytes): (FileProtocol, ByteCount),
    direction: Direction,
) -> Result<FileTask, StudyError> {
    let rate_bps =
        offered_rate(flow, setup.testbed).map_err(|problem| StudyError::UnknownRate { problem })?;
    Ok(FileTask {
        via,
        direction,
        bytes,
        write_bytes: flow.length,
        packet_bytes: flow.packet,
        mss: flow.mss,
        nagle: flow.nagle,
        rate_bps,
    })
}

fn path_task(case: &Case, flow: &FlowSpec) -> PathTask {
    let probing = flow.path;
    PathTask {
        measure: probing.map_or(PathScope::Links, |path| path.measure),
        time: probing_time(case, flow),
        accuracy: probing.and_then(|path| path.accuracy),
        primers: probing.and_then(|path| path.primers),
        routes: probing.is_some_and(|path| path.routes),
    }
}

fn echo_task(case: &Case, flow: &FlowSpec, samples: PathBuf) -> EchoTask {
    let time = FlowTimes::new(case, flow).time;
    let count = flow
        .messages
        .filter(|messages| time.is_none() || flow.every.is_some() || *messages != DEFAULT_MESSAGES);
    EchoTask {
        transport: match flow.kind {
            FlowKindFile::RttUdp => Transport::Udp,
            _ => Transport::Tcp,
        },
        sizes: flow
            .sizes
            .clone()
            .or(flow.length.map(|length| length.to_string()))
            .unwrap_or_else(|| DEFAULT_SIZES.to_owned()),
        period: flow.every,
        time,
        count: count.or_else(|| time.is_none().then(|| messages_that_fit(case, flow))),
        samples,
    }
}

/// The number of messages of each of several sizes on a schedule that fit in the time of the measurement.
fn messages_that_fit(case: &Case, flow: &FlowSpec) -> u64 {
    let sizes = message_sizes(flow).len().max(1) as u128;
    let fit = flow
        .every
        .map(|every| case.measure.as_nanos() / (every.as_nanos().max(1) * sizes));
    fit.map_or(DEFAULT_MESSAGES, |fit| {
        u64::try_from(fit).unwrap_or(u64::MAX).max(1)
    })
}
