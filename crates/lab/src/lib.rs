//! A topology as network namespaces and emulated links.
//!
//! A [`Lab`] is alive as long as its value: its namespaces have no names, so that they, their devices and the emulator
//! are gone with the process that holds them, however it ends. [`owner`] keeps a lab in a process of its own, [`registry`]
//! finds such processes and what was left behind by those that were killed.
#![forbid(unsafe_code)]

mod control;
mod device;
mod emulator;
mod error;
mod host;
mod kernel_link;
mod lab;
pub mod owner;
mod processes;
mod punctuality;
pub mod registry;
mod report;

pub use control::{Change, Request};
pub use error::LabError;
pub use lab::Lab;
pub use punctuality::{Lateness, Punctuality};
pub use report::{CourseState, EmulatorState, HostState, InterfaceState, LabReport, LinkState};
