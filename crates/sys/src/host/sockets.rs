//! The sockets of this network namespace.

use super::sysctl::sysctl;
use std::fs;

/// TCP sockets in TIME_WAIT in the network namespace of the calling thread, over IPv4 and IPv6; `None` where the kernel does not report
/// them.
pub fn time_wait_sockets() -> Option<u64> {
    parse_time_wait(&fs::read_to_string("/proc/thread-self/net/sockstat").ok()?)
}

fn parse_time_wait(sockstat: &str) -> Option<u64> {
    let tcp = sockstat
        .lines()
        .find_map(|line| line.strip_prefix("TCP:"))?;
    let mut words = tcp.split_whitespace();
    words.find(|word| *word == "tw")?;
    words.next()?.parse().ok()
}

/// The number of local ports that the kernel chooses from (`ip_local_port_range`); `None` where it does not report the range.
pub fn local_port_count() -> Option<u32> {
    parse_port_count(&sysctl("net.ipv4.ip_local_port_range")?)
}

fn parse_port_count(range: &str) -> Option<u32> {
    let mut ends = range.split_whitespace().map(str::parse::<u32>);
    let (first, last) = (ends.next()?.ok()?, ends.next()?.ok()?);
    (last + 1).checked_sub(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_in_time_wait_and_ports_are_read() {
        let text =
            "sockets: used 97\nTCP: inuse 5 orphan 0 tw 312 alloc 7 mem 1\nUDP: inuse 2 mem 3\n";
        assert_eq!(parse_time_wait(text), Some(312));
        assert_eq!(parse_time_wait("UDP: inuse 2 tw 3\n"), None);
        assert_eq!(parse_port_count("32768\t60999"), Some(28_232));
        assert_eq!(parse_port_count("32768"), None);
        assert_eq!(parse_port_count("9 3"), None);
        assert!(time_wait_sockets().is_some() && local_port_count().is_some());
    }
}
