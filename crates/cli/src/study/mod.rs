//! `caudal study`: experiments carried out trial by trial, and their findings.

pub mod args;
mod check;
mod command;
mod execute;
mod failure;
mod findings_text;
mod list;
mod print;
mod program;
mod progress;
mod report;
mod resume;
mod run;
mod schema;
mod show;
mod source;

pub use command::study;
pub use schema::schema;
