//! The processes of this program that a trial starts: servers, flows and the lab.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use caudal_core::plan::{Direction, FileProtocol, Transport};
use caudal_core::units::ByteCount;
use caudal_experiment::PathScope;

/// The path of this program, also in the mount namespace of a host.
pub(super) const THIS_PROGRAM: &str = "/proc/self/exe";

/// The arguments with which this program does what a trial needs, in a process of its own. Its flags are known to the command line
/// alone.
pub trait ProgramCommands {
    /// The arguments of a process that keeps a lab up ([`caudal_lab::daemon::run`]).
    fn lab_daemon(&self) -> Vec<String>;

    /// The arguments of a server for clients of this program alone, on its default port, which logs one JSON object a line, the
    /// first when it listens.
    fn server(&self) -> Vec<String>;

    /// The arguments of a process that captures an interface, or sets its offloads, until it is interrupted. It prints a line of JSON
    /// when it has begun, and one about the capture at its end.
    fn capture(&self, task: &CaptureTask) -> Vec<String>;

    /// The arguments of a flow, which prints its [`Run`](caudal_core::run::Run) as one JSON document.
    fn flow(&self, task: &FlowTask) -> Vec<String>;
}

/// What is captured of a host, and what its offloads are meanwhile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureTask {
    /// The interface.
    pub interface: String,
    /// The file; no capture without it.
    pub output: Option<PathBuf>,
    /// `true` where the offloads are to be on, `false` where off.
    pub offload: Option<bool>,
}

/// A command of this program.
pub(crate) fn own_command(arguments: Vec<String>) -> Command {
    let mut command = Command::new(THIS_PROGRAM);
    command.args(arguments);
    command
}

/// A flow of a trial as its process carries it out.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowTask {
    /// The server's name or address.
    pub host: String,
    /// The server's port.
    pub port: u16,
    /// The number of parallel connections.
    pub connections: u32,
    /// The start of its traffic, ns since 1970.
    pub start_ns: u64,
    /// The congestion control.
    pub congestion: Option<String>,
    /// The size of the socket buffers.
    pub window: Option<ByteCount>,
    /// The DSCP.
    pub dscp: Option<u8>,
    /// The traffic.
    pub traffic: FlowTraffic,
}

/// The traffic of a flow.
#[derive(Debug, Clone, PartialEq)]
pub enum FlowTraffic {
    /// A bulk transfer.
    Bulk(BulkTask),
    /// Messages that are echoed.
    Echo(EchoTask),
    /// The transfer of a generated file.
    File(FileTask),
    /// Probing of a path.
    Path(PathTask),
}

/// Probing of a path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PathTask {
    /// What is measured.
    pub measure: PathScope,
    /// The time after which probing from one end ends.
    pub time: Duration,
    /// Half the width of a capacity's interval, as a part of the capacity, at which no more is probed.
    pub accuracy: Option<f64>,
    /// The packets sent right before a probe that looks for shapers.
    pub primers: Option<u32>,
    /// `true` to count the routes that other flows take.
    pub routes: bool,
}

/// The transfer of a generated file.
#[derive(Debug, Clone, PartialEq)]
pub struct FileTask {
    /// The protocol.
    pub via: FileProtocol,
    /// The direction, seen from the client.
    pub direction: Direction,
    /// The size.
    pub bytes: ByteCount,
    /// The bytes of each write (TCP, TLS).
    pub write_bytes: Option<u32>,
    /// File bytes in each datagram (RBT).
    pub packet_bytes: Option<u32>,
    /// The maximum segment size (TCP, TLS).
    pub mss: Option<u32>,
    /// `true` when Nagle's algorithm is on (TCP, TLS).
    pub nagle: bool,
    /// The maximum rate, bit/s.
    pub rate_bps: Option<f64>,
}

/// A bulk transfer.
#[derive(Debug, Clone, PartialEq)]
pub struct BulkTask {
    /// The transport protocol.
    pub transport: Transport,
    /// The direction, seen from the client.
    pub direction: Direction,
    /// The payload rate of each connection, bit/s; `None` for as fast as possible.
    pub rate_bps: Option<f64>,
    /// The interval between readings of the counters.
    pub interval: Duration,
    /// The bytes in a datagram or a block.
    pub length: Option<u32>,
    /// The maximum segment size.
    pub mss: Option<u32>,
    /// The condition that ends it.
    pub end: BulkEnd,
}

/// The condition that ends a bulk transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BulkEnd {
    /// This amount of payload was sent.
    Bytes(ByteCount),
    /// The time is over.
    Time {
        /// The duration of the measurement.
        measure: Duration,
        /// The warm-up before it.
        omit: Duration,
    },
}

/// Messages that are echoed.
#[derive(Debug, Clone, PartialEq)]
pub struct EchoTask {
    /// The transport protocol.
    pub transport: Transport,
    /// The sizes of the messages, as `64` or `1..64Ki`.
    pub sizes: String,
    /// The period of scheduled messages; `None` to send each when the one before it came back.
    pub period: Option<Duration>,
    /// The time after which no more messages are sent.
    pub time: Option<Duration>,
    /// The number of messages of each size.
    pub count: Option<u64>,
    /// The file for the round-trip time of every message, as `caudal rtt` writes them.
    pub samples: PathBuf,
}
