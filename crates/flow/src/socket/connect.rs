//! A client's data and control sockets.

use super::settings::SocketSettings;
use crate::error::RunError;
use crate::target::LocalBinding;
use caudal_core::plan::Transport;
use caudal_sys::tcp::EcnRequest;
use caudal_sys::{options, tcp};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io;
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::time::Duration;

/// Maximum time to connect.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Connects a TCP data or control socket to `peer`.
///
/// # Errors
/// When the socket cannot be opened, set up or connected within [`CONNECT_TIMEOUT`].
pub fn connect(
    peer: SocketAddr,
    binding: &LocalBinding,
    settings: Option<&SocketSettings>,
) -> Result<TcpStream, RunError> {
    connect_within(peer, binding, settings, CONNECT_TIMEOUT)
}

/// Connects a TCP data or control socket to `peer`, within `timeout`.
///
/// # Errors
/// When the socket cannot be opened, set up or connected in that time.
pub fn connect_within(
    peer: SocketAddr,
    binding: &LocalBinding,
    settings: Option<&SocketSettings>,
    timeout: Duration,
) -> Result<TcpStream, RunError> {
    let socket = tcp_socket(peer, binding, settings)?;
    let label = settings.and_then(|settings| settings.flow_label);
    let asks = settings.and_then(|settings| settings.ask_ecn);
    let _request = asks.map(ask_ecn).transpose()?;
    socket
        .connect_timeout(&labelled(&socket, peer, label)?, timeout)
        .map_err(|cause| RunError::Connect { peer, cause })?;
    Ok(socket.into())
}

/// Connects a control socket to `peer`, which announces `mss` as the largest segment that it takes: `true` where it does.
///
/// # Errors
/// When the socket cannot be opened, set up or connected within [`CONNECT_TIMEOUT`].
pub fn connect_announcing(
    peer: SocketAddr,
    binding: &LocalBinding,
    mss: u32,
) -> Result<(TcpStream, bool), RunError> {
    let settings = SocketSettings::new(Transport::Tcp);
    let socket = tcp_socket(peer, binding, Some(&settings))?;
    let is_announced = tcp::set_max_segment(&socket, mss).is_ok();
    socket
        .connect_timeout(&peer.into(), CONNECT_TIMEOUT)
        .map_err(|cause| RunError::Connect { peer, cause })?;
    Ok((socket.into(), is_announced))
}

/// Begins to connect a TCP data socket to `peer`, without waiting: the socket, and the error where that is known at once.
///
/// # Errors
/// When the socket cannot be opened or set up.
pub fn begin_connect(
    peer: SocketAddr,
    binding: &LocalBinding,
    settings: &SocketSettings,
) -> Result<(Socket, io::Result<()>), RunError> {
    let socket = tcp_socket(peer, binding, Some(settings))?;
    let address = labelled(&socket, peer, settings.flow_label)?;
    // The kernel decides as it sends the first segment, within the call.
    let _request = settings.ask_ecn.map(ask_ecn).transpose()?;
    let begun = match socket
        .set_nonblocking(true)
        .and_then(|()| socket.connect(&address))
    {
        Err(cause) if cause.raw_os_error() == Some(libc::EINPROGRESS) => Ok(()),
        begun => begun,
    };
    Ok((socket, begun))
}

/// A TCP socket set up for a connection to `peer`, which is still to be made.
///
/// # Errors
/// When the socket cannot be opened or set up.
pub fn unconnected_tcp(
    peer: SocketAddr,
    binding: &LocalBinding,
    settings: &SocketSettings,
) -> Result<Socket, RunError> {
    tcp_socket(peer, binding, Some(settings))
}

/// A TCP socket set up for a connection to `peer`.
fn tcp_socket(
    peer: SocketAddr,
    binding: &LocalBinding,
    settings: Option<&SocketSettings>,
) -> Result<Socket, RunError> {
    let domain = Domain::for_address(peer);
    let socket = if settings.is_some_and(|settings| settings.mptcp) {
        tcp::mptcp_socket(domain)
            .map_err(|cause| RunError::local("opening a Multipath TCP socket", cause))?
    } else {
        Socket::new(domain, Type::STREAM, Some(Protocol::TCP))
            .map_err(|cause| RunError::local("opening a TCP socket", cause))?
    };
    bind(&socket, binding, peer)?;
    if let Some(settings) = settings {
        settings.apply(&socket)?;
        if let Some(mss) = settings.mss {
            tcp::set_max_segment(&socket, mss)
                .map_err(|cause| RunError::local("setting the MSS", cause))?;
        }
    }
    Ok(socket)
}

/// Opens a UDP data socket connected to `peer`.
///
/// # Errors
/// When the socket cannot be opened, set up or connected.
pub fn connect_udp(
    peer: SocketAddr,
    binding: &LocalBinding,
    settings: &SocketSettings,
) -> Result<UdpSocket, RunError> {
    let socket = Socket::new(Domain::for_address(peer), Type::DGRAM, Some(Protocol::UDP))
        .map_err(|cause| RunError::local("opening a UDP socket", cause))?;
    bind(&socket, binding, peer)?;
    settings.apply(&socket)?;
    socket
        .connect(&labelled(&socket, peer, settings.flow_label)?)
        .map_err(|cause| RunError::Connect { peer, cause })?;
    Ok(socket.into())
}

/// Has connections that are opened meanwhile ask for ECN, or not.
fn ask_ecn(asks: bool) -> Result<EcnRequest, RunError> {
    EcnRequest::hold(asks).map_err(|cause| {
        let (what, value) = match asks {
            true => ("asking for ECN", 1),
            false => ("not asking for ECN", 2),
        };
        let what = format!("{what}, which takes the setting net.ipv4.tcp_ecn={value} of this host");
        RunError::local(what, cause)
    })
}

/// The address to connect to, with a flow label where one was asked for.
fn labelled(socket: &Socket, peer: SocketAddr, label: Option<u32>) -> Result<SockAddr, RunError> {
    let Some(label) = label else {
        return Ok(peer.into());
    };
    let failed = |cause| RunError::local(format!("setting the flow label {label}"), cause);
    let SocketAddr::V6(mut address) = peer else {
        let error = format!("{peer} is no IPv6 address");
        return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, error)));
    };
    options::set_flow_label(socket, *address.ip(), label).map_err(failed)?;
    address.set_flowinfo(label.to_be());
    Ok(SocketAddr::V6(address).into())
}

fn bind(socket: &Socket, binding: &LocalBinding, peer: SocketAddr) -> Result<(), RunError> {
    if let Some(device) = &binding.device {
        options::bind_device(socket, device)
            .map_err(|cause| RunError::local(format!("binding to the device {device:?}"), cause))?;
    }
    if let Some(address) = binding.address
        && address.is_ipv4() != peer.is_ipv4()
    {
        return Err(RunError::Local {
            wanted: format!("binding to {address}"),
            cause: io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("{peer} is of the other address family"),
            ),
        });
    }
    if binding.address.is_some() || binding.port.is_some() {
        let local = binding.socket_address(peer);
        if binding.port.is_some() {
            // The port may still be in use by an earlier connection in TIME_WAIT.
            options::set_reuse(socket).map_err(|cause| RunError::local("reusing a port", cause))?;
        }
        socket.bind(&SockAddr::from(local)).map_err(|cause| {
            RunError::local(format!("binding to {}", without_port_0(local)), cause)
        })?;
    }
    Ok(())
}

/// A local address as text, without a port that was not asked for.
fn without_port_0(local: SocketAddr) -> String {
    match local.port() {
        0 => local.ip().to_string(),
        _ => local.to_string(),
    }
}
