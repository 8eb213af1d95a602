//! The plan of a test with STAMP from its flags.

use super::args::{ExtensionChoice, StampArgs};
use crate::exit::Failure;
use crate::measure_failure::plan_failure;
use caudal_core::marks::Dscp;
use caudal_core::plan::StampPlan;
use caudal_core::stamp::StampExtension;
use caudal_foreign::stamp::stamp_bytes;
use std::time::Duration;

/// The default duration.
const TIME: Duration = Duration::from_secs(10);
/// Bytes of the header of padding.
const PADDING_HEADER: u32 = 4;

/// The plan that the flags ask for.
pub(super) fn stamp_plan(args: &StampArgs) -> Result<StampPlan, Failure> {
    let is_authenticated = args.key_file.is_some();
    let length = args.length;
    let length = length.map(|length| u32::try_from(length.get()).unwrap_or(u32::MAX));
    let extensions = extensions(args, length, is_authenticated)?;
    let least = stamp_bytes(&extensions, is_authenticated);
    let length = length.unwrap_or(least);
    check_length(length, least, is_authenticated)?;
    let time = args.time.unwrap_or(TIME);
    let period = args.every.max(Duration::from_nanos(1));
    let count = args.count.unwrap_or_else(|| {
        let count = time.as_nanos().div_ceil(period.as_nanos());
        u64::try_from(count).unwrap_or(u64::MAX)
    });
    let plan = StampPlan {
        count,
        period: args.every,
        poisson: args.poisson,
        length,
        timeout: args.timeout,
        interval: args.interval,
        dscp: args.dscp.map(Dscp::get),
        extensions,
        is_authenticated,
    };
    plan.check().map_err(|error| plan_failure(&error))?;
    Ok(plan)
}

/// The extensions to ask for, in their order.
fn extensions(
    args: &StampArgs,
    length: Option<u32>,
    is_authenticated: bool,
) -> Result<Vec<StampExtension>, Failure> {
    let asked = &args.extensions;
    if asked.is_empty() {
        let mut usual = vec![StampExtension::DirectMeasurement];
        usual.extend(
            args.dscp
                .is_some()
                .then_some(StampExtension::ClassOfService),
        );
        // A length that was asked for without extensions is that of a packet without them.
        let fits = length.is_none_or(|length| {
            let least = stamp_bytes(&usual, is_authenticated);
            length == least || length >= least + PADDING_HEADER
        });
        return Ok(if fits { usual } else { Vec::new() });
    }
    if asked.contains(&ExtensionChoice::None) && asked.len() > 1 {
        return Err(Failure::usage(
            "--extensions names some, and none",
            "give the names, or none",
        ));
    }
    let is_asked = |one: &StampExtension| {
        asked.contains(&ExtensionChoice::All) || asked.contains(&ExtensionChoice::One(*one))
    };
    Ok(StampExtension::ALL.into_iter().filter(is_asked).collect())
}

/// Checks that a packet can have this length with what it has to have at least.
fn check_length(length: u32, least: u32, is_authenticated: bool) -> Result<(), Failure> {
    let is_short = length < least;
    let open = stamp_bytes(&[], false);
    if is_short && !is_authenticated && least == open {
        // TWAMP-Light has shorter ones.
        return Ok(());
    }
    if is_short {
        return Err(Failure::usage(
            format!("--length {length} has no room for the {least} bytes that these packets take"),
            "give a greater length, or fewer --extensions",
        ));
    }
    if length > least && length < least + PADDING_HEADER {
        return Err(Failure::usage(
            format!(
                "no packet has --length {length}: padding begins with a header of {PADDING_HEADER} bytes"
            ),
            format!("give {least}, or {} and more", least + PADDING_HEADER),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use crate::exit::Exit;
    use clap::Parser;

    fn plan(line: &str) -> Result<StampPlan, Failure> {
        let words = ["caudal", "stamp"].into_iter().chain(line.split(' '));
        let cli = Cli::try_parse_from(words.filter(|word| !word.is_empty())).unwrap();
        let Command::Stamp(args) = cli.command else {
            panic!("another command");
        };
        stamp_plan(&args)
    }

    #[test]
    fn the_flags_make_a_plan() {
        use StampExtension::{ClassOfService, DirectMeasurement};
        for (line, count, length, extensions) in [
            ("far", 1000, 60, vec![DirectMeasurement]),
            (
                "far --dscp EF",
                1000,
                68,
                vec![DirectMeasurement, ClassOfService],
            ),
            ("far -l 44", 1000, 44, vec![]),
            ("far -l 14 --count 7", 7, 14, vec![]),
            (
                "far -l 1472 -t 1 --every 20ms",
                50,
                1472,
                vec![DirectMeasurement],
            ),
            ("far --extensions none", 1000, 44, vec![]),
            (
                "far --extensions class-of-service,direct-measurement",
                1000,
                68,
                vec![DirectMeasurement, ClassOfService],
            ),
            (
                "far --extensions all",
                1000,
                150,
                StampExtension::ALL.to_vec(),
            ),
            ("far --key-file x --extensions none", 1000, 112, vec![]),
            ("far --key-file x", 1000, 148, vec![DirectMeasurement]),
        ] {
            let found = plan(line).unwrap();
            assert_eq!((found.count, found.length), (count, length), "{line}");
            assert_eq!(found.extensions, extensions, "{line}");
        }
    }

    #[test]
    fn what_no_packet_can_be_is_bad_usage() {
        for line in [
            "far -l 13",
            "far -l 45",
            "far -l 70000",
            "far -l 50 --extensions direct-measurement",
            "far -l 62 --extensions direct-measurement",
            "far -l 44 --key-file x",
            "far --extensions none,location",
            "far --every 1us",
            "far --every 0s",
            "far --count 0",
            "far -t 100h --every 1ms",
            "far -i 0s",
            "far --timeout 0s",
        ] {
            let failure = plan(line).unwrap_err();
            assert_eq!(failure.exit, Exit::Usage, "{line}: {}", failure.message);
        }
    }
}
