//! Commands to the emulator's thread, and its reports.

use std::collections::BTreeMap;
use std::io;
use std::sync::mpsc::Sender;
use std::time::Duration;

use caudal_link::error::LinkError;
use caudal_link::lab_report::DeliveryLateness;
use caudal_link::model::DirectionReport;
use caudal_link::stage::Setting;
use caudal_sys::schedule::ThreadPriority;
use caudal_topology::LinkEnd;

/// A command with the channel for its reply.
pub(super) enum EmulatorCommand {
    /// Report all counters.
    Report(Sender<EmulatorReport>),
    /// Start a new measurement of the lateness.
    Mark(Sender<()>),
    /// Change the direction that starts at a link end.
    Set(LinkEnd, Setting, Sender<Result<bool, LinkError>>),
    /// Let the devices at the ends of a link carry packets of several frames, or single frames.
    SetSegmentation(usize, bool, Sender<io::Result<()>>),
}

/// The counters of the emulator.
#[derive(Debug, Clone)]
pub(crate) struct EmulatorReport {
    /// The counters of both directions of each link.
    pub(crate) links: BTreeMap<usize, [DirectionReport; 2]>,
    /// The lateness since the emulator started.
    pub(crate) whole: DeliveryLateness,
    /// The lateness since the last mark.
    pub(crate) marked: DeliveryLateness,
    /// Frames read from hosts.
    pub(crate) frames_read: u64,
    /// Frames delivered to hosts.
    pub(crate) frames_delivered: u64,
    /// Frames that hosts' devices refused.
    pub(crate) frames_refused: u64,
    /// Packets read from hosts: a super-frame is one.
    pub(crate) packets_read: u64,
    /// Packets delivered to hosts.
    pub(crate) packets_delivered: u64,
    /// The processor time used.
    pub(crate) cpu: Option<Duration>,
    /// The scheduling priority of the thread.
    pub(crate) priority: ThreadPriority,
}
