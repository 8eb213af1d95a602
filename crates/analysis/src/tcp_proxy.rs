//! Finding a proxy, an SSH tunnel or a port forward of a program between client and server, by the control connection.

use caudal_core::tcp_proxy::{TcpProxy, TcpProxyEvidence};
use std::net::SocketAddr;

/// Minimum time by which the answer of an idle program exceeds the kernel's round-trip time where they are of different paths, µs.
const MIN_EXCESS_US: f64 = 5_000.0;

/// The same as a part of the time of the answer.
const MIN_EXCESS_PART: f64 = 0.5;

/// A control connection as both of its ends see it, before a test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ControlConnection {
    /// The address that it connected to.
    pub server: SocketAddr,
    /// The address that the server sees the client at.
    pub seen_client: SocketAddr,
    /// The address that the server accepted the connection at.
    pub seen_server: SocketAddr,
    /// The maximum segment that the client announced, bytes of payload; `None` where it announced what its interface takes.
    pub announced_mss: Option<u32>,
    /// The maximum segment that the server may send, bytes of payload.
    pub server_mss: u32,
    /// The minimum time of an exchange between both programs, without the time at the server, µs.
    pub echo_us: f64,
    /// The minimum round-trip time that the client's kernel has seen, µs.
    pub client_rtt_us: Option<f64>,
    /// The minimum that the server's kernel has seen, µs.
    pub server_rtt_us: Option<f64>,
}

impl ControlConnection {
    /// The proxy between its ends, where there is one for certain.
    #[must_use]
    pub fn find_proxy(&self) -> Option<TcpProxy> {
        let evidence = if self.shows_larger_segments() {
            TcpProxyEvidence::SegmentSize
        } else if self.shows_shorter_round_trips() {
            TcpProxyEvidence::RoundTrip
        } else {
            return None;
        };
        Some(TcpProxy {
            evidence,
            near: self.server,
            far: self.seen_client,
            server: self.seen_server,
            end_to_end_us: self.echo_us,
            near_rtt_us: self.client_rtt_us,
            far_rtt_us: self.server_rtt_us,
        })
    }

    /// `true` when the server's TCP did not see the client's announcement. Middleboxes lower the number in it and never raise it
    /// (`nft_exthdr_tcp_set_eval`, net/netfilter/nft_exthdr.c), as its sender may not get larger segments through.
    fn shows_larger_segments(&self) -> bool {
        self.announced_mss
            .is_some_and(|announced| self.server_mss > announced)
    }

    /// `true` when one kernel sees far less than the whole path and the other one the rest of it. A busy host only delays the exchange, and
    /// both kernels see the same.
    fn shows_shorter_round_trips(&self) -> bool {
        let (Some(client), Some(server)) = (self.client_rtt_us, self.server_rtt_us) else {
            return false;
        };
        let (near, far) = (client.min(server), client.max(server));
        let is_part_of =
            |part: f64, whole: f64| whole - part > MIN_EXCESS_US.max(MIN_EXCESS_PART * whole);
        is_part_of(near, self.echo_us) && is_part_of(near, far)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connection() -> ControlConnection {
        let address = |text: &str| text.parse().unwrap();
        ControlConnection {
            server: address("192.0.2.1:5201"),
            seen_client: address("198.51.100.7:61000"),
            seen_server: address("10.9.0.1:5201"),
            announced_mss: Some(1000),
            server_mss: 988,
            echo_us: 50_100.0,
            client_rtt_us: Some(50_000.0),
            server_rtt_us: Some(50_050.0),
        }
    }

    fn found(connection: ControlConnection) -> Option<TcpProxyEvidence> {
        Some(connection.find_proxy()?.evidence)
    }

    #[test]
    fn a_translator_of_addresses_is_no_proxy() {
        assert_eq!(found(connection()), None);
        // A middlebox that lowers the announcement, and one that takes the timestamps away.
        for server_mss in [500, 1000] {
            let other = ControlConnection {
                server_mss,
                ..connection()
            };
            assert_eq!(found(other), None);
        }
    }

    #[test]
    fn a_busy_host_is_no_proxy() {
        let busy = ControlConnection {
            echo_us: 90_000.0,
            client_rtt_us: Some(300.0),
            server_rtt_us: Some(280.0),
            ..connection()
        };
        assert_eq!(found(busy), None);
    }

    #[test]
    fn segments_larger_than_announced_show_a_proxy_at_any_round_trip_time() {
        let proxy = ControlConnection {
            server_mss: 1448,
            echo_us: 80.0,
            client_rtt_us: Some(5.0),
            server_rtt_us: Some(40.0),
            ..connection()
        };
        let found = proxy.find_proxy().unwrap();
        assert_eq!(found.evidence, TcpProxyEvidence::SegmentSize);
        assert_eq!(
            found.to_string(),
            "TCP is ended in the middle (a proxy, an ssh tunnel or a port forward): this end's connection goes to 192.0.2.1:5201, the \
             server at 10.9.0.1:5201 has another from 198.51.100.7:61000"
        );
        assert_eq!(found.reason(), "TCP ends at 192.0.2.1:5201 on the way");
    }

    #[test]
    fn a_proxy_that_copies_the_announcement_is_found_by_its_round_trips_from_either_end() {
        for (client, server) in [(800.0, 600_000.0), (600_000.0, 800.0)] {
            let proxy = ControlConnection {
                echo_us: 601_000.0,
                client_rtt_us: Some(client),
                server_rtt_us: Some(server),
                ..connection()
            };
            assert_eq!(found(proxy), Some(TcpProxyEvidence::RoundTrip));
        }
        // Too little for a claim.
        let near = ControlConnection {
            echo_us: 5_000.0,
            client_rtt_us: Some(100.0),
            server_rtt_us: Some(4_900.0),
            ..connection()
        };
        assert_eq!(found(near), None);
    }
}
