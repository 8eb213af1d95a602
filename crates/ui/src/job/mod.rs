//! What a page has started: this program with a command line, and everything it has said.

mod history;
mod job;
mod jobs;

pub(crate) use job::{Job, JobKind, JobView};
pub(crate) use jobs::{Jobs, StartError};
