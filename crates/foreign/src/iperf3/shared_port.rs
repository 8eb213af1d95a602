//! Clients of iperf3 on the port of a server of caudal: recognised by the cookie that all their connections begin with.

use super::registry::{Delivery, Iperf3Registry};
use super::server;
use super::server_options::Iperf3Options;
use super::server_state::Iperf3ServerState;
use caudal_engine::server::{
    Recognition, SharedPortClient, SharedPortDelivery, SharedPortProtocol,
};
use caudal_flow::UnvalidatedSocket;
use caudal_wire::iperf3::ControlState;
use caudal_wire::iperf3::cookie::{COOKIE_BYTES, Cookie};
use caudal_wire::iperf3::datagram::answer_to;
use caudal_wire::protocol::Protocol;
use std::fmt;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};

/// The clients of iperf3 at a server.
pub struct Iperf3SharedPort {
    state: Iperf3ServerState,
}

impl Iperf3SharedPort {
    /// Clients that are treated like this.
    #[must_use]
    pub fn new(options: Iperf3Options) -> Self {
        Self {
            state: Iperf3ServerState {
                options,
                tests: Iperf3Registry::default(),
            },
        }
    }
}

impl fmt::Debug for Iperf3SharedPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Iperf3SharedPort")
            .field("options", &self.state.options)
            .finish_non_exhaustive()
    }
}

/// The cookie at the beginning of a connection.
fn cookie_of(first: &[u8]) -> Option<Cookie> {
    Cookie::decode(first.first_chunk::<COOKIE_BYTES>()?)
}

impl SharedPortProtocol for Iperf3SharedPort {
    fn protocol(&self) -> Protocol {
        Protocol::Iperf3
    }

    fn requires_login(&self) -> bool {
        self.state.options.login.is_some()
    }

    fn recognise(&self, first: &[u8]) -> Recognition {
        if !self.state.options.enabled || !Cookie::may_begin_with(first) {
            Recognition::Other
        } else if first.len() < COOKIE_BYTES {
            Recognition::Incomplete(COOKIE_BYTES)
        } else {
            Recognition::Recognised
        }
    }

    fn deliver(&self, first: &[u8], serial: u64, stream: TcpStream) -> SharedPortDelivery {
        let Some(cookie) = cookie_of(first) else {
            return SharedPortDelivery::Unwanted(stream);
        };
        match self.state.tests.deliver(&cookie, serial, stream) {
            Delivery::Taken => SharedPortDelivery::Taken,
            Delivery::Unwanted(stream) => SharedPortDelivery::Unwanted(stream),
            Delivery::New(stream) => SharedPortDelivery::New(stream),
        }
    }

    fn serve(&self, client: &SharedPortClient<'_>, first: &[u8], stream: TcpStream) {
        if let Some(cookie) = cookie_of(first) {
            server::serve(&self.state, client, stream, cookie);
        }
    }

    fn refuse(&self, stream: &mut TcpStream) {
        let _ = stream.write_all(&[ControlState::AccessDenied.byte()]);
    }

    fn take_datagram(
        &self,
        datagram: &[u8],
        source: SocketAddr,
        open: &dyn Fn() -> io::Result<UnvalidatedSocket>,
    ) -> bool {
        let Some(answer) = answer_to(datagram) else {
            return false;
        };
        self.state.tests.greet(source, answer, open);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_recognised_by_a_whole_cookie() {
        let port = Iperf3SharedPort::new(Iperf3Options::default());
        let cookie = Cookie::from_random([7; COOKIE_BYTES - 1]);
        let bytes = cookie.bytes();
        assert_eq!(
            port.recognise(&bytes[..5]),
            Recognition::Incomplete(COOKIE_BYTES)
        );
        assert_eq!(port.recognise(bytes), Recognition::Recognised);
        assert_eq!(port.recognise(b"\x16\x03\x01"), Recognition::Other);
        let disabled = Iperf3SharedPort::new(Iperf3Options {
            enabled: false,
            ..Iperf3Options::default()
        });
        assert_eq!(disabled.recognise(bytes), Recognition::Other);
    }
}
