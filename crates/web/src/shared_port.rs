//! Browsers on the port of a server of caudal: recognised by the first bytes of HTTP.

use crate::assets::asset;
use crate::http::{
    Body, HeadError, RequestHead, RequestMethod, RequestRoute, Status, is_own_or_listed, read_head,
    respond, session_of, whole_response,
};
use crate::ndt7;
use crate::options::WebOptions;
use crate::start_budget::StartBudget;
use crate::visitor::{self, VisitorRegistry, VisitorTest};
use caudal_core::plan::Direction;
use caudal_engine::ClientRefusal;
use caudal_engine::server::{
    Recognition, SharedPortClient, SharedPortDelivery, SharedPortProtocol,
};
use caudal_flow::{ClientSource, UnvalidatedSocket};
use caudal_sys::clock::monotonic_ns;
use caudal_wire::message::Refusal;
use caudal_wire::protocol::Protocol;
use std::fmt;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};

/// What a request begins with.
const BEGINNINGS: [&[u8]; 2] = [b"GET /", b"HEAD /"];
/// What that of a connection of a test begins with, and its length with the secret.
const OF_TEST: &[u8] = b"GET /s/";
const OF_TEST_BYTES: usize = OF_TEST.len() + 32;

/// Browsers at a server.
pub struct WebSharedPort {
    options: WebOptions,
    tests: VisitorRegistry,
    budget: StartBudget,
}

impl WebSharedPort {
    /// Browsers that are treated like this.
    #[must_use]
    pub fn new(options: WebOptions) -> Self {
        Self {
            budget: StartBudget::new(options.starts_per_hour, options.bytes_per_hour.get()),
            options,
            tests: VisitorRegistry::default(),
        }
    }

    /// Answers the request at the beginning of a connection.
    fn answer(&self, client: &SharedPortClient<'_>, first: &[u8], stream: TcpStream) {
        let (head, rest) = match read_head(first, &stream, client.stop_fd()) {
            Ok(read) => read,
            Err(HeadError::Gone) => return,
            Err(error) => {
                let status = match error {
                    HeadError::TooLarge => Status::HeadTooLarge,
                    _ => Status::BadRequest,
                };
                let text = format!("{error}\n");
                respond(&stream, status, RequestMethod::Get, Body::Text(&text));
                client.send_refused(ClientRefusal::protocol(error));
                return;
            }
        };
        let answer = |status, body: Body<'_>| respond(&stream, status, head.method, body);
        match RequestRoute::of(&head.path) {
            RequestRoute::Page(path) => match asset(path) {
                Some((content, kind)) => answer(Status::Ok, Body::File(content, kind)),
                None => answer(Status::NotFound, Body::Text("There is nothing here.\n")),
            },
            RequestRoute::Result(id) => {
                let archive = self.options.archive.as_ref();
                match archive.and_then(|archive| archive.page(id)) {
                    Some(html) => answer(Status::Ok, Body::Result(&html)),
                    None => answer(Status::NotFound, Body::Text("There is no such result.\n")),
                }
            }
            RequestRoute::Unknown | RequestRoute::Flow(..) => {
                answer(Status::NotFound, Body::Text("There is nothing here.\n"));
            }
            route => {
                // A client that is to wait for the answer sends nothing before it.
                if !rest.is_empty() {
                    let text = "Nothing may follow a request for a WebSocket before its answer.\n";
                    return answer(Status::BadRequest, Body::Text(text));
                }
                self.test(client, &head, &route, stream);
            }
        }
    }

