//! The name and version of this program, and the identities of its runs.

use caudal_core::date::rfc3339;
use caudal_core::run::{RunHeader, SCHEMA, Tool};
use caudal_sys::clock::realtime_ns;

/// The name and version this program reports to a peer.
pub const TOOL: &str = concat!("caudal ", env!("CARGO_PKG_VERSION"));

/// An identity for a run: 128 random bits as 32 hexadecimal digits.
#[must_use]
pub fn new_run_id() -> String {
    let mut id = [0_u8; 16];
    // A kernel without random numbers is older than any this program runs on; runs then share an identity.
    let _ = getrandom::fill(&mut id);
    hex::encode(id)
}

/// This program, run with the command line of the tool `compatible_with` where that is not its own.
#[must_use]
pub fn this_tool(compatible_with: Option<&str>) -> Tool {
    Tool {
        name: "caudal".into(),
        version: Some(env!("CARGO_PKG_VERSION").into()),
        compatible_with: compatible_with.map(str::to_owned).map(Into::into),
    }
}

/// A run that has been started.
#[derive(Debug, Clone)]
pub struct StartedRun {
    /// Its identity.
    pub header: RunHeader,
    /// The time it was started, ns since 1970.
    pub started_ns: u64,
}

impl StartedRun {
    /// A run of `tool` that starts now; `command` is the command line that repeats it.
    #[must_use]
    pub fn now(tool: Tool, command: String) -> Self {
        let started_ns = realtime_ns();
        Self {
            header: RunHeader {
                schema: SCHEMA.to_owned(),
                id: new_run_id(),
                started: rfc3339(started_ns),
                tool,
                command: Some(command.into()),
            },
            started_ns,
        }
    }
}
