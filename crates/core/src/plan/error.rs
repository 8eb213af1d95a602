//! Why a plan is refused: the quantity that is out of range, and its range.

use std::fmt;

/// A quantity of a plan that has a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Quantity {
    /// Flows in each direction.
    ParallelFlows,
    /// Payload bytes of a TCP block or of a datagram.
    Length,
    /// The reporting interval.
    Interval,
    /// The number of reporting intervals.
    Intervals,
    /// The duration of the measured part.
    Duration,
    /// The duration of the phase without load.
    IdleTime,
    /// The warm-up excluded from the result.
    WarmUp,
    /// Payload bytes a direction carries.
    Bytes,
    /// The rate of each flow.
    Rate,
    /// The maximum segment size.
    Mss,
    /// The DSCP.
    Dscp,
    /// The socket buffers.
    Window,
    /// The congestion control.
    Congestion,
    /// Connections of an echo test.
    Clients,
    /// Connections of a test of their rate.
    Connections,
    /// Messages of each size.
    Messages,
    /// Message sizes.
    MessageSizes,
    /// The number of message sizes.
    SizeCount,
    /// The time allowed for a reply.
    ReplyTimeout,
    /// The period of a schedule.
    Period,
    /// The comparison of every payload byte.
    Verification,
    /// ECN, as datagrams are sent or connections ask for it.
    Ecn,
    /// Multipath TCP.
    Multipath,
    /// Sending without a copy.
    ZeroCopy,
    /// File bytes in a datagram.
    Packet,
    /// The granularity of loss detection.
    Granularity,
    /// The name of a file.
    FileName,
    /// The size of a file.
    FileSize,
    /// Files that are sent as one content.
    ArchiveEntries,
    /// The first byte of a transfer that is continued.
    FirstByte,
    /// The way a file is handed to the kernel.
    SendFile,
    /// The fingerprint of a certificate.
    Certificate,
    /// Trains of datagrams.
    Trains,
    /// Datagrams of a train.
    TrainDatagrams,
    /// Datagrams of all trains.
    SeriesDatagrams,
    /// The time from one datagram of a train to the next, ns.
    DatagramGap,
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ParallelFlows => "the number of parallel flows",
            Self::Length => "the length",
            Self::Interval => "the reporting interval",
            Self::Intervals => "the number of reporting intervals",
            Self::Duration => "the duration",
            Self::IdleTime => "the time without load",
            Self::WarmUp => "the warm-up",
            Self::Bytes => "the number of bytes",
            Self::Rate => "the rate",
            Self::Mss => "the MSS",
            Self::Dscp => "the DSCP",
            Self::Window => "the window",
            Self::Congestion => "the congestion control",
            Self::Clients => "the number of clients",
            Self::Connections => "the number of connections",
            Self::Messages => "the number of messages",
            Self::MessageSizes => "the message size",
            Self::SizeCount => "the number of message sizes",
            Self::ReplyTimeout => "the reply timeout",
            Self::Period => "the period",
            Self::Verification => "payload verification",
            Self::Ecn => "ECN",
            Self::Multipath => "Multipath TCP",
            Self::ZeroCopy => "sending without a copy",
            Self::Packet => "the packet size",
            Self::Granularity => "the timer granularity",
            Self::FileName => "the name of the file",
            Self::FileSize => "the size of the file",
            Self::ArchiveEntries => "the number of files sent together",
            Self::FirstByte => "the first byte",
            Self::SendFile => "sendfile",
            Self::Certificate => "the fingerprint of the certificate",
            Self::Trains => "the number of trains",
            Self::TrainDatagrams => "the number of datagrams of a train",
            Self::SeriesDatagrams => "the number of datagrams",
            Self::DatagramGap => "the time between datagrams (ns)",
        })
    }
}

/// A quantity of a plan that is out of its range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{quantity} is {value}; {allowed}")]
pub struct PlanError {
    /// The quantity that is out of range.
    pub quantity: Quantity,
    /// The value asked for.
    pub value: String,
    /// The values accepted, as half a sentence.
    pub allowed: String,
}

/// Checks that `value` lies from `min` to `max`, both allowed.
pub(super) fn check_range<T: PartialOrd + fmt::Display>(
    quantity: Quantity,
    value: &T,
    min: &T,
    max: &T,
) -> Result<(), PlanError> {
    if value < min || value > max {
        return Err(PlanError {
            quantity,
            value: value.to_string(),
            allowed: format!("it must lie between {min} and {max}"),
        });
    }
    Ok(())
}
