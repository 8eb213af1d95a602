//! The UDP counters of the kernel.

use std::fs;

/// The kernel's UDP counters for this network namespace, IPv4 and IPv6 together.
///
/// Source: RFC 4113, and `snmp4_udp_list` in net/ipv4/proc.c for the names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UdpMib {
    /// Datagrams delivered to a socket.
    pub in_datagrams: u64,
    /// Datagrams sent.
    pub out_datagrams: u64,
    /// Datagrams dropped on receive, those of `rcvbuf_errors` among them.
    pub in_errors: u64,
    /// Datagrams dropped because the receive buffer was full.
    pub rcvbuf_errors: u64,
    /// Datagrams dropped because the send buffer was full.
    pub sndbuf_errors: u64,
    /// Datagrams dropped on receive because their checksum was wrong.
    pub checksum_errors: u64,
    /// Datagrams to a port without a listener.
    pub no_ports: u64,
}

/// The kernel's UDP counters in the network namespace of the calling thread.
pub fn udp_counters() -> Option<UdpMib> {
    let v4 = fs::read_to_string("/proc/thread-self/net/snmp").ok()?;
    // Without IPv6 there is nothing to add.
    let v6 = fs::read_to_string("/proc/thread-self/net/snmp6").unwrap_or_default();
    parse_udp_counters(&v4, &v6)
}

/// TCP segments dropped on receive because their checksum was wrong, in the network namespace of the calling thread, over IPv4
/// and IPv6; `None` where the kernel does not count them.
pub fn tcp_checksum_errors() -> Option<u64> {
    parse_tcp_checksum_errors(&fs::read_to_string("/proc/thread-self/net/snmp").ok()?)
}

fn parse_tcp_checksum_errors(snmp: &str) -> Option<u64> {
    let (names, values) = group(snmp, "Tcp: ")?;
    let mut both = names.split_whitespace().zip(values.split_whitespace());
    let (_, value) = both.find(|(name, _)| *name == "InCsumErrors")?;
    value.parse().ok()
}

/// The names and values of a group of counters.
fn group<'a>(snmp: &'a str, prefix: &str) -> Option<(&'a str, &'a str)> {
    let mut lines = snmp.lines().filter_map(|line| line.strip_prefix(prefix));
    Some((lines.next()?, lines.next()?))
}

fn parse_udp_counters(v4: &str, v6: &str) -> Option<UdpMib> {
    let (names, values) = group(v4, "Udp: ")?;
    let v6: Vec<_> = v6
        .lines()
        .filter_map(|line| line.strip_prefix("Udp6")?.split_once(' '))
        .collect();
    let sum = |name: &str| -> u64 {
        let v4 = names.split_whitespace().zip(values.split_whitespace());
        let both = v4.chain(v6.iter().copied());
        both.filter(|(found, _)| *found == name)
            .filter_map(|(_, value)| value.trim().parse::<u64>().ok())
            .sum()
    };
    Some(UdpMib {
        in_datagrams: sum("InDatagrams"),
        out_datagrams: sum("OutDatagrams"),
        in_errors: sum("InErrors"),
        rcvbuf_errors: sum("RcvbufErrors"),
        sndbuf_errors: sum("SndbufErrors"),
        checksum_errors: sum("InCsumErrors"),
        no_ports: sum("NoPorts"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn udp_counters_are_summed_over_both_families() {
        let v4 = "Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors InCsumErrors\n\
                  Udp: 10 20 30 40 50 60 70\nUdpLite: InDatagrams\nUdpLite: 1000\n";
        let v6 =
            "Udp6InDatagrams                 \t1\nUdp6RcvbufErrors   \t5\nUdpLite6InDatagrams 9\n";
        let expected = UdpMib {
            in_datagrams: 11,
            no_ports: 20,
            in_errors: 30,
            out_datagrams: 40,
            rcvbuf_errors: 55,
            sndbuf_errors: 60,
            checksum_errors: 70,
        };
        assert_eq!(parse_udp_counters(v4, v6), Some(expected));
        assert_eq!(parse_udp_counters("", v6), None);
        assert!(udp_counters().is_some());
        let tcp = "Tcp: RtoMin InCsumErrors\nTcp: 200 4\n";
        assert_eq!(parse_tcp_checksum_errors(tcp), Some(4));
        assert_eq!(parse_tcp_checksum_errors(v4), None);
    }
}
