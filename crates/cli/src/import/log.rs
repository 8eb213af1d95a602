//! What a log of another tool says, in one shape for all of them: what it does not say stays unsaid.

use caudal_core::plan::{Direction, Transport};
use caudal_core::warning::WarningCode;

/// Which of its two ends counted something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The end that sends: what it handed to its kernel.
    Sender,
    /// The end that receives: what arrived.
    Receiver,
}

/// Which side of a test wrote the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The side that asked for the test.
    Client,
    /// The side that answered.
    Server,
}

impl Side {
    /// The direction of a flow at whose `end` this side is.
    #[must_use]
    pub const fn direction(self, end: End) -> Direction {
        match (self, end) {
            (Self::Client, End::Sender) | (Self::Server, End::Receiver) => Direction::Up,
            (Self::Client, End::Receiver) | (Self::Server, End::Sender) => Direction::Down,
        }
    }

    /// The end of a flow in `direction` at which this side is.
    #[must_use]
    pub const fn end(self, direction: Direction) -> End {
        match (self, direction) {
            (Self::Client, Direction::Up) | (Self::Server, Direction::Down) => End::Sender,
            (Self::Client, Direction::Down) | (Self::Server, Direction::Up) => End::Receiver,
        }
    }
}

/// What was counted over some time; each only where the log says it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Count {
    /// When it begins, seconds after the start of the test.
    pub start_s: f64,
    /// When it ends.
    pub end_s: f64,
    /// Payload bytes.
    pub bytes: Option<f64>,
    /// Payload bits per second, as the log has it.
    pub bps: Option<f64>,
    /// Segments sent again.
    pub retransmits: Option<f64>,
    /// Congestion window at its end, bytes.
    pub cwnd_bytes: Option<f64>,
    /// Smoothed round-trip time at its end, microseconds.
    pub rtt_us: Option<f64>,
    /// Datagrams: sent, or of a receiver's the lost ones included.
    pub datagrams: Option<f64>,
    /// Of those, how many did not arrive.
    pub lost: Option<f64>,
    /// How many arrived after a later one.
    pub reordered: Option<f64>,
    /// Jitter at its end, milliseconds.
    pub jitter_ms: Option<f64>,
    /// Whether it belongs to a warm-up that was left out.
    pub omitted: bool,
}

/// One stream of a test.
#[derive(Debug, Clone, PartialEq)]
pub struct Flow {
    /// From client to server, or back.
    pub direction: Direction,
    /// The end that counted the intervals.
    pub counted_by: End,
    /// What happened over time, as far as the log goes.
    pub intervals: Vec<Count>,
    /// What the sending end adds up to.
    pub sender: Option<Count>,
    /// What the receiving end adds up to.
    pub receiver: Option<Count>,
}

impl Flow {
    /// A flow of which nothing has been read yet.
    #[must_use]
    pub const fn new(direction: Direction, counted_by: End) -> Self {
        Self {
            direction,
            counted_by,
            intervals: Vec::new(),
            sender: None,
            receiver: None,
        }
    }

    /// What one of its ends adds up to.
    #[must_use]
    pub const fn end(&self, end: End) -> Option<&Count> {
        match end {
            End::Sender => self.sender.as_ref(),
            End::Receiver => self.receiver.as_ref(),
        }
    }

    /// The place of what one of its ends adds up to.
    pub const fn end_mut(&mut self, end: End) -> &mut Option<Count> {
        match end {
            End::Sender => &mut self.sender,
            End::Receiver => &mut self.receiver,
        }
    }
}

/// The form a log was written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// What iperf3 prints for people.
    Iperf3Text,
    /// `iperf3 -J`.
    Iperf3Json,
    /// `iperf3 --json-stream`.
    Iperf3Stream,
    /// What iperf 2 prints for people.
    Iperf2Text,
    /// `iperf -y C`.
    Iperf2Csv,
    /// Rows of nttcp.
    NttcpRows,
}

