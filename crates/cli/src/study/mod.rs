//! `caudal study`: experiments carried out trial by trial, and their findings.

pub mod args;
mod check;
mod command;
mod execute;
mod failure;
mod list;
mod program;
mod progress;
mod report;
mod resume;
mod run;
mod show;
mod source;

pub use command::study;
pub use source::schema;
