//! The reader of bursts in a stream with trip times: how long each took from its departure to its last byte.

use super::transit_histogram::TransitHistogram;
use caudal_core::transit::TransitTimes;
use caudal_flow::{FlowCounters, StreamObserver};
use caudal_sys::clock::realtime_ns;
use caudal_wire::iperf2::{BURST_BYTES, BurstHeader, MAX_HEADER_BYTES, TcpOpening};
use std::sync::Arc;

/// The position of a reader in its stream.
#[derive(Debug)]
enum StreamPosition {
    /// In the test header.
    TestHeader,
    /// In the header of a burst.
    BurstHeader,
    /// Behind that.
    Payload { left: usize, sent_ns: u64 },
    /// In bytes that are no bursts: nothing can be said about them.
    Unknown,
}

/// Reads the bursts of a stream.
#[derive(Debug)]
pub(super) struct BurstReader {
    position: StreamPosition,
    /// The part of a header that has arrived.
    header: Vec<u8>,
    times: TransitTimes,
    histogram: Option<Arc<TransitHistogram>>,
}

impl BurstReader {
    /// A reader of a stream of which the test header has been read.
    pub(super) fn behind_header(histogram: Option<Arc<TransitHistogram>>) -> Self {
        Self {
            position: StreamPosition::BurstHeader,
            header: Vec::with_capacity(MAX_HEADER_BYTES),
            times: TransitTimes::default(),
            histogram,
        }
    }

    /// A reader of a stream that begins with a test header.
    pub(super) fn before_header(histogram: Option<Arc<TransitHistogram>>) -> Self {
        Self {
            position: StreamPosition::TestHeader,
            ..Self::behind_header(histogram)
        }
    }

    /// Takes some of the bytes, which arrived at `now_ns` of the wall clock: the number of them, and the time of the burst
    /// that ends with them.
    fn step(&mut self, bytes: &[u8], now_ns: u64) -> (usize, Option<i64>) {
        match &mut self.position {
            StreamPosition::TestHeader => {
                self.header.extend(bytes.first());
                self.position = match TcpOpening::parse(&self.header) {
                    Ok(TcpOpening::Needs(needed)) if needed <= MAX_HEADER_BYTES => {
                        return (1, None);
                    }
                    Ok(TcpOpening::Test(..)) => StreamPosition::BurstHeader,
                    _ => StreamPosition::Unknown,
                };
                self.header.clear();
                (1, None)
            }
            StreamPosition::BurstHeader => {
                let (some, _) = bytes.split_at(bytes.len().min(BURST_BYTES - self.header.len()));
                self.header.extend_from_slice(some);
                let count = some.len();
                if self.header.len() < BURST_BYTES {
                    return (count, None);
                }
                self.position = match BurstHeader::decode(&self.header) {
                    Some(burst) => StreamPosition::Payload {
                        left: burst.bytes as usize - BURST_BYTES,
                        sent_ns: burst.sent_ns(),
                    },
                    None => StreamPosition::Unknown,
                };
                self.header.clear();
                (count, self.end_of_burst(0, now_ns))
            }
            StreamPosition::Payload { left, .. } => {
                let count = bytes.len().min(*left);
                (count, self.end_of_burst(count, now_ns))
            }
            StreamPosition::Unknown => (bytes.len(), None),
        }
    }

    /// Takes `count` bytes of a burst's payload: its time, ns, when it is complete with them.
    fn end_of_burst(&mut self, count: usize, now_ns: u64) -> Option<i64> {
        let StreamPosition::Payload { left, sent_ns } = &mut self.position else {
            return None;
        };
        *left -= count;
        if *left > 0 {
            return None;
        }
        let transit_ns = now_ns as i64 - *sent_ns as i64;
        self.position = StreamPosition::BurstHeader;
        Some(transit_ns)
    }
}

impl StreamObserver for BurstReader {
    fn take(&mut self, mut bytes: &[u8], counters: &FlowCounters) {
        let now_ns = realtime_ns();
        while !bytes.is_empty() {
            let (count, transit_ns) = self.step(bytes, now_ns);
            if let Some(transit_ns) = transit_ns {
                self.times.push(transit_ns as f64 / 1e9);
                counters.transit.store(&self.times, transit_ns);
                if let Some(histogram) = &self.histogram {
                    histogram.record(transit_ns);
                }
            }
            bytes = bytes.get(count..).unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_wire::iperf2::write_burst_header;

    /// The bursts of these lengths, sent a second apart from 100 s on.
    fn stream(lengths: &[usize]) -> Vec<u8> {
        let bursts = lengths.iter().zip(1..).flat_map(|(length, id)| {
            let mut block = vec![0x30; *length];
            write_burst_header(&mut block, id, (100, 0), (99 + id, 0));
            block
        });
        bursts.collect()
    }

    /// The times that a reader finds in pieces of a stream, of which piece n arrives at 200 s + n ms.
    fn times(mut reader: BurstReader, stream: &[u8], piece: usize) -> Vec<i64> {
        let mut found = Vec::new();
        for (mut bytes, nth) in stream.chunks(piece).zip(0_u64..) {
            while !bytes.is_empty() {
                let (count, time) = reader.step(bytes, 200_000_000_000 + nth * 1_000_000);
                found.extend(time.map(|time| time / 1_000_000));
                bytes = &bytes[count..];
            }
        }
        found
    }

    #[test]
    fn a_burst_takes_until_its_last_byte_however_the_stream_is_cut() {
        let stream = stream(&[200, 92, 500]);
        let read = |piece| times(BurstReader::behind_header(None), &stream, piece);
        assert_eq!(read(1000), [100_000, 99_000, 98_000]);
        assert_eq!(read(100), [100_001, 99_002, 98_007]);
        assert_eq!(read(1), [100_199, 99_291, 98_791]);
    }

    #[test]
    fn nothing_is_said_of_a_stream_that_holds_no_bursts() {
        let none: [i64; 0] = [];
        assert_eq!(
            times(BurstReader::behind_header(None), &[0x30; 1000], 300),
            none
        );
        assert_eq!(
            times(BurstReader::before_header(None), &[0x30; 1000], 300),
            none
        );
    }
}
