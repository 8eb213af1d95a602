//! The connections of a client of iperf 2.

use super::request::Iperf2Request;
use caudal_core::event::{ConnectingSocket, Event};
use caudal_core::plan::PlannedFlow;
use caudal_flow::socket::{DataSocket, data_connection};
use caudal_flow::{RunError, role};
use caudal_sys::clock::monotonic_ns;
use caudal_sys::{buffers, options, tcp, udp};
use caudal_wire::iperf2::TestMode;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io;
use std::net::{TcpStream, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

/// A connection of a client, with its flows.
pub(super) struct ClientConnection {
    pub(super) socket: Arc<DataSocket>,
    /// The flow in which this end sends.
    pub(super) up: Option<PlannedFlow>,
    /// The flow in which this end receives.
    pub(super) down: Option<PlannedFlow>,
    pub(super) connect_time: Duration,
}

/// Makes all connections of a request.
pub(super) fn connect_all(
    request: &Iperf2Request,
    events: &mut dyn FnMut(Event),
) -> Result<Vec<ClientConnection>, RunError> {
    (0..request.parallel)
        .map(|nth| connect(request, nth, events))
        .collect()
}

fn connect(
    request: &Iperf2Request,
    nth: u32,
    events: &mut dyn FnMut(Event),
) -> Result<ClientConnection, RunError> {
    let began_ns = monotonic_ns();
    let socket = open(request, nth)?;
    let peer = request.peer_of(nth);
    let address = SockAddr::from(peer);
    if request.is_udp() {
        socket.connect(&address)
    } else {
        socket.connect_timeout(&address, request.connect_timeout)
    }
    .map_err(|cause| RunError::Connect { peer, cause })?;
    let connect_time = Duration::from_nanos(monotonic_ns() - began_ns);
    if nth == 0 {
        events(Event::Connecting(connecting_socket(request, &socket)));
    }
    let socket = if request.is_udp() {
        let socket: UdpSocket = socket.into();
        udp::enable_gro(&socket);
        let _ = udp::enable_receive_timestamps(&socket);
        DataSocket::Udp(socket)
    } else {
        DataSocket::Tcp(TcpStream::from(socket))
    };
    let (up, down) = request.flows(nth);
    for flow in [up, down].into_iter().flatten() {
        let mut connection =
            data_connection(flow, nth + 1, role(flow.direction, true), &socket, peer);
        connection.connect_us = (!request.is_udp()).then_some(connect_time.as_nanos() as f64 / 1e3);
        events(Event::Opened(connection));
    }
    Ok(ClientConnection {
        socket: Arc::new(socket),
        up,
        down,
        connect_time,
    })
}

/// The first socket of a client, as it is shown.
fn connecting_socket(request: &Iperf2Request, socket: &Socket) -> ConnectingSocket {
    let buffer = match (request.is_udp(), request.mode) {
        (true, TestMode::Reverse) => buffers::receive_buffer(socket),
        _ => buffers::send_buffer(socket),
    };
    ConnectingSocket {
        peer: request.peer,
        transport: request.transport,
        length: request.block_length(),
        rate_bps: request.rate,
        buffer_bytes: buffer.unwrap_or(0),
    }
}

/// Opens the socket of the connection at position `nth`.
fn open(request: &Iperf2Request, nth: u32) -> Result<Socket, RunError> {
    let peer = request.peer;
    let (kind, protocol) = if request.is_udp() {
        (Type::DGRAM, Protocol::UDP)
    } else {
        (Type::STREAM, Protocol::TCP)
    };
    let socket = Socket::new(Domain::for_address(peer), kind, Some(protocol))
        .map_err(|cause| RunError::local("opening a socket", cause))?;
    bind(request, nth, &socket)?;
    if let Some(bytes) = request.window {
        let result = buffers::set_send_buffer(&socket, bytes, false)
            .and_then(|_| buffers::set_receive_buffer(&socket, bytes, false));
        granted("setting the buffers", result.map(drop))?;
    }
    if let Some(tos) = request.tos {
        let result = options::set_tos(&socket, tos);
        granted("setting the TOS byte", result)?;
    }
    if request.is_udp() {
        set_ttl(request, &socket)?;
    } else {
        set_up_tcp(request, &socket)?;
    }
    Ok(socket)
}

fn granted(wanted: impl Into<String>, result: io::Result<()>) -> Result<(), RunError> {
    result.map_err(|cause| RunError::local(wanted, cause))
}

fn bind(request: &Iperf2Request, nth: u32, socket: &Socket) -> Result<(), RunError> {
    let binding = &request.binding;
    if let Some(device) = &binding.device {
        let result = options::bind_device(socket, device);
        granted(format!("binding to the device {device}"), result)?;
    }
    if binding.address.is_none() && binding.port.is_none() {
        return Ok(());
    }
    let mut local = binding.socket_address(request.peer);
    let port = binding
        .port
        .map_or(0, |port| port.saturating_add(nth as u16));
    if !request.is_udp() {
        granted("reusing an address", socket.set_reuse_address(true))?;
    }
    local.set_port(port);
    granted(
        format!("binding to {}", local.ip()),
        socket.bind(&SockAddr::from(local)),
    )
}

fn set_ttl(request: &Iperf2Request, socket: &Socket) -> Result<(), RunError> {
    if !request.peer.ip().is_multicast() {
        return Ok(());
    }
    let ttl = request.ttl.unwrap_or(1);
    let result = if request.peer.is_ipv4() {
        socket.set_multicast_ttl_v4(ttl)
    } else {
        socket.set_multicast_hops_v6(ttl)
    };
    granted("setting the time to live", result)
}

fn set_up_tcp(request: &Iperf2Request, socket: &Socket) -> Result<(), RunError> {
    if let Some(mss) = request.mss {
        granted(
            "setting the segment size",
            tcp::set_max_segment(socket, mss),
        )?;
    }
    if request.no_delay {
        granted("disabling Nagle's algorithm", socket.set_tcp_nodelay(true))?;
    }
    if let Some(name) = &request.congestion {
        granted(
            format!("setting the congestion control {name}"),
            tcp::set_congestion(socket, name),
        )?;
    }
    if let Some(rate) = request.kernel_rate {
        granted(
            "setting the pacing rate",
            tcp::set_pacing_rate(socket, rate / 8),
        )?;
    }
    Ok(())
}
