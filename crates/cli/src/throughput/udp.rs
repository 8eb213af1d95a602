//! `caudal udp`.

use super::plan::{bulk_plan, check, check_local, is_endless, length, local_options};
use super::run::{find_rate, run_bulk};
use crate::args::UdpArgs;
use crate::exit::{Exit, Failure};
use caudal_core::plan::{Plan, TestEnd, UdpPlan};
use caudal_measure::{BulkRequest, DatagramLength, UdpRequest};
use caudal_sys::signal::Interrupt;
use std::time::Duration;

/// The payload that fits an Ethernet frame after IPv6 and timestamps would be smaller; this fits IPv4 and IPv6, bytes.
const DATAGRAM: u32 = 1448;
/// The default duration of each trial of a search.
const TRIAL: Duration = Duration::from_secs(2);

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
        ecn: args.ecn,
    };
    check(&Plan::Udp(plan.clone()))?;
    let length = match asked {
        Some(_) => DatagramLength::OfPlan,
        None => DatagramLength::FitsPath,
    };
    let local = local_options(&args.traffic);
    let flags = (&args.target, &args.traffic, &args.output);
    let Some(limit) = args.find_rate else {
        let bulk = BulkRequest::Udp(UdpRequest { plan, length });
        return run_bulk(bulk, local, flags, interrupt);
    };
    if args.traffic.time.is_none() {
        plan.bulk.end = TestEnd::Time(TRIAL);
    }
    find_rate(UdpRequest { plan, length }, limit, local, flags, interrupt)
}
