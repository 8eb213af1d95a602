//! The plan of a round-trip test from its flags.

use super::args::RttArgs;
use crate::args::ProtocolArg;
use crate::exit::Failure;
use crate::plan_failure::plan_failure;
use caudal_core::dscp::Dscp;
use caudal_core::plan::{
    EchoPlan, EchoSchedule, MAX_DATAGRAM, MAX_ECHO_VALUES, MAX_MESSAGES, Transport,
};
use std::time::Duration;

/// The default maximum of the message sizes, which are 2⁰ to 2¹⁶ bytes.
const MAX_DEFAULT_SIZE: u32 = 65_536;
/// The default size on a schedule: enough for the times a message carries.
const SCHEDULED_SIZE: u32 = 64;
/// The default time limit for a reply over UDP.
const UDP_TIMEOUT: Duration = Duration::from_secs(1);
/// The same over TCP: enough for a few retransmissions.
const TCP_TIMEOUT: Duration = Duration::from_secs(10);
/// The default number of messages of each size.
const COUNT: u64 = 1000;
/// No round trip through two kernels takes less.
const MIN_RTT: Duration = Duration::from_micros(4);

/// The plan the flags ask for, and the sizes left out because no datagram can have them.
pub(super) fn plan(args: &RttArgs) -> Result<(EchoPlan, Vec<u32>), Failure> {
    let transport = match args.proto {
        ProtocolArg::Tcp => Transport::Tcp,
        ProtocolArg::Udp => Transport::Udp,
    };
    let schedule = match args.every {
        Some(period) => EchoSchedule::Every {
            period,
            poisson: args.poisson,
        },
        None => EchoSchedule::StopAndWait,
    };
    let asked = match (&args.sizes, args.every) {
        (Some(sizes), _) => sizes.as_slice().to_vec(),
        (None, Some(_)) => vec![SCHEDULED_SIZE],
        (None, None) => (0..=MAX_DEFAULT_SIZE.ilog2())
            .map(|power| 1 << power)
            .collect(),
    };
    let (sizes, left_out): (Vec<u32>, Vec<u32>) = asked
        .into_iter()
        .partition(|size| transport == Transport::Tcp || *size <= MAX_DATAGRAM);
    if sizes.is_empty() {
        return Err(Failure::usage(
            format!("no datagram can have more than {MAX_DATAGRAM} bytes"),
            "give smaller --sizes, or use --proto tcp",
        ));
    }
    if transport == Transport::Udp && (args.nagle || args.congestion.is_some()) {
        let flag = if args.nagle {
            "--nagle"
        } else {
            "--congestion"
        };
        return Err(Failure::usage(
            format!("{flag} is for TCP"),
            "leave it out, or use --proto tcp",
        ));
    }
    let timeout = args.timeout.unwrap_or(match transport {
        Transport::Tcp => TCP_TIMEOUT,
        Transport::Udp => UDP_TIMEOUT,
    });
    let count = count(args, sizes.len())?;
    let plan = EchoPlan {
        transport,
        clients: args.clients,
        sizes,
        count,
        schedule,
        timeout,
        no_delay: !args.nagle,
        congestion: args.congestion.clone(),
        dscp: args.dscp.map(Dscp::get),
        window: args.window,
    };
    plan.check().map_err(|error| plan_failure(&error))?;
    Ok((plan, left_out))
}

/// The number of messages of each size; with a time and no number as many as can be sent in it.
fn count(args: &RttArgs, sizes: usize) -> Result<u64, Failure> {
    let Some(time) = args.time else {
        return Ok(args.count.unwrap_or(COUNT));
    };
    if time.is_zero() {
        return Err(Failure::usage("--time is 0", "it must be longer"));
    }
    if let Some(count) = args.count {
        return Ok(count);
    }
    if sizes > 1 {
        return Err(Failure::usage(
            format!("--time alone does not tell how it is shared by {sizes} sizes"),
            "give --count as well, or one size with --sizes",
        ));
    }
    let (each, values) = match args.every {
        Some(period) => (period, 6),
        None => (MIN_RTT, 1),
    };
    let fits = (time.as_nanos() / each.as_nanos().max(1)).max(1);
    let room = MAX_ECHO_VALUES / (u64::from(args.clients.max(1)) * values);
    Ok(u64::try_from(fits)
        .unwrap_or(u64::MAX)
        .min(room.saturating_sub(1))
        .clamp(1, MAX_MESSAGES))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Exit;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: RttArgs,
    }

    fn args(line: &str) -> RttArgs {
        Line::try_parse_from(std::iter::once("rtt").chain(line.split_whitespace()))
            .unwrap()
            .args
    }

    #[test]
    fn without_flags_the_study_is_repeated() {
        let args = args("");
        assert_eq!(args.output.confidence, 0.98);
        let (plan, left_out) = plan(&args).unwrap();
        assert_eq!(
            (plan.transport, plan.clients, plan.count),
            (Transport::Tcp, 1, 1000)
        );
        assert_eq!(
            (plan.sizes.len(), plan.sizes[16], left_out.len()),
            (17, 65_536, 0)
        );
        assert!(plan.no_delay && !plan.is_scheduled());
    }

    #[test]
    fn sizes_no_datagram_can_have_are_left_out() {
        let (plan, left_out) = plan(&args("--proto udp")).unwrap();
        assert_eq!((plan.sizes.len(), left_out), (16, vec![65_536]));
        assert!(super::plan(&args("--proto udp --sizes 64Ki")).is_err());
    }

    #[test]
    fn what_makes_no_sense_is_bad_usage() {
        for line in [
            "--count 0",
            "--clients 2000",
            "--proto udp --nagle",
            "--count 100000000",
            "--every 1us",
            "--proto udp --every 1ms --sizes 1",
        ] {
            let failure = plan(&args(line)).unwrap_err();
            assert_eq!(failure.exit, Exit::Usage, "{line}");
        }
        for line in ["--poisson", "--table --json", "--json --csv", "--seed 3"] {
            assert!(
                Line::try_parse_from(std::iter::once("rtt").chain(line.split(' '))).is_err(),
                "{line}"
            );
        }
    }
}
