//! The plan of a round-trip test from its flags.

use super::args::RttArgs;
use crate::args::ProtocolArg;
use crate::exit::Failure;
use crate::measure_failure::plan_failure;
use caudal_core::marks::Dscp;
use caudal_core::plan::{
    EchoPlan, EchoSchedule, MAX_DATAGRAM, MAX_ECHO_VALUES, MAX_MESSAGES, MIN_INTERVAL, Transport,
};
use caudal_core::units::format_duration;
use std::time::Duration;

/// Maximum of the message sizes of a sweep, which are 2⁰ to 2¹⁶ bytes.
const MAX_SWEEP_SIZE: u32 = 65_536;
/// The default size: that of a ping, and enough for the times a message carries.
const SIZE: u32 = 64;
/// The default duration of a test of one size.
const TIME: Duration = Duration::from_secs(10);
/// The default time limit for a reply over UDP.
const UDP_TIMEOUT: Duration = Duration::from_secs(1);
/// The same over TCP: enough for a few retransmissions.
const TCP_TIMEOUT: Duration = Duration::from_secs(10);
/// The default number of messages of each size.
const COUNT: u64 = 1000;
/// No round trip through two kernels takes less.
const MIN_RTT: Duration = Duration::from_micros(4);

/// A round-trip test as the flags ask for it.
#[derive(Debug)]
pub(super) struct EchoTest {
    /// The plan.
    pub(super) plan: EchoPlan,
    /// The time after which it ends, however many messages remain.
    pub(super) time: Option<Duration>,
    /// The sizes left out because no datagram can have them.
    pub(super) left_out: Vec<u32>,
}

/// The message sizes that are asked for.
fn sizes(args: &RttArgs) -> Result<Vec<u32>, Failure> {
    match (&args.length, &args.sizes) {
        (Some(length), _) => u32::try_from(length.get())
            .map(|size| vec![size])
            .map_err(|_| Failure::usage(format!("--length {length} is too large"), "at most 16Mi")),
        (None, Some(sizes)) => Ok(sizes.as_slice().to_vec()),
        (None, None) if args.sweep => Ok((0..=MAX_SWEEP_SIZE.ilog2())
            .map(|power| 1 << power)
            .collect()),
        (None, None) => Ok(vec![SIZE]),
    }
}

/// The time after which the test ends; `None` when it ends with its messages.
fn time(args: &RttArgs) -> Option<Duration> {
    let ends_with_messages = args.count.is_some() || args.sizes.is_some() || args.sweep;
    args.time.or((!ends_with_messages).then_some(TIME))
}

/// Checks the time between rows.
fn check_interval(args: &RttArgs) -> Result<(), Failure> {
    if args.interval >= MIN_INTERVAL {
        return Ok(());
    }
    Err(Failure::usage(
        format!("--interval is {}", format_duration(args.interval)),
        format!("it must be at least {}", format_duration(MIN_INTERVAL)),
    ))
}

/// The test the flags ask for.
pub(super) fn echo_test(args: &RttArgs) -> Result<EchoTest, Failure> {
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
    let (sizes, left_out): (Vec<u32>, Vec<u32>) = sizes(args)?
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
    check_interval(args)?;
    let time = time(args);
    let count = count(args, time, sizes.len())?;
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
    Ok(EchoTest {
        plan,
        time,
        left_out,
    })
}

/// The number of messages of each size; with a time and no number as many as can be sent in it.
fn count(args: &RttArgs, time: Option<Duration>, sizes: usize) -> Result<u64, Failure> {
    let Some(time) = time else {
        return Ok(args.count.unwrap_or(COUNT));
    };
    if time.is_zero() {
        return Err(Failure::usage(
            "--time is 0, and a round-trip test keeps every message: it has no room for one until ^C",
            "give a time such as 1h",
        ));
    }
    if let Some(count) = args.count {
        return Ok(count);
    }
    if sizes > 1 {
        return Err(Failure::usage(
            format!("--time alone does not tell how it is shared by {sizes} sizes"),
            "give --count as well, or one size with --length",
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

    fn test(line: &str) -> EchoTest {
        echo_test(&args(line)).unwrap()
    }

    #[test]
    fn without_flags_one_size_is_measured_for_ten_seconds() {
        let test = test("");
        assert_eq!(args("").output.confidence, 0.95);
        assert_eq!(
            (test.plan.transport, test.plan.clients, test.plan.sizes),
            (Transport::Tcp, 1, vec![64])
        );
        assert_eq!(test.time, Some(Duration::from_secs(10)));
        assert!(test.plan.count > 1_000_000, "{}", test.plan.count);
        assert!(test.plan.no_delay && test.left_out.is_empty());
        let scheduled = super::echo_test(&args("--every 10ms")).unwrap();
        assert_eq!((scheduled.plan.count, scheduled.time), (1000, Some(TIME)));
    }

    #[test]
    fn a_sweep_is_1000_messages_of_each_of_17_sizes() {
        let test = test("--sweep");
        assert_eq!((test.plan.count, test.time), (1000, None));
        assert_eq!(
            (test.plan.sizes.len(), test.plan.sizes[16]),
            (17, MAX_SWEEP_SIZE)
        );
        let same = super::echo_test(&args("--sizes 1..64Ki")).unwrap();
        assert_eq!(same.plan.sizes, test.plan.sizes);
    }

    #[test]
    fn a_number_or_a_list_ends_the_test_instead_of_a_time() {
        for (line, sizes, count) in [
            ("--count 5", vec![64], 5),
            ("-l 1Ki --count 5", vec![1024], 5),
            ("--sizes 64", vec![64], 1000),
            ("--sizes 1,2 --count 7", vec![1, 2], 7),
        ] {
            let test = test(line);
            assert_eq!((test.plan.sizes, test.plan.count), (sizes, count), "{line}");
            assert_eq!(test.time, None, "{line}");
        }
        assert_eq!(test("--count 5 -t 3").time, Some(Duration::from_secs(3)));
    }

    #[test]
    fn sizes_no_datagram_can_have_are_left_out() {
        let test = test("--proto udp --sweep");
        assert_eq!((test.plan.sizes.len(), test.left_out), (16, vec![65_536]));
        assert!(echo_test(&args("--proto udp --sizes 64Ki")).is_err());
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
            "-t 0",
            "-l 0",
            "-l 17Mi",
            "-i 1ms",
            "--sweep -t 5",
        ] {
            let failure = echo_test(&args(line)).unwrap_err();
            assert_eq!(failure.exit, Exit::Usage, "{line}");
        }
        for line in [
            "--poisson",
            "--table --json",
            "--json --csv",
            "--seed 3",
            "-n 5",
            "--sweep -l 1",
        ] {
            assert!(
                Line::try_parse_from(std::iter::once("rtt").chain(line.split(' '))).is_err(),
                "{line}"
            );
        }
    }
}
