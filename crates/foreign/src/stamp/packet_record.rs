//! What is known of each packet of a test, and what it adds up to.

use caudal_analysis::echo::{Departure, EchoSeries, OneWayTransit, Reply};
use caudal_analysis::stamp::StampExchange;
use std::collections::HashMap;

/// Maximum difference of a time by the wall clock to the same by the monotonic clock, ns: where it is more, the wall clock was stepped.
const MAX_STEP_NS: u64 = 1_000_000;
/// Maximum time that a reply may take from its timestamp until it has left, ns.
const MAX_DEPARTURE_NS: u64 = 1_000_000_000;

/// The times of a reply.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReplyTimes {
    /// The number with which the reflector sent it.
    pub(super) number: u32,
    /// Received and sent by the reflector, ns since 1970 by its clock; `None` in replies without both.
    pub(super) at_reflector: Option<(u64, u64)>,
    /// Received here, ns since 1970: by the kernel where it takes the time.
    pub(super) arrived_ns: u64,
    /// Read by the program, ns of the monotonic clock.
    pub(super) read_ns: u64,
}

/// A packet.
#[derive(Debug, Clone, Copy)]
pub(super) struct PacketRecord {
    /// Due, ns after the start of the test.
    pub(super) due_ns: u64,
    /// The delay until it was handed to the kernel, ns.
    pub(super) late_ns: u64,
    /// Handed to the kernel, ns of the monotonic clock.
    pub(super) sent_ns: u64,
    /// The same, ns since 1970: the time in the packet.
    pub(super) stamp_ns: u64,
    /// Handed to the device, ns since 1970; `None` where the kernel did not tell.
    pub(super) departed_ns: Option<u64>,
    /// Replies taken, duplicates included.
    pub(super) replies: u8,
    pub(super) reply: Option<ReplyTimes>,
}

/// The four times of a packet that was answered, and the time its reflector kept it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StampTrip {
    /// The round trip without the time at the reflector, ns.
    pub(super) rtt_ns: u64,
    /// The time at the reflector, ns, where it can be true.
    pub(super) kept_ns: Option<u64>,
    /// Sent, received and sent back by the reflector, received, ns since 1970 by each clock; `None` where the wall clock was stepped.
    pub(super) times: Option<[u64; 4]>,
}

impl PacketRecord {
    /// The round trip; `None` without a reply.
    pub(super) fn trip(&self) -> Option<StampTrip> {
        let reply = self.reply?;
        let by_program_ns = reply.read_ns.saturating_sub(self.sent_ns);
        let began_ns = self.departed_ns.unwrap_or(self.stamp_ns);
        let by_kernel_ns = reply.arrived_ns.checked_sub(began_ns);
        // The kernel's times lie within the program's.
        let by_kernel_ns = by_kernel_ns.filter(|ns| *ns <= by_program_ns + MAX_STEP_NS);
        let whole_ns = by_kernel_ns.unwrap_or(by_program_ns);
        let kept_ns = reply
            .at_reflector
            .and_then(|(received, sent)| sent.checked_sub(received));
        let kept_ns = kept_ns.filter(|kept| *kept <= whole_ns);
        let times = reply
            .at_reflector
            .filter(|_| by_kernel_ns.is_some() && kept_ns.is_some());
        Some(StampTrip {
            rtt_ns: whole_ns - kept_ns.unwrap_or(0),
            kept_ns,
            times: times.map(|(received, sent)| [began_ns, received, sent, reply.arrived_ns]),
        })
    }
}

/// How long after its timestamp each reply left the reflector, ns: `departed_ns` are the times of that by the reflector, by the numbers of
/// replies. They do not replace the timestamps, as a program may take them long after the reply has left.
pub(super) fn departure_delays(
    packets: &[PacketRecord],
    departed_ns: &HashMap<u32, u64>,
) -> Vec<u64> {
    let each = packets.iter().filter_map(|packet| {
        let reply = packet.reply?;
        let (_, sent) = reply.at_reflector?;
        let after = departed_ns.get(&reply.number)?.checked_sub(sent)?;
        (after < MAX_DEPARTURE_NS).then_some(after)
    });
    each.collect()
}

