//! The trains of one direction as both ends saw them.

use super::account::{ReceivedTrains, SentTrains};
use caudal_core::plan::TrainSeries;
use caudal_core::units::BitRate;

/// The trains of one direction as both ends saw them.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesReadings {
    /// The trains as planned.
    pub series: TrainSeries,
    /// The sender's account; `None` when it did not come.
    pub sent: Option<SentTrains>,
    /// The receiver's account; `None` when it did not come.
    pub received: Option<ReceivedTrains>,
}

/// One train: the time of each datagram at either end, each on the clock of that end, ns; `None` where there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrainTimes {
    /// The times at which they were handed to the sender's kernel.
    pub sent_ns: Vec<Option<u64>>,
    /// The times at which they arrived.
    pub arrived_ns: Vec<Option<u64>>,
}

impl SeriesReadings {
    /// The datagrams that left this end's kernel, and those of them that were lost; `None` where an end gave no account, or one that
    /// cannot be.
    #[must_use]
    pub fn sent_and_lost(&self) -> Option<(u64, u64)> {
        let (sent, received) = (self.sent.as_ref()?, self.received.as_ref()?);
        let left = sent.datagrams.checked_sub(sent.refused)?;
        Some((left, left.checked_sub(received.datagrams)?))
    }

    /// The payload that arrived over the time in which it did; `None` where fewer than two datagrams did.
    #[must_use]
    pub fn goodput(&self) -> Option<BitRate> {
        self.goodput_over(self.received.as_ref()?.elapsed_ns)
    }

    /// The payload that arrived after the first datagram over this time, ns; `None` for no time, and where fewer than two arrived.
    #[must_use]
    pub fn goodput_over(&self, elapsed_ns: u64) -> Option<BitRate> {
        let received = self.received.as_ref()?;
        let between = received.datagrams.checked_sub(1).filter(|more| *more > 0)?;
        let bits = between as f64 * f64::from(self.series.length) * 8.0;
        (elapsed_ns > 0)
            .then(|| BitRate::from_f64(bits * 1e9 / elapsed_ns as f64))
            .flatten()
    }

    /// The times of each train; `None` where counts alone were asked for, or an end gave none, or none that can be.
    #[must_use]
    pub fn trains(&self) -> Option<Vec<TrainTimes>> {
        let total = self.series.total();
        let sent = self.sent.as_ref()?.times.as_ref()?.by_number(total)?;
        let arrived = self.received.as_ref()?.times.as_ref()?.by_number(total)?;
        let datagrams = self.series.datagrams.max(1) as usize;
        let trains = sent
            .chunks_exact(datagrams)
            .zip(arrived.chunks_exact(datagrams));
        let train = |(sent, arrived): (&[Option<u64>], &[Option<u64>])| TrainTimes {
            sent_ns: sent.to_vec(),
            arrived_ns: arrived.to_vec(),
        };
        Some(trains.map(train).collect())
    }
}

impl TrainTimes {
    /// The delay of each datagram in the order sent, ns; `None` for those that were lost.
    ///
    /// It contains the offset between the clocks.
    pub fn delays_ns(&self) -> impl Iterator<Item = Option<i64>> + '_ {
        let both = self.sent_ns.iter().zip(&self.arrived_ns);
        both.map(|(sent, arrived)| Some(arrived.as_ref()?.wrapping_sub(*sent.as_ref()?) as i64))
    }
}

#[cfg(test)]
mod tests {
    use super::super::times::DatagramTimes;
    use super::*;
    use caudal_core::plan::TrainSpacing;

    fn times(each: &[(u32, u64)]) -> DatagramTimes {
        let mut times = DatagramTimes::default();
        for (number, at_ns) in each {
            times.push(*number, *at_ns);
        }
        times
    }

    fn readings() -> SeriesReadings {
        SeriesReadings {
            series: TrainSeries {
                trains: 2,
                datagrams: 2,
                length: 1000,
                spacing: TrainSpacing::BackToBack,
                period_ns: 1000,
                timed: true,
            },
            sent: Some(SentTrains {
                datagrams: 4,
                times: Some(times(&[(0, 1000), (1, 1000), (2, 2000), (3, 2000)])),
                ..SentTrains::default()
            }),
            received: Some(ReceivedTrains {
                datagrams: 3,
                elapsed_ns: 16_000,
                times: Some(times(&[(0, 500), (1, 600), (3, 1700)])),
                ..ReceivedTrains::default()
            }),
        }
    }

    #[test]
    fn trains_have_their_own_times_and_delays() {
        let readings = readings();
        let trains = readings.trains().unwrap();
        assert_eq!(trains[0].arrived_ns, [Some(500), Some(600)]);
        // The clock of the receiver is behind that of the sender.
        let delays = |nth: usize| trains[nth].delays_ns().collect::<Vec<_>>();
        assert_eq!(delays(0), [Some(-500), Some(-400)]);
        assert_eq!(delays(1), [None, Some(-300)]);
        assert_eq!(readings.sent_and_lost(), Some((4, 1)));
        // Two datagrams after the first in 16 µs.
        assert_eq!(readings.goodput(), Some(BitRate::from_bps(1_000_000_000)));
    }

    #[test]
    fn an_account_that_cannot_be_is_none() {
        let mut more = readings();
        more.received = more.received.map(|received| ReceivedTrains {
            datagrams: 5,
            times: Some(times(&[(9, 1)])),
            ..received
        });
        assert_eq!((more.sent_and_lost(), more.trains()), (None, None));
        let silent = SeriesReadings {
            received: None,
            ..readings()
        };
        assert_eq!((silent.goodput(), silent.trains()), (None, None));
    }
}
