//! What the flags ask to be measured of a path.

use super::args::NetworkPathArgs;
use super::target::{ResolvedTarget, resolve_host};
use crate::args::TargetArgs;
use crate::exit::Failure;
use crate::token_file::read_token;
use caudal_engine::{LocalBinding, PORT, Protocol, Target};
use caudal_measure::{
    EndsRequest, FlowsRequest, ObservationRequest, PathRequest, PeerRequest, ServerChoice,
    WindowTestRequest,
};
use caudal_probe::prober::PathSettings;
use caudal_sys::clock::realtime_ns;
use std::net::{SocketAddr, SocketAddrV6};
use std::time::Duration;

/// The largest probe, bytes: what is beyond it on loopback-like devices is no link's frame.
const MAX_PROBE: u32 = 9_216;
/// The time after which probing without capacities ends.
const TIME_OF_HOPS: Duration = Duration::from_secs(10);

/// What the flags ask for.
///
/// # Errors
/// When the file with the token cannot be read.
pub(super) fn path_request(
    args: &NetworkPathArgs,
    target: &ResolvedTarget,
) -> Result<PathRequest, Failure> {
    let ends = args.measures_both_ends().then(|| ends(args, target));
    Ok(PathRequest {
        host: args.host.host.clone(),
        scope: target.scope,
        interface: target.route.interface.clone(),
        bind: args.bind,
        probing: settings(args, target),
        names: !args.numeric,
        marks: args.marks.then(|| args.dscp.get()),
        flows: args.flows.map(|count| FlowsRequest {
            count,
            server: flow_server(args, target),
        }),
        ends: ends.transpose()?,
    })
}

/// The probing of the path to the server of a test: hops and path MTU, without capacities and other routes.
///
/// # Errors
/// When the path cannot be probed.
pub fn path_without_capacities(
    target: &TargetArgs,
    confidence: f64,
) -> Result<PathRequest, Failure> {
    let Some(host) = &target.host else {
        return Err(Failure::usage(
            "there is no path to this machine",
            "name a host on the network",
        ));
    };
    let bind = target.bind.map(|local| local.address);
    let resolved = resolve_host(host, target.target().family, bind)?;
    let probing = PathSettings {
        time: TIME_OF_HOPS,
        confidence,
        routes: false,
        capacity: false,
        ..PathSettings::new(resolved.address, resolved.mtu.min(MAX_PROBE), realtime_ns())
    };
    Ok(PathRequest {
        host: host.host.clone(),
        scope: resolved.scope,
        interface: resolved.route.interface,
        bind,
        probing,
        names: false,
        marks: None,
        flows: None,
        ends: None,
    })
}

fn settings(args: &NetworkPathArgs, target: &ResolvedTarget) -> PathSettings {
    // The seed decides on the order of probes only.
    let seed = realtime_ns();
    PathSettings {
        max_ttl: args.max_ttl,
        time: args.time_of_probing(),
        patience: args.patience(),
        accuracy: args.accuracy,
        confidence: args.output.confidence,
        routes: !args.no_routes && !args.is_duplex_only(),
        mtu: !args.no_mtu,
        capacity: !args.no_capacity && !args.is_duplex_only(),
        watch: args.watch.then_some(args.interval),
        primers: args.primers,
        ..PathSettings::new(target.address, target.mtu.min(MAX_PROBE), seed)
    }
}

/// The address that flows of several source ports go to.
fn flow_server(args: &NetworkPathArgs, target: &ResolvedTarget) -> SocketAddr {
    match SocketAddr::new(target.address, args.port.unwrap_or(PORT)) {
        SocketAddr::V6(v6) => SocketAddrV6::new(*v6.ip(), v6.port(), 0, target.scope).into(),
        v4 => v4,
    }
}

/// What both ends are asked for.
fn ends(args: &NetworkPathArgs, target: &ResolvedTarget) -> Result<EndsRequest, Failure> {
    let token = args.token_file.as_deref().map(read_token).transpose()?;
    let server = Target {
        // A name may have several addresses, and one of them is probed.
        host: match target.scope {
            0 => target.address.to_string(),
            scope => format!("{}%{scope}", target.address),
        },
        port: args.host.port.or(args.port).unwrap_or(PORT),
        family: None,
        binding: LocalBinding {
            address: args.bind,
            ..LocalBinding::default()
        },
        token,
    };
    Ok(EndsRequest {
        server: PeerRequest {
            server: ServerChoice::Speaking(Protocol::Native, server),
            observation: ObservationRequest::default(),
        },
        is_required: args.needs_peer(),
        tells_own_duplex: args.duplex,
        rough: args.is_duplex_only(),
        available: !args.no_available && !args.is_duplex_only(),
        duplex: !args.no_duplex,
        throughput: args.rfc6349.then(|| WindowTestRequest {
            run: args.run_time,
            flows: args.parallel,
            congestion: args.congestion.clone(),
        }),
        confidence: args.output.confidence,
        seed: realtime_ns(),
    })
}