/// The packets as messages of a round-trip test, with their transit times each way.
pub(super) fn series(packets: &[PacketRecord], size: u32) -> EchoSeries {
    let trips: Vec<Option<StampTrip>> = packets.iter().map(PacketRecord::trip).collect();
    let one_way = |[sent, received, replied, arrived]: [u64; 4]| OneWayTransit {
        up_ns: (received as i64).wrapping_sub(sent as i64),
        down_ns: (arrived as i64).wrapping_sub(replied as i64),
    };
    EchoSeries {
        size,
        replies: trips
            .iter()
            .map(|trip| trip.map_or(Reply::LOST, |trip| Reply::after(trip.rtt_ns)))
            .collect(),
        departures: packets
            .iter()
            .zip(&trips)
            .map(|(packet, trip)| Departure {
                intended_ns: packet.due_ns,
                late_ns: packet.late_ns,
                one_way: trip.and_then(|trip| trip.times).map(one_way),
            })
            .collect(),
        ..EchoSeries::default()
    }
}

/// The exchanges from which the offset of the reflector's clock is found.
pub(super) fn exchanges(packets: &[PacketRecord]) -> Vec<StampExchange> {
    let each = packets.iter().filter_map(|packet| {
        Some(StampExchange {
            at_ns: i64::try_from(packet.due_ns).unwrap_or(i64::MAX),
            times: packet
                .trip()?
                .times?
                .map(|ns| i64::try_from(ns).unwrap_or(i64::MAX)),
        })
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    /// A time since 1970, ns.
    const WALL: u64 = 1_800_000_000_000 * MS;

    fn packet(at_reflector: Option<(u64, u64)>, arrived_ns: u64) -> PacketRecord {
        PacketRecord {
            due_ns: 10 * MS,
            late_ns: 0,
            sent_ns: 100 * MS,
            stamp_ns: WALL,
            departed_ns: Some(WALL + MS / 10),
            replies: 1,
            reply: Some(ReplyTimes {
                number: 4,
                at_reflector,
                arrived_ns,
                read_ns: 112 * MS,
            }),
        }
    }

    #[test]
    fn a_round_trip_is_between_the_kernels_without_the_time_at_the_reflector() {
        // The reflector's clock is 5 s ahead; it keeps the packet for 2 ms.
        let at = Some((WALL + 5000 * MS, WALL + 5002 * MS));
        let trip = packet(at, WALL + 11 * MS).trip().unwrap();
        assert_eq!((trip.rtt_ns, trip.kept_ns), (8_900_000, Some(2 * MS)));
        let all = series(&[packet(at, WALL + 11 * MS)], 44);
        let way = all.departures[0].one_way.unwrap();
        assert_eq!((way.up_ns, way.down_ns), (4_999_900_000, -4_991_000_000));
    }

    #[test]
    fn what_cannot_be_true_is_left_out() {
        // The reflector says that it kept the packet for longer than the whole round trip, or sent it before it came.
        for at in [(WALL, WALL + 50 * MS), (WALL + MS, WALL)] {
            let trip = packet(Some(at), WALL + 11 * MS).trip().unwrap();
            assert_eq!(
                (trip.rtt_ns, trip.kept_ns, trip.times),
                (10_900_000, None, None)
            );
        }
        // The wall clock was stepped by an hour, there and back: the monotonic clock has the round trip.
        for arrived in [WALL + 3_600_000 * MS, WALL - 3_600_000 * MS] {
            let trip = packet(Some((WALL, WALL + 2 * MS)), arrived).trip().unwrap();
            assert_eq!((trip.rtt_ns, trip.times), (10 * MS, None));
        }
        let without = packet(None, WALL + 11 * MS).trip().unwrap();
        assert_eq!((without.rtt_ns, without.kept_ns), (10_900_000, None));
    }

    #[test]
    fn the_time_until_a_reply_really_left_is_found_by_its_number() {
        let packets = [packet(Some((WALL, WALL + MS)), WALL + 11 * MS)];
        let late = |departed| departure_delays(&packets, &HashMap::from([(4, departed)]));
        assert_eq!(late(WALL + 3 * MS), [2 * MS]);
        // One before it was written is another packet's, as is one long after.
        assert!(late(WALL).is_empty() && late(WALL + 5000 * MS).is_empty());
        assert!(departure_delays(&packets, &HashMap::from([(5, WALL + MS)])).is_empty());
    }
}
