//! `caudal top`: recorded runs, a running server or a lab on the terminal's whole screen.

mod args;
mod command;
mod lab;
mod runs;
mod server;
mod study;
mod timeline;

pub use args::TopArgs;
pub use command::top;
pub(crate) use timeline::watched_document;
