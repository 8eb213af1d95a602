//! A log of another tool, in one form for all tools; what a log does not report is absent.

use caudal_core::plan::{Direction, Transport};
use caudal_core::run::ImportSide;
use caudal_core::sample::Role;
use caudal_core::warning::WarningCode;

/// The counts of one end of a flow over some time, as far as the log reports them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LogCounts {
    /// The beginning, s after the start of the test.
    pub start_s: f64,
    /// The end, s after the start of the test.
    pub end_s: f64,
    /// Payload bytes.
    pub bytes: Option<f64>,
    /// Payload per second as the log reports it, bit/s.
    pub bps: Option<f64>,
    /// Segments retransmitted.
    pub retransmits: Option<f64>,
    /// Congestion window at its end, bytes.
    pub cwnd_bytes: Option<f64>,
    /// Smoothed round-trip time at its end, µs.
    pub rtt_us: Option<f64>,
    /// Datagrams sent; of a receiver, arrived and lost.
    pub datagrams: Option<f64>,
    /// Datagrams lost.
    pub lost: Option<f64>,
    /// Datagrams that arrived after a later one.
    pub reordered: Option<f64>,
    /// Jitter at its end, ms.
    pub jitter_ms: Option<f64>,
    /// `true` for a part of the warm-up.
    pub omitted: bool,
    /// `true` when the log has a negative count, which is left out.
    pub has_negative: bool,
}

/// One stream of a test.
#[derive(Debug, Clone, PartialEq)]
pub struct LogFlow {
    /// The direction.
    pub direction: Direction,
    /// The end that counted the intervals.
    pub counted_by: Role,
    /// The counts over time, as far as the log goes.
    pub intervals: Vec<LogCounts>,
    /// The totals of the sender.
    pub sender: Option<LogCounts>,
    /// The totals of the receiver.
    pub receiver: Option<LogCounts>,
}

impl LogFlow {
    /// A flow without counts.
    #[must_use]
    pub const fn new(direction: Direction, counted_by: Role) -> Self {
        Self {
            direction,
            counted_by,
            intervals: Vec::new(),
            sender: None,
            receiver: None,
        }
    }

    /// The totals of one of its ends.
    #[must_use]
    pub const fn end(&self, end: Role) -> Option<&LogCounts> {
        match end {
            Role::Sender => self.sender.as_ref(),
            Role::Receiver => self.receiver.as_ref(),
        }
    }

    /// The totals of one of its ends, to be set.
    pub const fn end_mut(&mut self, end: Role) -> &mut Option<LogCounts> {
        match end {
            Role::Sender => &mut self.sender,
            Role::Receiver => &mut self.receiver,
        }
    }
}

/// The format of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// The text of iperf3.
    Iperf3Text,
    /// `iperf3 -J`.
    Iperf3Json,
    /// `iperf3 --json-stream`.
    Iperf3Stream,
    /// The text of iperf 2.
    Iperf2Text,
    /// `iperf -y C`.
    Iperf2Csv,
    /// Rows of nttcp.
    NttcpRows,
    /// The text of ping.
    PingText,
    /// The text of fping.
    FpingText,
    /// `irtt client -o`.
    IrttJson,
    /// `mtr --json`.
    MtrJson,
    /// The tables of netperf.
    NetperfText,
    /// The lines of nuttcp.
    NuttcpText,
    /// A data file of flent.
    FlentData,
    /// ndt7-client.
    Ndt7Json,
    /// Ookla's `speedtest --format=json`.
    OoklaJson,
    /// `speedtest-cli --json`.
    SpeedtestCliJson,
    /// `librespeed-cli --json`.
    LibreSpeedJson,
}

impl LogFormat {
    /// Its name in a document.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Iperf3Text => "iperf3 text",
            Self::Iperf3Json => "iperf3 json",
            Self::Iperf3Stream => "iperf3 json-stream",
            Self::Iperf2Text => "iperf2 text",
            Self::Iperf2Csv => "iperf2 csv",
            Self::NttcpRows => "nttcp rows",
            Self::PingText => "ping text",
            Self::FpingText => "fping text",
            Self::IrttJson => "irtt json",
            Self::MtrJson => "mtr json",
            Self::NetperfText => "netperf text",
            Self::NuttcpText => "nuttcp text",
            Self::FlentData => "flent data",
            Self::Ndt7Json => "ndt7 json",
            Self::OoklaJson => "ookla json",
            Self::SpeedtestCliJson => "speedtest-cli json",
            Self::LibreSpeedJson => "librespeed json",
        }
    }

    /// The tool that writes it.
    #[must_use]
    pub const fn tool(self) -> &'static str {
        match self {
            Self::Iperf3Text | Self::Iperf3Json | Self::Iperf3Stream => "iperf3",
            Self::Iperf2Text | Self::Iperf2Csv => "iperf",
            Self::NttcpRows => "nttcp",
            Self::PingText => "ping",
            Self::FpingText => "fping",
            Self::IrttJson => "irtt",
            Self::MtrJson => "mtr",
            Self::NetperfText => "netperf",
            Self::NuttcpText => "nuttcp",
            Self::FlentData => "flent",
            Self::Ndt7Json => "ndt7",
            Self::OoklaJson => "speedtest",
            Self::SpeedtestCliJson => "speedtest-cli",
            Self::LibreSpeedJson => "librespeed-cli",
        }
    }

    /// `true` when its numbers are rounded to the few digits that are printed.
    #[must_use]
    pub const fn is_rounded(self) -> bool {
        matches!(
            self,
            Self::Iperf3Text
                | Self::Iperf2Text
                | Self::NttcpRows
                | Self::PingText
                | Self::FpingText
                | Self::MtrJson
                | Self::NetperfText
                | Self::NuttcpText
                | Self::FlentData
        )
    }
}

