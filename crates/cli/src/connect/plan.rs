//! The plan of a test of the connection rate from its flags.

use super::args::ConnectArgs;
use crate::exit::Failure;
use crate::measure_failure::plan_failure;
use caudal_core::marks::Dscp;
use caudal_core::plan::ConnectPlan;
use std::time::Duration;

/// Maximum of `--rate`, connections per second.
const MAX_RATE: f64 = 1e6;
/// Minimum of `--rate`: one an hour.
const MIN_RATE: f64 = 1.0 / 3600.0;

/// The plan that the flags ask for.
pub(super) fn connect_plan(args: &ConnectArgs) -> Result<ConnectPlan, Failure> {
    let period = match args.rate {
        None => None,
        Some(rate) if (MIN_RATE..=MAX_RATE).contains(&rate) => {
            Some(Duration::from_secs_f64(1.0 / rate))
        }
        Some(rate) => {
            return Err(Failure::usage(
                format!("--rate is {rate} connections per second"),
                format!("it must lie between {MIN_RATE:.5} (one an hour) and {MAX_RATE:.0}"),
            ));
        }
    };
    let plan = ConnectPlan {
        parallel: args.parallel,
        time: args.time,
        count: args.count,
        interval: args.interval,
        period,
        timeout: args.timeout,
        tls: args.tls,
        certificate: None,
        dscp: args.dscp.map(Dscp::get),
    };
    plan.check().map_err(|error| plan_failure(&error))?;
    Ok(plan)
}

/// The plan at a server that is neither of caudal nor the user's: at most one connection a second.
///
/// # Errors
/// When more were asked for.
pub(super) fn at_stranger(mut plan: ConnectPlan, host: &str) -> Result<ConnectPlan, Failure> {
    const PERIOD: Duration = Duration::from_secs(1);
    if plan.period.is_some_and(|period| period < PERIOD) {
        return Err(Failure::usage(
            format!(
                "--rate asks for more than one connection a second at {host}, which is not known to be yours"
            ),
            "add --my-server if it is, or run `caudal serve` there",
        ));
    }
    plan.period.get_or_insert(PERIOD);
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use crate::exit::Exit;
    use clap::Parser;

    fn plan(line: &str) -> Result<ConnectPlan, Failure> {
        let words = ["caudal", "connect"].into_iter().chain(line.split(' '));
        let cli = Cli::try_parse_from(words.filter(|word| !word.is_empty())).unwrap();
        let Command::Connect(args) = cli.command else {
            panic!("another command");
        };
        connect_plan(&args)
    }

    #[test]
    fn the_flags_make_a_plan() {
        let found = plan("far -P 8 -b 50 --tls --count 100 -t 3s --dscp EF").unwrap();
        assert_eq!(found.period, Some(Duration::from_millis(20)));
        assert_eq!((found.parallel, found.count), (8, Some(100)));
        assert!(found.tls && found.dscp == Some(46));
    }

    #[test]
    fn numbers_out_of_range_are_bad_usage() {
        for line in [
            "-b 0",
            "-b -3",
            "-b nan",
            "-b 1e9",
            "-P 0",
            "-t 0s",
            "--count 0",
            "--timeout 0s",
            "-i 0s",
        ] {
            let failure = plan(line).unwrap_err();
            assert_eq!(failure.exit, Exit::Usage, "{line}: {}", failure.message);
        }
    }

    #[test]
    fn a_stranger_s_server_gets_at_most_one_connection_a_second() {
        let asked = |line| at_stranger(plan(line).unwrap(), "example.com");
        assert_eq!(asked("").unwrap().period, Some(Duration::from_secs(1)));
        assert_eq!(
            asked("-b 0.5").unwrap().period,
            Some(Duration::from_secs(2))
        );
        assert_eq!(asked("-b 2").unwrap_err().exit, Exit::Usage);
    }
}
