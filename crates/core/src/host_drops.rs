//! The packets that the kernel of one end dropped during a test, from counters that need no privileges.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The packets that the kernel of one end dropped during a test, of all traffic of its network namespace. A packet may hold several
/// datagrams or segments that the kernel had joined.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HostDrops {
    /// By the interface in use, which had no buffer for them.
    pub interface_ring: u64,
    /// On arrival at the interface in use.
    pub interface_receive: u64,
    /// By the interface in use before they were sent.
    pub interface_send: u64,
    /// For a full backlog of a processor, over the whole machine.
    pub backlog: u64,
    /// By IP: a header, address, route or protocol that it cannot take.
    pub ip_input: u64,
    /// By the reverse path filter (IPv4).
    pub reverse_path: u64,
    /// Taken in by IP and neither delivered nor counted elsewhere: dropped by a firewall.
    pub firewall: u64,
    /// Because not all fragments arrived.
    pub reassembly: u64,
    /// By IP before they were sent: no route, or no room.
    pub ip_output: u64,
    /// Datagrams to a port without a listener.
    pub udp_no_port: u64,
    /// Datagrams for which all UDP sockets together had no memory.
    pub udp_memory: u64,
    /// Segments at TCP sockets, for want of room or memory.
    pub tcp_socket: u64,
}

impl HostDrops {
    /// The packets dropped on their way to a socket, with the place in words, the most first; places without any are left out.
    #[must_use]
    pub fn on_receive(&self) -> Vec<(u64, &'static str)> {
        by_count(vec![
            (self.interface_ring, "for want of a buffer of the interface"),
            (self.interface_receive, "at the interface"),
            (self.backlog, "for a full backlog of a processor"),
            (self.ip_input, "by IP"),
            (self.reverse_path, "by the reverse path filter"),
            (self.firewall, "by a firewall"),
            (self.reassembly, "for want of a fragment"),
            (self.udp_memory, "for want of memory for UDP"),
            (self.tcp_socket, "at a TCP socket"),
        ])
    }

    /// The packets dropped before they were sent, in the same way.
    #[must_use]
    pub fn on_send(&self) -> Vec<(u64, &'static str)> {
        by_count(vec![
            (self.interface_send, "at the interface"),
            (self.ip_output, "by IP, for want of a route or of room"),
        ])
    }

    /// The sum of both.
    #[must_use]
    pub const fn plus(&self, more: &Self) -> Self {
        Self {
            interface_ring: self.interface_ring.saturating_add(more.interface_ring),
            interface_receive: self
                .interface_receive
                .saturating_add(more.interface_receive),
            interface_send: self.interface_send.saturating_add(more.interface_send),
            backlog: self.backlog.saturating_add(more.backlog),
            ip_input: self.ip_input.saturating_add(more.ip_input),
            reverse_path: self.reverse_path.saturating_add(more.reverse_path),
            firewall: self.firewall.saturating_add(more.firewall),
            reassembly: self.reassembly.saturating_add(more.reassembly),
            ip_output: self.ip_output.saturating_add(more.ip_output),
            udp_no_port: self.udp_no_port.saturating_add(more.udp_no_port),
            udp_memory: self.udp_memory.saturating_add(more.udp_memory),
            tcp_socket: self.tcp_socket.saturating_add(more.tcp_socket),
        }
    }
}

fn by_count(mut places: Vec<(u64, &'static str)>) -> Vec<(u64, &'static str)> {
    places.retain(|(count, _)| *count > 0);
    places.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    places
}

/// The traffic of an interface, of all programs, by its own counters: frames without preamble and check sequence.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct InterfaceTraffic {
    /// Bytes received.
    pub received_bytes: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
}

impl InterfaceTraffic {
    /// The sum of both.
    #[must_use]
    pub const fn plus(&self, more: &Self) -> Self {
        Self {
            received_bytes: self.received_bytes.saturating_add(more.received_bytes),
            sent_bytes: self.sent_bytes.saturating_add(more.sent_bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_on_the_way_to_a_socket_are_told_the_most_first() {
        let drops = HostDrops {
            firewall: 97,
            reverse_path: 100,
            interface_send: 500,
            ..HostDrops::default()
        };
        let both = drops.plus(&drops);
        assert_eq!(
            both.on_receive(),
            [(200, "by the reverse path filter"), (194, "by a firewall")]
        );
    }
}
