//! Queueing disciplines.

use std::io;

use super::attribute::{attributes, c_text, nested, push_attribute};
use super::socket::Netlink;
use crate::raw;

/// The parent of a root queueing discipline. Source: include/uapi/linux/pkt_sched.h.
const TC_H_ROOT: u32 = u32::MAX;
/// The attributes in `TCA_STATS2`. Source: include/uapi/linux/gen_stats.h.
const TCA_STATS_BASIC: u16 = 1;
const TCA_STATS_QUEUE: u16 = 3;
const TCA_STATS_PKT64: u16 = 8;

/// The counters of a device's root queueing discipline.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueueCounters {
    /// Bytes sent.
    pub bytes: u64,
    /// Packets sent.
    pub packets: u64,
    /// Packets in the queue.
    pub queue_length: u32,
    /// Bytes in the queue.
    pub backlog: u32,
    /// Packets dropped.
    pub drops: u32,
}

/// The settings of a token bucket filter: tc-tbf(8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TbfSettings {
    /// The rate, bytes per second.
    pub rate: u64,
    /// The size of the bucket, bytes.
    pub burst: u32,
    /// The bytes that may be queued.
    pub limit: u32,
    /// The bytes added to the length of every packet.
    pub overhead: u16,
    /// The minimum packet unit: the bytes every packet counts at least, the overhead included.
    pub mpu: u16,
}

impl Netlink {
    /// Sets a token bucket filter as the root queueing discipline of a device, or changes its settings.
    ///
    /// # Errors
    /// When the kernel has no such queueing discipline, or refuses the settings.
    pub fn set_token_bucket(&self, index: u32, bucket: TbfSettings) -> io::Result<()> {
        const HANDLE: u32 = 0x0001_0000;
        // include/uapi/linux/pkt_sched.h
        const PARAMETERS: u16 = 1;
        const RATE_64: u16 = 4;
        const BURST: u16 = 6;
        const ETHERNET: u8 = 1;
        // `struct tc_ratespec`: cell, link layer, overhead, cell alignment, minimum packet unit, rate.
        let rate = |bytes: u64| {
            let mut spec = vec![0, ETHERNET];
            spec.extend_from_slice(&bucket.overhead.to_ne_bytes());
            spec.extend_from_slice(&0_u16.to_ne_bytes());
            spec.extend_from_slice(&bucket.mpu.to_ne_bytes());
            spec.extend_from_slice(&u32::try_from(bytes).unwrap_or(u32::MAX).to_ne_bytes());
            spec
        };
        // `struct tc_tbf_qopt`: rate, peak rate, limit, buffer, mtu.
        let mut parameters = rate(bucket.rate);
        parameters.extend_from_slice(&[0; 12]);
        parameters.extend_from_slice(&bucket.limit.to_ne_bytes());
        parameters.extend_from_slice(&[0; 8]);
        let options = nested(&[
            (PARAMETERS, &parameters),
            (RATE_64, &bucket.rate.to_ne_bytes()),
            (BURST, &bucket.burst.to_ne_bytes()),
        ]);
        // `struct tcmsg`: family, index, handle, parent, info.
        let words = [0, index, HANDLE, TC_H_ROOT, 0];
        let mut body = words.map(u32::to_ne_bytes).concat();
        push_attribute(&mut body, libc::TCA_KIND, &c_text("tbf"));
        push_attribute(&mut body, libc::TCA_OPTIONS, &options);
        let flags = libc::NLM_F_CREATE | libc::NLM_F_REPLACE;
        self.request_change(libc::RTM_NEWQDISC, flags, &body)
    }

    /// The counters of a device's root queueing discipline; `None` when it has none that counts.
    ///
    /// # Errors
    /// Any error of the request.
    pub fn queue_counters(&self, index: u32) -> io::Result<Option<QueueCounters>> {
        // `struct tcmsg`: family and padding, then index, handle, parent and info.
        let words = [0, index, 0, 0, 0];
        let body = words.map(u32::to_ne_bytes).concat();
        let replies = self.request(libc::RTM_GETQDISC, libc::NLM_F_DUMP, &body)?;
        Ok(replies
            .iter()
            .find_map(|reply| QueueCounters::decode_root(index, reply)))
    }
}

impl QueueCounters {
    /// Decodes one reply to `RTM_GETQDISC`; `None` unless it is about the root of device `index`.
    fn decode_root(index: u32, reply: &[u8]) -> Option<Self> {
        let (device, parent) = (raw::u32_at(reply, 4)?, raw::u32_at(reply, 12)?);
        if (device, parent) != (index, TC_H_ROOT) {
            return None;
        }
        let all = attributes(reply.get(20..)?);
        let statistics = attributes(all.get(&libc::TCA_STATS2)?);
        // `struct gnet_stats_basic`: bytes, packets. `struct gnet_stats_queue`: length, backlog, drops, requeues, overlimits.
        let basic = statistics.get(&TCA_STATS_BASIC)?;
        let queue = statistics.get(&TCA_STATS_QUEUE)?;
        let packets_64 = statistics
            .get(&TCA_STATS_PKT64)
            .and_then(|packets| raw::u64_at(packets, 0));
        Some(Self {
            bytes: raw::u64_at(basic, 0)?,
            packets: packets_64.or_else(|| raw::u32_at(basic, 8).map(u64::from))?,
            queue_length: raw::u32_at(queue, 0)?,
            backlog: raw::u32_at(queue, 4)?,
            drops: raw::u32_at(queue, 8)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counters_are_those_of_the_root_queue() {
        let reply = |index: u32, parent: u32, drops: u32| {
            let mut reply = [0, index, 0, parent, 0].map(u32::to_ne_bytes).concat();
            let basic = [[6_u32, 0], [4, 0]].as_flattened().to_vec();
            let queue = [7, 8, drops, 9, 10];
            let bytes = |words: &[u32]| -> Vec<u8> {
                words.iter().flat_map(|word| word.to_ne_bytes()).collect()
            };
            let statistics = nested(&[
                (TCA_STATS_BASIC, &bytes(&basic)),
                (TCA_STATS_QUEUE, &bytes(&queue)),
            ]);
            push_attribute(&mut reply, libc::TCA_STATS2, &statistics);
            reply
        };
        let table = [
            (2, TC_H_ROOT, Some(5)),
            (3, TC_H_ROOT, None),
            (2, 0x1_0000, None),
        ];
        for (index, parent, drops) in table {
            let counters = QueueCounters::decode_root(2, &reply(index, parent, 5));
            assert_eq!(counters.map(|counters| counters.drops), drops);
        }
    }
}