    /// Begins a test that a request asks for.
    fn test(
        &self,
        client: &SharedPortClient<'_>,
        head: &RequestHead,
        route: &RequestRoute<'_>,
        stream: TcpStream,
    ) {
        let origin = head.origin.as_deref();
        if !is_own_or_listed(origin, head.host.as_deref(), &self.options.origins) {
            let text = "Pages of other origins may not measure here; the operator of this server can allow them.\n";
            respond(&stream, Status::Forbidden, head.method, Body::Text(text));
            let origin = origin.unwrap_or_default();
            let reason = format!(
                "a page of {origin} wanted to measure, which is not listed with --web-origin"
            );
            client.send_refused(ClientRefusal::new(Refusal::Denied, reason));
            return;
        }
        let Some(upgrade) = head
            .upgrade
            .as_ref()
            .filter(|_| head.method == RequestMethod::Get)
        else {
            let text = "This path is for a WebSocket.\n";
            let status = Status::UpgradeRequired;
            return respond(&stream, status, head.method, Body::Text(text));
        };
        let source = ClientSource::from(client.peer().ip());
        let max_bytes = match self.budget.begin(source, monotonic_ns()) {
            Ok(max_bytes) => max_bytes,
            Err(wait_ns) => {
                let minutes = wait_ns.div_ceil(60_000_000_000);
                let text = format!(
                    "Your network has used up its tests of this hour; try again in {minutes} min.\n"
                );
                let status = Status::TooManyRequests;
                respond(&stream, status, head.method, Body::Text(&text));
                let reason = "its source has used up its tests of this hour";
                client.send_refused(ClientRefusal::new(Refusal::Limit, reason));
                return;
            }
        };
        let carried = match route {
            RequestRoute::Ndt7Download => {
                ndt7::serve(client, head, stream, Direction::Down, max_bytes)
            }
            RequestRoute::Ndt7Upload => ndt7::serve(client, head, stream, Direction::Up, max_bytes),
            _ => {
                let test = VisitorTest {
                    client,
                    options: &self.options,
                    registry: &self.tests,
                    max_bytes,
                };
                visitor::serve(&test, head, upgrade, stream)
            }
        };
        self.budget.ended(source, max_bytes, carried);
    }
}

impl fmt::Debug for WebSharedPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebSharedPort")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl SharedPortProtocol for WebSharedPort {
    fn protocol(&self) -> Protocol {
        Protocol::Web
    }

    fn requires_login(&self) -> bool {
        false
    }

    fn recognise(&self, first: &[u8]) -> Recognition {
        let beginning = BEGINNINGS.iter().find(|beginning| {
            let len = first.len().min(beginning.len());
            first.get(..len) == beginning.get(..len)
        });
        let Some(beginning) = beginning else {
            return Recognition::Other;
        };
        // No request for a connection of a test is as short as this.
        let len = OF_TEST.len().min(first.len());
        let wanted = match OF_TEST.get(..len) == first.get(..len) && first.len() > beginning.len() {
            true => OF_TEST_BYTES,
            false => beginning.len(),
        };
        if first.len() < wanted {
            Recognition::Incomplete(wanted)
        } else {
            Recognition::Recognised
        }
    }

    fn deliver(&self, first: &[u8], _: u64, stream: TcpStream) -> SharedPortDelivery {
        match session_of(first) {
            Some(secret) => self.tests.deliver(secret, first, stream),
            None => SharedPortDelivery::New(stream),
        }
    }

    fn serve(&self, client: &SharedPortClient<'_>, first: &[u8], stream: TcpStream) {
        let _ = stream.set_nonblocking(false);
        self.answer(client, first, stream);
    }

    fn refuse(&self, stream: &mut TcpStream) {
        let text = "This server cannot take you now; try again later, or ask its operator.\n";
        let _ = stream.write_all(&whole_response(
            Status::Unavailable,
            RequestMethod::Get,
            Body::Text(text),
        ));
    }

    fn take_datagram(
        &self,
        _: &[u8],
        _: SocketAddr,
        _: &dyn Fn() -> io::Result<UnvalidatedSocket>,
    ) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_recognised_by_its_method_and_a_flow_of_a_test_with_its_secret() {
        let port = WebSharedPort::new(WebOptions::default());
        assert_eq!(port.recognise(b""), Recognition::Incomplete(5));
        assert_eq!(port.recognise(b"GE"), Recognition::Incomplete(5));
        assert_eq!(port.recognise(b"HEA"), Recognition::Incomplete(6));
        assert_eq!(port.recognise(b"GET / HTTP/1.1"), Recognition::Recognised);
        assert_eq!(port.recognise(b"HEAD / HTTP"), Recognition::Recognised);
        assert_eq!(
            port.recognise(b"GET /s/0123"),
            Recognition::Incomplete(OF_TEST_BYTES)
        );
        let whole = [OF_TEST, &[b'0'; 32]].concat();
        assert_eq!(port.recognise(&whole), Recognition::Recognised);
        for other in [b"POST / HTTP".as_slice(), b"\x16\x03\x01", b"getuvwxyz"] {
            assert_eq!(port.recognise(other), Recognition::Other, "{other:?}");
        }
    }
}
