//! The addresses of dual-stack sockets, as people know them.

use std::net::{SocketAddr, SocketAddrV6};

/// An address of a dual-stack socket with an IPv4-mapped IPv6 address as IPv4. One that belongs to an interface keeps it.
pub fn canonical(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V6(v6) => match v6.ip().to_ipv4_mapped() {
            Some(v4) => SocketAddr::from((v4, v6.port())),
            None => SocketAddrV6::new(*v6.ip(), v6.port(), 0, v6.scope_id()).into(),
        },
        SocketAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_local_address_keeps_its_interface() {
        for (address, expected) in [
            ("[fe80::1%3]:5201", "[fe80::1%3]:5201"),
            ("[2001:db8::1]:5201", "[2001:db8::1]:5201"),
            ("[::ffff:192.0.2.1]:5201", "192.0.2.1:5201"),
            ("192.0.2.1:5201", "192.0.2.1:5201"),
        ] {
            let address: SocketAddr = address.parse().unwrap();
            assert_eq!(canonical(address).to_string(), expected);
        }
    }
}