impl Format {
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
        }
    }

    /// The tool that writes it.
    #[must_use]
    pub const fn tool(self) -> &'static str {
        match self {
            Self::Iperf3Text | Self::Iperf3Json | Self::Iperf3Stream => "iperf3",
            Self::Iperf2Text | Self::Iperf2Csv => "iperf",
            Self::NttcpRows => "nttcp",
        }
    }

    /// Whether its numbers are rounded to the few digits that are printed.
    #[must_use]
    pub const fn is_rounded(self) -> bool {
        matches!(self, Self::Iperf3Text | Self::Iperf2Text | Self::NttcpRows)
    }
}

/// One test as a log tells of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Log {
    /// The form.
    pub format: Format,
    /// The tool's version.
    pub version: Option<String>,
    /// Which side wrote it.
    pub side: Option<Side>,
    /// What carried it.
    pub protocol: Option<Transport>,
    /// The other end: a host, with its port where that is the server's.
    pub peer: Option<String>,
    /// The command line.
    pub command: Option<String>,
    /// A title.
    pub title: Option<String>,
    /// When it began: nanoseconds since 1970.
    pub started_ns: Option<i64>,
    /// Bytes of one write or datagram.
    pub length: Option<f64>,
    /// The rate asked for, bits per second.
    pub rate: Option<f64>,
    /// The time asked for, seconds.
    pub time_s: Option<f64>,
    /// The warm-up asked for, seconds.
    pub omit_s: Option<f64>,
    /// The bytes asked for.
    pub bytes: Option<f64>,
    /// The congestion control of the senders.
    pub congestion: Option<String>,
    /// Its streams.
    pub flows: Vec<Flow>,
    /// What the log adds up over all streams of a direction.
    pub sums: Vec<Flow>,
    /// Whether the log goes to the test's end.
    pub is_complete: bool,
    /// What went wrong, in the tool's words.
    pub error: Option<String>,
    /// The doubts about it: a code, and its meaning here.
    pub doubts: Vec<(WarningCode, String)>,
}

impl Log {
    /// A test of which nothing has been read yet.
    #[must_use]
    pub const fn new(format: Format) -> Self {
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
            flows: Vec::new(),
            sums: Vec::new(),
            is_complete: false,
            error: None,
            doubts: Vec::new(),
        }
    }

    /// Whether anything was measured.
    #[must_use]
    pub fn has_counts(&self) -> bool {
        let counted = |flow: &Flow| {
            !flow.intervals.is_empty() || flow.sender.is_some() || flow.receiver.is_some()
        };
        self.flows.iter().chain(&self.sums).any(counted)
    }

    /// The sums of a direction, made when they are first spoken of.
    pub fn sums_of(&mut self, direction: Direction, counted_by: End) -> &mut Flow {
        let at = self
            .sums
            .iter()
            .position(|sum| sum.direction == direction)
            .unwrap_or_else(|| {
                self.sums.push(Flow::new(direction, counted_by));
                self.sums.len() - 1
            });
        &mut self.sums[at]
    }

    /// Forgets what an end is said to have counted where a zero only says that nobody knew: the far end's, in a log
    /// that was not there when the counts were exchanged.
    pub fn forget_unknown_zeros(&mut self) {
        let Some(side) = self.side else { return };
        let knows_far = side == Side::Client && self.is_complete;
        for flow in self.flows.iter_mut().chain(&mut self.sums) {
            let near = side.end(flow.direction);
            let far = match near {
                End::Sender => End::Receiver,
                End::Receiver => End::Sender,
            };
            let is_nothing = |count: &Count| count.bytes.is_none_or(|bytes| bytes == 0.0);
            if !knows_far && flow.end(far).is_some_and(is_nothing) {
                let counts = flow.end(far).copied().unwrap_or_default();
                // A loss told beside bytes that are not is still told.
                *flow.end_mut(far) = counts.lost.is_some_and(|lost| lost > 0.0).then_some(Count {
                    bytes: None,
                    bps: None,
                    ..counts
                });
            }
        }
    }
}
