//! `caudal tcp`.

use super::plan::{bulk_plan, check, check_local, length, local_options};
use super::run::run_bulk;
use crate::args::TcpArgs;
use crate::exit::{Exit, Failure};
use crate::machine_checks::check_congestion;
use crate::measure_failure::empty_input;
use caudal_core::plan::{Plan, TcpPlan, TestEnd};
use caudal_core::units::ByteCount;
use caudal_engine::{LocalOptions, TcpLocalOptions};
use caudal_measure::BulkRequest;
use caudal_sys::signal::Interrupt;
use caudal_sys::tcp;
use std::fs::File;
use std::path::Path;

/// The default block size, bytes.
const BLOCK: u64 = 128 << 10;
/// The same with zero copy: a call costs the same whatever the number of pages.
const ZERO_COPY_BLOCK: u64 = 256 << 10;
/// The size taken for input whose end only reading finds.
const UNKNOWN_SIZE: u64 = u64::MAX - 1;

/// Runs `caudal tcp`.
///
/// # Errors
/// When nothing could be measured.
pub fn tcp(args: &TcpArgs, interrupt: &'static Interrupt) -> Result<Exit, Failure> {
    args.target.check()?;
    args.traffic.capture.check([
        ("--file", args.file.as_deref()),
        ("--output", args.output.output.as_deref()),
        ("--token-file", args.target.token_file.as_deref()),
    ])?;
    check_local(&args.traffic)?;
    if let Some(at) = args.traffic.at {
        at.approach(interrupt)?;
    }
    // Where the server sends, its kernel decides.
    if let Some(name) = args.congestion.as_ref().filter(|_| !args.traffic.reverse) {
        check_congestion(name, &tcp::available_congestion_controls())?;
    }
    let usual = if args.zerocopy {
        ZERO_COPY_BLOCK
    } else {
        BLOCK
    };
    let block = length(args.length.unwrap_or(ByteCount::new(usual)))?;
    let mut plan = TcpPlan {
        bulk: bulk_plan(&args.traffic, block, args.rate),
        mss: args.mss,
        congestion: args.congestion.clone(),
        no_delay: args.nodelay,
        mptcp: args.mptcp,
        discard: args.discard,
        zero_copy: args.zerocopy,
        ask_ecn: args.ecn,
    };
    if let Some(path) = &args.file {
        let size = file_size(path)?;
        if args.traffic.bytes.is_none() && args.traffic.time.is_none() {
            plan.bulk.end = TestEnd::Bytes(size);
        }
    }
    check(&Plan::Tcp(plan.clone()))?;
    let local = LocalOptions {
        tcp: TcpLocalOptions {
            file: args.file.clone(),
        },
        ..local_options(&args.traffic)
    };
    let bulk = BulkRequest::Tcp(plan);
    let flags = (&args.target, &args.traffic, &args.output);
    run_bulk(bulk, local, flags, interrupt)
}

/// The size of a file; of a pipe or a device it is not known beforehand.
fn file_size(path: &Path) -> Result<ByteCount, Failure> {
    if path.as_os_str() == "-" {
        return Ok(ByteCount::new(UNKNOWN_SIZE));
    }
    let unreadable = |cause: &dyn std::fmt::Display| {
        Failure::usage(
            format!("--file {} cannot be read: {cause}", path.display()),
            "name a file that can be read",
        )
    };
    let meta = std::fs::metadata(path).map_err(|cause| unreadable(&cause))?;
    if meta.is_dir() {
        return Err(unreadable(&"it is a directory"));
    }
    if !meta.is_file() {
        return Ok(ByteCount::new(UNKNOWN_SIZE));
    }
    File::open(path).map_err(|cause| unreadable(&cause))?;
    if meta.len() == 0 {
        return Err(empty_input(path));
    }
    Ok(ByteCount::new(meta.len()))
}
