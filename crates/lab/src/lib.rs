//! A topology as network namespaces and emulated links.
//!
//! A [`Lab`] is up as long as its value exists: its namespaces have no names, so they, their devices and the emulator
//! disappear with the process that holds them, however it ends. [`daemon`] runs a lab in a process of its own; [`registry`]
//! finds these processes, and what was left behind by those that were killed.
#![forbid(unsafe_code)]

mod addressing;
mod congestion;
mod control;
pub mod daemon;
mod daemon_process;
mod device;
mod emulator;
mod error;
mod host;
mod interface_alias;
mod kernel_link;
mod lab;
mod lateness;
mod link_change;
mod link_setup;
mod processes;
mod record;
pub mod registry;
mod report_builder;

pub use caudal_link::counters::FrameTotals;
pub use caudal_link::lab_report::{
    DeliveryLateness, DirectionState, EmulatorState, InterfaceState, KernelCounters, LabReport,
    LinkCounters, LinkState, NodeState, PacketCount,
};
pub use congestion::restore_congestion_controls;
pub use control::{ControlRequest, LinkChange};
pub use daemon_process::DaemonProcess;
pub use error::LabError;
pub use lab::{Lab, LabIdentity};
pub use record::LabRecord;
