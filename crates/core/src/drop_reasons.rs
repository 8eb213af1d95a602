//! The packets that a kernel dropped during a test by the reasons that it names itself (`skb:kfree_skb`, Linux 5.17).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The IP packets that the kernel of one end's machine dropped, of all traffic in all network namespaces, by the kernel's own reasons.
/// Those of sockets that were closed, and of what had arrived before, are no losses and not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DropReasons {
    /// `NETFILTER_DROP`: a firewall.
    pub netfilter_drop: u64,
    /// `QDISC_DROP`, `QDISC_OVERLIMIT`, `QDISC_CONGESTED`: a queueing discipline.
    pub qdisc_drop: u64,
    /// `FULL_RING`, `DEV_READY`: an interface before sending.
    pub full_ring: u64,
    /// `CPU_BACKLOG`: a processor's backlog.
    pub cpu_backlog: u64,
    /// `IP_RPFILTER`: the reverse path filter.
    pub ip_rpfilter: u64,
    /// `IP_OUTNOROUTES`, `IP_INNOROUTES`: no route.
    pub ip_noroutes: u64,
    /// `UDP_CSUM`, `TCP_CSUM`, `IP_CSUM`: a wrong checksum.
    pub csum: u64,
    /// `NO_SOCKET`: nobody listens.
    pub no_socket: u64,
    /// `SOCKET_RCVBUFF`, `PROTO_MEM`, `SOCKET_BACKLOG`: a socket without room.
    pub socket_rcvbuff: u64,
    /// `XDP`, `TC_INGRESS`, `TC_EGRESS`: a program at the interface.
    pub tc: u64,
    /// Other reasons, and packets without one.
    pub other: u64,
    /// Packets of which the record was lost.
    pub missed: u64,
}

/// A reason: its name here, the kernel's names for it, and its count.
type Reason = (
    &'static str,
    &'static [&'static str],
    fn(&mut DropReasons) -> &mut u64,
);

const REASONS: [Reason; 10] = [
    ("NETFILTER_DROP", &["NETFILTER_DROP"], |all| {
        &mut all.netfilter_drop
    }),
    (
        "QDISC_DROP",
        &["QDISC_DROP", "QDISC_OVERLIMIT", "QDISC_CONGESTED"],
        |all| &mut all.qdisc_drop,
    ),
    ("FULL_RING", &["FULL_RING", "DEV_READY"], |all| {
        &mut all.full_ring
    }),
    ("CPU_BACKLOG", &["CPU_BACKLOG"], |all| &mut all.cpu_backlog),
    ("IP_RPFILTER", &["IP_RPFILTER"], |all| &mut all.ip_rpfilter),
    ("IP_NOROUTES", &["IP_OUTNOROUTES", "IP_INNOROUTES"], |all| {
        &mut all.ip_noroutes
    }),
    ("CSUM", &["UDP_CSUM", "TCP_CSUM", "IP_CSUM"], |all| {
        &mut all.csum
    }),
    ("NO_SOCKET", &["NO_SOCKET"], |all| &mut all.no_socket),
    (
        "SOCKET_RCVBUFF",
        &["SOCKET_RCVBUFF", "PROTO_MEM", "SOCKET_BACKLOG"],
        |all| &mut all.socket_rcvbuff,
    ),
    ("TC", &["XDP", "TC_INGRESS", "TC_EGRESS"], |all| &mut all.tc),
];

impl DropReasons {
    /// The kernel's names of reasons for which nothing of a test is lost.
    pub const NO_LOSS: [&'static str; 12] = [
        "QUEUE_PURGE",
        "SOCKET_CLOSE",
        "UNIX_DISCONNECT",
        "UNIX_SKIP_OOB",
        "TCP_OLD_DATA",
        "TCP_OLD_SEQUENCE",
        "TCP_OLD_ACK",
        "TCP_OFOMERGE",
        "TCP_CLOSE",
        "OTHERHOST",
        "PACKET_SOCK_ERROR",
        "UNICAST_IN_L2_MULTICAST",
    ];

    /// Counts a packet that the kernel dropped for a reason.
    pub fn count(&mut self, reason: &str) {
        if Self::NO_LOSS.contains(&reason) || reason.starts_with("IPV6_NDISC_") {
            return;
        }
        let known = REASONS.iter().find(|(_, names, _)| names.contains(&reason));
        let count = match known {
            Some((_, _, count)) => count(self),
            None => &mut self.other,
        };
        *count = count.saturating_add(1);
    }

    /// The sum of both.
    #[must_use]
    pub fn plus(mut self, mut more: Self) -> Self {
        for (_, _, count) in REASONS {
            let sum = count(&mut self);
            *sum = sum.saturating_add(*count(&mut more));
        }
        self.other = self.other.saturating_add(more.other);
        self.missed = self.missed.saturating_add(more.missed);
        self
    }

    /// Such as "97 NETFILTER_DROP, 3 NO_SOCKET", the most first; `None` where the kernel dropped nothing.
    #[must_use]
    pub fn text(mut self) -> Option<String> {
        let rest = [
            (self.other, "for other reasons"),
            (self.missed, "not recorded"),
        ];
        let mut counts: Vec<(u64, &str)> = REASONS
            .iter()
            .map(|(name, _, count)| (*count(&mut self), *name))
            .chain(rest)
            .filter(|(count, _)| *count > 0)
            .collect();
        counts.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
        let counts: Vec<String> = counts
            .iter()
            .map(|(count, name)| format!("{count} {name}"))
            .collect();
        (!counts.is_empty()).then(|| counts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_counted_by_the_kernels_names_and_told_the_most_first() {
        let mut reasons = DropReasons::default();
        assert_eq!(reasons.text(), None);
        for (reason, times) in [
            ("NO_SOCKET", 1),
            ("NETFILTER_DROP", 3),
            ("SOCKET_CLOSE", 9),
            ("TCP_OFOMERGE", 9),
            ("IPV6_NDISC_NS_OTHERHOST", 9),
            ("UDP_CSUM", 2),
            ("FQ_BAND_LIMIT", 1),
        ] {
            for _ in 0..times {
                reasons.count(reason);
            }
        }
        reasons.missed = 4;
        let text = "4 not recorded, 3 NETFILTER_DROP, 2 CSUM, 1 NO_SOCKET, 1 for other reasons";
        assert_eq!(reasons.text().as_deref(), Some(text));
        assert_eq!(reasons.plus(reasons).netfilter_drop, 6);
    }
}
