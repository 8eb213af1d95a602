//! The receiver of an upload, where the server reports nothing while the test runs.

use caudal_core::plan::Transport;
use caudal_core::sample::{Counters, ReceiverCounters, Sample, SenderCounters};

/// The bytes that the server's kernel has acknowledged at `at_ns`, and has therefore received; `None` where this kernel does not
/// count them.
pub(crate) fn acknowledged(sent: &SenderCounters, at_ns: u64) -> Option<ReceiverCounters> {
    // The opening of a connection counts as a byte.
    let acknowledged = sent.tcp?.bytes_acked?;
    Some(ReceiverCounters {
        bytes: acknowledged.min(sent.bytes),
        last_ns: at_ns,
        ..ReceiverCounters::default()
    })
}

/// The receiver's end of an upload when its sender was read; `None` of a download, and of UDP after its start, where nothing is
/// known until the server reports.
pub(crate) fn receiver_sample(transport: Transport, sample: &Sample) -> Option<Sample> {
    let Counters::Sender(sent) = sample.counters else {
        return None;
    };
    let received = match transport {
        Transport::Tcp => acknowledged(&sent, sample.at_ns).unwrap_or_default(),
        Transport::Udp if sample.tick == 0 => ReceiverCounters::default(),
        Transport::Udp => return None,
    };
    Some(Sample {
        counters: Counters::Receiver(received),
        ..*sample
    })
}
