//! A path as it is probed: from its flags to what is shown of it.

use super::args::NetworkPathArgs;
use super::quit_key::QuitKey;
use super::request::path_request;
use super::target::resolve;
use crate::command_run::CommandRun;
use crate::exit::{Exit, Failure};
use crate::output::views::Views;
use caudal_sys::signal::Interrupt;

/// Runs `caudal path`.
///
/// # Errors
/// When nothing could be probed.
pub fn path(args: &NetworkPathArgs, interrupt: &'static Interrupt) -> Result<Exit, Failure> {
    let target = resolve(args)?;
    let request = path_request(args, &target)?;
    let peer = request.prepare(interrupt)?;
    if let Some(at) = args.at {
        at.wait(interrupt)?;
    }
    let mut views = Views::open(&args.output, false)?;
    let run = CommandRun::begin(&args.output.store);
    let quit_key = (args.watch && !views.has_screen()).then(QuitKey::wait);
    let measured = request.measure(peer, &mut run.control(&mut views, interrupt));
    drop(quit_key);
    let measured = measured?;
    run.finish(measured, views, Vec::new)
}
