//! What was in flight and lost when a packet left.

/// Entries of the history.
const ENTRIES: usize = 256;
/// Entries of a round trip: the history holds four of them.
const ENTRIES_PER_ROUND_TRIP: u64 = 64;

/// What was in flight and lost at a time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct FlightRecord {
    /// The time, ns.
    pub sent_ns: u64,
    /// Bytes in flight, those that left at that time included (`tx_in_flight`).
    pub in_flight: u64,
    /// Bytes lost until then (`P.lost`).
    pub lost: u64,
}

/// Records at intervals of a fraction of the round-trip time, in place of two fields with every packet.
#[derive(Debug, Clone)]
pub(super) struct FlightHistory {
    records: [FlightRecord; ENTRIES],
    /// Records made so far: the latest is at `made - 1`, modulo the size.
    made: usize,
}

impl FlightHistory {
    /// A history without records.
    pub fn new() -> Self {
        Self {
            records: [FlightRecord::default(); ENTRIES],
            made: 0,
        }
    }

    /// Notes a departure. Departures close to the one before are a part of its record.
    pub fn on_sent(&mut self, record: FlightRecord, round_trip_ns: u64) {
        let latest = self.made.checked_sub(1).map(|index| index % ENTRIES);
        if let Some(latest) = latest {
            let since = record.sent_ns.saturating_sub(self.records[latest].sent_ns);
            if since < round_trip_ns / ENTRIES_PER_ROUND_TRIP {
                let joined = &mut self.records[latest];
                joined.in_flight = joined.in_flight.max(record.in_flight);
                return;
            }
        }
        self.records[self.made % ENTRIES] = record;
        self.made += 1;
    }

    /// The record of a packet that left at `sent_ns`: the latest that is not later, or else the oldest.
    pub fn at(&self, sent_ns: u64) -> Option<FlightRecord> {
        let oldest = self.made.saturating_sub(ENTRIES);
        let (mut low, mut high) = (oldest, self.made);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.records[middle % ENTRIES].sent_ns <= sent_ns {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        (self.made > 0).then(|| self.records[low.saturating_sub(1).max(oldest) % ENTRIES])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(sent_ns: u64) -> FlightRecord {
        FlightRecord {
            sent_ns,
            in_flight: sent_ns * 10,
            lost: sent_ns,
        }
    }

    #[test]
    fn a_packet_finds_the_record_before_its_departure() {
        let mut history = FlightHistory::new();
        assert_eq!(history.at(5), None);
        for sent in 0..1000 {
            history.on_sent(record(sent * 100), 6400);
        }
        assert_eq!(history.at(99_850), Some(record(99_800)));
        assert_eq!(history.at(u64::MAX), Some(record(99_900)));
        assert_eq!(history.at(0), Some(record(74_400)));
    }

    #[test]
    fn departures_of_a_burst_share_a_record_with_the_most_in_flight() {
        let mut history = FlightHistory::new();
        history.on_sent(record(100), 6400);
        history.on_sent(record(150), 6400);
        assert_eq!(
            history
                .at(200)
                .map(|found| (found.sent_ns, found.in_flight)),
            Some((100, 1500))
        );
    }
}