/// A test as a log reports it.
#[derive(Debug, Clone, PartialEq)]
pub struct Log {
    /// The format.
    pub format: LogFormat,
    /// The tool's version.
    pub version: Option<String>,
    /// The end of the test that wrote it.
    pub side: Option<ImportSide>,
    /// The transport protocol.
    pub protocol: Option<Transport>,
    /// The peer: a host, with its port where it is the server.
    pub peer: Option<String>,
    /// The command line.
    pub command: Option<String>,
    /// A title.
    pub title: Option<String>,
    /// The start, ns since 1970.
    pub started_ns: Option<i64>,
    /// Payload bytes of one write or datagram.
    pub length: Option<f64>,
    /// The rate asked for, bit/s.
    pub rate: Option<f64>,
    /// The duration asked for, s.
    pub time_s: Option<f64>,
    /// The warm-up asked for, s.
    pub omit_s: Option<f64>,
    /// The bytes asked for.
    pub bytes: Option<f64>,
    /// The congestion control of the senders.
    pub congestion: Option<String>,
    /// The minimum round-trip time without load, µs.
    pub idle_rtt_us: Option<f64>,
    /// The minimum round-trip time of the connection, µs.
    pub tcp_rtt_min_us: Option<f64>,
    /// Its streams.
    pub flows: Vec<LogFlow>,
    /// The sums of the log over all streams of a direction.
    pub sums: Vec<LogFlow>,
    /// `true` when the log reaches the end of the test.
    pub is_complete: bool,
    /// The error that the tool reports.
    pub error: Option<String>,
    /// Warnings: code and message.
    pub warnings: Vec<(WarningCode, String)>,
}

impl Log {
    /// A test without content.
    #[must_use]
    pub const fn new(format: LogFormat) -> Self {
        Self {
            format,
            version: None,
            side: None,
            protocol: None,
            peer: None,
            command: None,
            title: None,
            started_ns: None,
            length: None,
            rate: None,
            time_s: None,
            omit_s: None,
            bytes: None,
            congestion: None,
            idle_rtt_us: None,
            tcp_rtt_min_us: None,
            flows: Vec::new(),
            sums: Vec::new(),
            is_complete: false,
            error: None,
            warnings: Vec::new(),
        }
    }

    /// `true` when anything was measured.
    #[must_use]
    pub fn has_counts(&self) -> bool {
        let counted = |flow: &LogFlow| {
            !flow.intervals.is_empty() || flow.sender.is_some() || flow.receiver.is_some()
        };
        self.flows.iter().chain(&self.sums).any(counted)
    }

    /// The sums of a direction, created at the first use.
    pub fn sums_in(&mut self, direction: Direction, counted_by: Role) -> &mut LogFlow {
        let at = self
            .sums
            .iter()
            .position(|sum| sum.direction == direction)
            .unwrap_or_else(|| {
                self.sums.push(LogFlow::new(direction, counted_by));
                self.sums.len() - 1
            });
        &mut self.sums[at]
    }

    /// Removes the totals of the far end where a zero means that they were unknown: in a log that ends before the
    /// counts were exchanged.
    pub fn forget_unknown_zeros(&mut self) {
        let Some(side) = self.side else { return };
        let knows_far = side == ImportSide::Client && self.is_complete;
        for flow in self.flows.iter_mut().chain(&mut self.sums) {
            let near = side.role(flow.direction);
            let far = match near {
                Role::Sender => Role::Receiver,
                Role::Receiver => Role::Sender,
            };
            let is_nothing = |count: &LogCounts| count.bytes.is_none_or(|bytes| bytes == 0.0);
            if !knows_far && flow.end(far).is_some_and(is_nothing) {
                let counts = flow.end(far).copied().unwrap_or_default();
                // A loss that is reported without bytes is known nevertheless.
                *flow.end_mut(far) =
                    counts
                        .lost
                        .is_some_and(|lost| lost > 0.0)
                        .then_some(LogCounts {
                            bytes: None,
                            bps: None,
                            ..counts
                        });
            }
        }
    }
}
