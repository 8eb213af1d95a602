//! The kernel's counters of packets that it dropped, which need no privileges.

use std::collections::HashMap;
use std::fs;

/// The packets that the kernel has dropped in the network namespace of the calling thread, over IPv4 and IPv6, since it began to count.
///
/// Source: net/ipv4/proc.c and net/ipv6/proc.c for the names of the counters, net/core/net-procfs.c for `softnet_stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DropCounters {
    /// Packets dropped for a full backlog of a processor, over the whole machine.
    pub backlog: u64,
    /// Packets with a header, address, route or protocol that IP cannot take.
    pub ip_input: u64,
    /// Packets dropped by the reverse path filter, IPv4.
    pub reverse_path: u64,
    /// Packets that IP took in and neither delivered, forwarded nor counted as dropped: what netfilter drops before a socket.
    pub undelivered: i64,
    /// Packets whose fragments did not all arrive.
    pub reassembly: u64,
    /// Packets that IP did not send, for want of a route or of room.
    pub ip_output: u64,
    /// Datagrams to a port without a listener.
    pub udp_no_port: u64,
    /// Datagrams dropped for want of memory of all UDP sockets.
    pub udp_memory: u64,
    /// Segments dropped at TCP sockets, for want of room or memory.
    pub tcp_socket: u64,
}

/// The kernel's counters of dropped packets; `None` where it does not show them.
pub fn drop_counters() -> Option<DropCounters> {
    let read = |file: &str| fs::read_to_string(format!("/proc/thread-self/net/{file}"));
    let snmp = read("snmp").ok()?;
    let counters = NamedCounters::parse(
        &[&snmp, &read("netstat").unwrap_or_default()],
        &read("snmp6").unwrap_or_default(),
    );
    let softnet = fs::read_to_string("/proc/net/softnet_stat").unwrap_or_default();
    Some(DropCounters {
        backlog: backlog_drops(&softnet),
        ..counters.drops()
    })
}

/// Counters by their names, such as `IpInReceives` and `Ip6InReceives`.
struct NamedCounters(HashMap<String, u64>);

impl NamedCounters {
    /// Parses tables of pairs of lines, names and values, and a list of a name and a value a line.
    fn parse(tables: &[&str], list: &str) -> Self {
        let mut all = HashMap::new();
        for table in tables {
            let lines: Vec<_> = table
                .lines()
                .filter_map(|line| line.split_once(": "))
                .collect();
            for pair in lines.chunks_exact(2) {
                let ((group, names), (_, values)) = (pair[0], pair[1]);
                let both = names.split_whitespace().zip(values.split_whitespace());
                for (name, value) in both {
                    if let Ok(value) = value.parse() {
                        all.insert(format!("{group}{name}"), value);
                    }
                }
            }
        }
        for (name, value) in list
            .lines()
            .filter_map(|line| line.split_once(char::is_whitespace))
        {
            if let Ok(value) = value.trim().parse() {
                all.insert(name.to_owned(), value);
            }
        }
        Self(all)
    }

    fn sum(&self, names: &[&str]) -> u64 {
        let known = names.iter().filter_map(|name| self.0.get(*name));
        known.sum()
    }

    fn drops(&self) -> DropCounters {
        let ip_input = self.sum(&[
            "IpInHdrErrors",
            "IpInAddrErrors",
            "IpInUnknownProtos",
            "IpInDiscards",
            "IpExtInNoRoutes",
            "IpExtInTruncatedPkts",
            "Ip6InHdrErrors",
            "Ip6InTooBigErrors",
            "Ip6InNoRoutes",
            "Ip6InAddrErrors",
            "Ip6InUnknownProtos",
            "Ip6InTruncatedPkts",
            "Ip6InDiscards",
        ]);
        let reverse_path = self.sum(&["TcpExtIPReversePathFilter"]);
        let taken = self.sum(&["IpInReceives", "Ip6InReceives"]);
        // Fragments are taken in one by one and delivered as one packet.
        let gone = ip_input
            + reverse_path
            + self.sum(&[
                "IpInDelivers",
                "IpForwDatagrams",
                "IpReasmReqds",
                "Ip6InDelivers",
                "Ip6OutForwDatagrams",
                "Ip6ReasmReqds",
            ]);
        let joined = self.sum(&["IpReasmOKs", "Ip6ReasmOKs"]);
        DropCounters {
            backlog: 0,
            ip_input,
            reverse_path,
            undelivered: (taken + joined).cast_signed() - gone.cast_signed(),
            reassembly: self.sum(&["IpReasmFails", "Ip6ReasmFails"]),
            ip_output: self.sum(&[
                "IpOutDiscards",
                "IpOutNoRoutes",
                "Ip6OutDiscards",
                "Ip6OutNoRoutes",
            ]),
            udp_no_port: self.sum(&["UdpNoPorts", "Udp6NoPorts"]),
            udp_memory: self.sum(&["UdpMemErrors", "Udp6MemErrors"]),
            tcp_socket: self.sum(&[
                "TcpExtTCPBacklogDrop",
                "TcpExtTCPRcvQDrop",
                "TcpExtTCPOFODrop",
                "TcpExtTCPZeroWindowDrop",
            ]),
        }
    }
}

/// The second column of `softnet_stat`, in hexadecimal, a line a processor.
fn backlog_drops(softnet: &str) -> u64 {
    let dropped = |line: &str| u64::from_str_radix(line.split_whitespace().nth(1)?, 16).ok();
    softnet.lines().filter_map(dropped).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ip_took_in_and_did_not_deliver_is_what_a_firewall_dropped() {
        let snmp = "Ip: InReceives InHdrErrors InAddrErrors ForwDatagrams InDelivers ReasmReqds ReasmOKs ReasmFails OutNoRoutes\n\
                    Ip: 1000 1 2 100 785 20 10 3 5\nUdp: NoPorts MemErrors\nUdp: 6 7\n";
        let netstat = "TcpExt: IPReversePathFilter TCPBacklogDrop\nTcpExt: 4 8\n\
                       IpExt: InNoRoutes\nIpExt: 0\n";
        let snmp6 = "Ip6InReceives                   \t50\nIp6InDelivers\t40\nUdp6NoPorts\t1\n";
        let drops = NamedCounters::parse(&[snmp, netstat], snmp6).drops();
        let expected = DropCounters {
            backlog: 0,
            ip_input: 3,
            reverse_path: 4,
            // 1000 + 10 - 3 - 4 - 100 - 785 - 20 over IPv4, and 10 over IPv6.
            undelivered: 98 + 10,
            reassembly: 3,
            ip_output: 5,
            udp_no_port: 7,
            udp_memory: 7,
            tcp_socket: 8,
        };
        assert_eq!(drops, expected);
        assert_eq!(
            backlog_drops("00000010 0000000a 0\n00000010 00000001 0\n"),
            11
        );
        assert!(drop_counters().is_some());
    }
}
