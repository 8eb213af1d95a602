//! `caudal udp`.

use super::find_rate::{TRIAL, find_rate};
use super::measure::measure;
use super::plan::{Settings, bulk_plan, check, check_local, is_endless, length};
use crate::args::UdpArgs;
use crate::capture::TestObservation;
use crate::exit::{Exit, Failure};
use crate::output::views::Views;
use crate::peer::CommandPeer;
use caudal_core::plan::{MAX_DATAGRAM, MIN_DATAGRAM, Plan, TestEnd, UdpPlan};
use caudal_engine::peer::PeerInfo;
use caudal_engine::{LocalOptions, Protocol};
use caudal_sys::signal::Interrupt;

/// The payload that fits an Ethernet frame after IPv6 and timestamps would be smaller; this fits IPv4 and IPv6, bytes.
const DATAGRAM: u32 = 1448;
/// The path MTU where the kernel knows none, bytes.
const MTU: u32 = 1500;
/// The maximum datagram size a server of iperf 2 reads by default, bytes: the rest of longer ones would be lost.
const IPERF2_DATAGRAM: u32 = 1470;

/// Runs `caudal udp`.
///
/// # Errors
/// When nothing could be measured.
pub fn udp(args: &UdpArgs, interrupt: &'static Interrupt) -> Result<Exit, Failure> {
    args.target.check()?;
    args.traffic.capture.check([
        ("--output", args.output.output.as_deref()),
        ("--token-file", args.target.token_file.as_deref()),
    ])?;
    check_local(&args.traffic)?;
    if let (Some(at), None) = (args.traffic.at, args.find_rate) {
        at.approach(interrupt)?;
    }
    if args.find_rate.is_some() && is_endless(&args.traffic) {
        return Err(Failure::usage(
            "--time 0 is a test until ^C, and each trial of --find-rate has to end",
            "give --time 2s, or leave it out",
        ));
    }
    let asked = args.length.map(length).transpose()?;
    let mut plan = UdpPlan {
        bulk: bulk_plan(&args.traffic, asked.unwrap_or(DATAGRAM), args.rate()),
        verify: args.verify,
        pacing: args.pacing.into(),
    };
    check(&Plan::Udp(plan.clone()))?;
    let settings = Settings {
        target: &args.target,
        traffic: &args.traffic,
        output: &args.output,
        local: LocalOptions {
            affinity: args.traffic.affinity.clone(),
            start_at_ns: args.traffic.at.map(|at| at.0),
            ..LocalOptions::default()
        },
    };
    let views = Views::open(&args.output, false)?;
    let observation = TestObservation::prepare(&args.traffic.capture, &args.target)?;
    let mut peer = CommandPeer::connect_as(&args.target, args.traffic.protocol, interrupt)?;
    if asked.is_none() {
        plan.bulk.length = datagram_length(peer.info(), args.traffic.protocol);
    }
    let Some(limit) = args.find_rate else {
        return measure(
            &mut peer,
            Plan::Udp(plan),
            &settings,
            (observation, views),
            interrupt,
        );
    };
    if args.traffic.time.is_none() {
        plan.bulk.end = TestEnd::Time(TRIAL);
    }
    find_rate(
        &mut peer,
        plan,
        &settings,
        limit,
        args.rate(),
        (observation, views),
        interrupt,
    )
}

/// The datagram that fills the path, bytes; over loopback one that fits a network too.
fn datagram_length(peer: &PeerInfo, protocol: Option<Protocol>) -> u32 {
    let headers = 8 + peer.ip_version().header_bytes() as u32;
    let path_mtu = peer.path_mtu.unwrap_or(MTU);
    let mtu = if peer.is_loopback() {
        path_mtu.min(MTU)
    } else {
        path_mtu
    };
    let max = if protocol == Some(Protocol::Iperf2) {
        IPERF2_DATAGRAM
    } else {
        MAX_DATAGRAM
    };
    mtu.saturating_sub(headers).clamp(MIN_DATAGRAM, max)
}
