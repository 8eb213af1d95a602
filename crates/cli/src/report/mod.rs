//! `caudal report`: recorded runs and studies listed, shown, compared, imported and exported.

mod answer;
mod command;
mod compare;
mod export;
mod import;
mod list;
mod path;
mod remove;
mod replay;
mod show;
mod tag;
mod unknown_name;

pub(crate) use command::open_store;
pub use command::{ReportArgs, ReportCommand, report, run_schema};
pub(crate) use replay::stored_run;
