//! Errors of the simulator as failures of the command line.

use crate::exit::Failure;
use caudal_simulate::error::SimulateError;

/// The reason why the simulator refuses a scenario, which the command line or the topology file has to change.
pub(super) fn usage_failure(error: &SimulateError) -> Failure {
    let message = error.to_string();
    match message.rsplit_once("; ") {
        Some((problem, remedy)) => Failure::usage(problem, remedy),
        None => Failure::usage(message, "change the flows or the topology"),
    }
}
