//! The flags behind the quantities that the library checks.

use caudal_core::plan::Quantity;

/// The flag that sets a quantity of a plan.
#[must_use]
pub const fn flag(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::ParallelFlows | Quantity::Clients => "--parallel",
        Quantity::Length => "--length",
        Quantity::Interval | Quantity::Intervals => "--interval",
        Quantity::Duration => "--time",
        Quantity::IdleTime => "--idle",
        Quantity::WarmUp => "--omit",
        Quantity::Bytes => "--bytes",
        Quantity::Rate => "--rate",
        Quantity::Mss => "--mss",
        Quantity::Dscp => "--dscp",
        Quantity::Window => "--window",
        Quantity::Congestion => "--congestion",
        Quantity::Messages | Quantity::Connections => "--count",
        Quantity::MessageSizes => "a size of --length or --sizes",
        Quantity::SizeCount => "the number of --sizes",
        Quantity::ReplyTimeout => "--timeout",
        Quantity::Period => "--every",
        Quantity::Verification => "--verify",
        Quantity::Ecn => "--ecn",
        Quantity::Multipath => "--mptcp",
        Quantity::ZeroCopy => "--zerocopy",
        Quantity::Packet => "--packet",
        Quantity::Granularity => "--granularity",
        Quantity::FileSize => "--sizes",
        Quantity::FileName => "the name of the file",
        Quantity::ArchiveEntries => "the number of files",
        Quantity::FirstByte => "--resume",
        Quantity::SendFile => "--sendfile",
        Quantity::Certificate => "the server's certificate",
        Quantity::Trains => "the number of trains",
        Quantity::TrainDatagrams => "the datagrams of a train",
        Quantity::SeriesDatagrams => "the datagrams of all trains",
        Quantity::DatagramGap => "the time between datagrams",
    }
}
