//! Data sockets: opened, set up as the plan says, and asked what was granted.

use crate::error::RunError;
use caudal_core::plan::{Plan, Transport};
use caudal_core::sample::{Granted, Role};
use caudal_sys::udp::GsoSender;
use caudal_sys::{buffers, options, tcp, udp};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;

/// Receive buffer asked for on UDP flows, bytes: enough for a stall of the reader, little enough to stay
/// in the processor's cache on one machine.
pub const UDP_BUFFER: usize = 4 << 20;
/// How long connecting may take.
pub const CONNECTING: Duration = Duration::from_secs(5);
/// How long sent data may stay unacknowledged before the kernel gives the connection up.
const UNACKNOWLEDGED: Duration = Duration::from_secs(30);

/// Where a client's sockets leave from.
#[derive(Debug, Clone, Default)]
pub struct Origin {
    /// The local address to bind to.
    pub address: Option<IpAddr>,
    /// The interface to bind to.
    pub device: Option<String>,
    /// The local port to bind to; `None` lets the kernel choose.
    pub port: Option<u16>,
}

/// The options of a plan that concern its sockets.
#[derive(Debug, Clone)]
pub struct SocketPlan<'a> {
    /// The protocol.
    pub transport: Transport,
    /// Buffers asked for, bytes.
    pub window: Option<usize>,
    /// Largest segment.
    pub mss: Option<u32>,
    /// Congestion control.
    pub congestion: Option<&'a str>,
    /// Whether Nagle's algorithm is off.
    pub no_delay: bool,
    /// DSCP.
    pub dscp: Option<u8>,
    /// Whether TCP is opened as Multipath TCP.
    pub mptcp: bool,
    /// Whether datagrams may be joined on receive, and are stamped then.
    pub bulk: bool,
}

impl<'a> SocketPlan<'a> {
    /// What `plan` says of its sockets.
    #[must_use]
    pub fn of(plan: &'a Plan) -> Self {
        match plan {
            Plan::Tcp(plan) => Self {
                transport: Transport::Tcp,
                window: plan.bulk.window.map(|bytes| bytes.get() as usize),
                mss: plan.mss,
                congestion: plan.congestion.as_deref(),
                no_delay: plan.no_delay,
                dscp: plan.bulk.dscp,
                mptcp: plan.mptcp,
                bulk: true,
            },
            Plan::Udp(plan) => Self {
                transport: Transport::Udp,
                window: plan.bulk.window.map(|bytes| bytes.get() as usize),
                mss: None,
                congestion: None,
                no_delay: false,
                dscp: plan.bulk.dscp,
                mptcp: false,
                bulk: true,
            },
            Plan::Echo(plan) => Self {
                transport: plan.transport,
                window: plan.window.map(|bytes| bytes.get() as usize),
                mss: None,
                congestion: plan.congestion.as_deref(),
                no_delay: plan.no_delay,
                dscp: plan.dscp,
                mptcp: false,
                bulk: false,
            },
        }
    }

    /// The same for the end of a flow that has this role: how a receiver of bulk payload would send is
    /// nobody's concern, and its kernel need not offer the congestion control asked for.
    #[must_use]
    pub fn for_role(&self, role: Role) -> Self {
        Self {
            congestion: self
                .congestion
                .filter(|_| role == Role::Sender || !self.bulk),
            ..self.clone()
        }
    }

    /// Sets an open socket up; what must come before connecting is set before connecting.
    ///
    /// # Errors
    /// Names the option the kernel refused.
    pub fn apply(&self, socket: impl AsFd) -> Result<(), RunError> {
        let socket = socket.as_fd();
        match self.transport {
            Transport::Tcp => {
                if let Some(bytes) = self.window {
                    buffers::set_send_buffer(socket, bytes, false)
                        .and_then(|_| buffers::set_receive_buffer(socket, bytes, false))
                        .map_err(|cause| RunError::local("setting --window", cause))?;
                }
                if let Some(name) = self.congestion {
                    set_congestion(socket, name)?;
                }
                if self.no_delay {
                    socket2::SockRef::from(&socket)
                        .set_tcp_nodelay(true)
                        .map_err(|cause| RunError::local("setting --nodelay", cause))?;
                }
                // A peer that vanished without a word is noticed; a kernel without the option waits longer.
                let _ = socket2::SockRef::from(&socket).set_tcp_user_timeout(Some(UNACKNOWLEDGED));
            }
            Transport::Udp => {
                let bytes = self.window.unwrap_or(UDP_BUFFER);
                let force = self.window.is_none();
                buffers::set_receive_buffer(socket, bytes, force)
                    .and_then(|_| buffers::set_send_buffer(socket, bytes, force))
                    .map_err(|cause| RunError::local("setting --window", cause))?;
                if self.bulk {
                    // Without these the kernel hands datagrams over one by one, and stamps are our own.
                    udp::enable_gro(socket);
                    let _ = udp::enable_receive_timestamps(socket);
                }
            }
        }
        if let Some(dscp) = self.dscp {
            options::set_dscp(socket, dscp)
                .map_err(|cause| RunError::local("setting --dscp", cause))?;
        }
        Ok(())
    }
}

fn set_congestion(socket: impl AsFd, name: &str) -> Result<(), RunError> {
    tcp::set_congestion(socket, name)
        .map_err(|cause| not_granted(name, &tcp::available_congestion_controls(), cause))
}

/// Why a kernel that offers these congestion controls did not grant one.
fn not_granted(name: &str, offered: &[String], cause: io::Error) -> RunError {
    let is_here = offered.iter().any(|known| known == name);
    let wanted = if is_here && cause.kind() == io::ErrorKind::PermissionDenied {
        format!("{name} is not in net.ipv4.tcp_allowed_congestion_control, so only root may use it")
    } else {
        format!(
            "no congestion control {name:?} here (this kernel offers {})",
            offered.join(", ")
        )
    };
    RunError::local(wanted, cause)
}

/// Connects a TCP data or control socket to `peer`.
///
/// # Errors
/// When the socket cannot be opened, set up or connected within five seconds.
pub fn connect(
    peer: SocketAddr,
    origin: &Origin,
    plan: Option<&SocketPlan<'_>>,
) -> Result<TcpStream, RunError> {
    connect_within(peer, origin, plan, CONNECTING)
}

/// The same within another time.
///
/// # Errors
/// When the socket cannot be opened, set up or connected in that time.
pub fn connect_within(
    peer: SocketAddr,
    origin: &Origin,
    plan: Option<&SocketPlan<'_>>,
    most: Duration,
) -> Result<TcpStream, RunError> {
    let domain = Domain::for_address(peer);
    let socket = if plan.is_some_and(|plan| plan.mptcp) {
        tcp::mptcp_socket(domain)
            .map_err(|cause| RunError::local("opening a Multipath TCP socket", cause))?
    } else {
        Socket::new(domain, Type::STREAM, Some(Protocol::TCP))
            .map_err(|cause| RunError::local("opening a TCP socket", cause))?
    };
    leave_from(&socket, origin, peer)?;
    if let Some(plan) = plan {
        plan.apply(&socket)?;
        if let Some(mss) = plan.mss {
            tcp::set_max_segment(&socket, mss)
                .map_err(|cause| RunError::local("setting --mss", cause))?;
        }
    }
    socket
        .connect_timeout(&SockAddr::from(peer), most)
        .map_err(|cause| RunError::Connect { peer, cause })?;
    Ok(socket.into())
}

/// Opens a UDP data socket connected to `peer`.
///
/// # Errors
/// When the socket cannot be opened, set up or connected.
pub fn connect_udp(
    peer: SocketAddr,
    origin: &Origin,
    plan: &SocketPlan<'_>,
) -> Result<UdpSocket, RunError> {
    let socket = Socket::new(Domain::for_address(peer), Type::DGRAM, Some(Protocol::UDP))
        .map_err(|cause| RunError::local("opening a UDP socket", cause))?;
    leave_from(&socket, origin, peer)?;
    plan.apply(&socket)?;
    socket
        .connect(&SockAddr::from(peer))
        .map_err(|cause| RunError::Connect { peer, cause })?;
    Ok(socket.into())
}

fn leave_from(socket: &Socket, origin: &Origin, peer: SocketAddr) -> Result<(), RunError> {
    if let Some(device) = &origin.device {
        options::bind_device(socket, device)
            .map_err(|cause| RunError::local(format!("binding to the device {device:?}"), cause))?;
    }
    if let Some(address) = origin.address
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
    if origin.address.is_some() || origin.port.is_some() {
        let any: IpAddr = match peer {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let local = SocketAddr::new(origin.address.unwrap_or(any), origin.port.unwrap_or(0));
        if origin.port.is_some() {
            // A port that an ended connection still lingers on.
            options::set_reuse(socket).map_err(|cause| RunError::local("reusing a port", cause))?;
        }
        socket
            .bind(&SockAddr::from(local))
            .map_err(|cause| RunError::local(format!("binding to {}", at(local)), cause))?;
    }
    Ok(())
}

/// A local address in words, without a port that was not asked for.
fn at(local: SocketAddr) -> String {
    match local.port() {
        0 => local.ip().to_string(),
        _ => local.to_string(),
    }
}

/// A listening TCP socket and a UDP socket on one port; IPv4 and IPv6 on both where no address is given.
///
/// # Errors
/// When the address or port cannot be had.
pub fn listen(
    address: Option<IpAddr>,
    port: u16,
) -> io::Result<(std::net::TcpListener, UdpSocket, SocketAddr)> {
    match address {
        Some(address) => listen_on(address, port),
        None => listen_on(Ipv6Addr::UNSPECIFIED.into(), port).or_else(|cause| {
            match cause.raw_os_error() {
                // A host without IPv6.
                Some(libc::EAFNOSUPPORT | libc::EADDRNOTAVAIL) => {
                    listen_on(Ipv4Addr::UNSPECIFIED.into(), port)
                }
                _ => Err(cause),
            }
        }),
    }
}

fn listen_on(
    address: IpAddr,
    port: u16,
) -> io::Result<(std::net::TcpListener, UdpSocket, SocketAddr)> {
    let mut attempts = 0;
    loop {
        let domain = Domain::for_address(SocketAddr::new(address, port));
        // A listener for Multipath TCP gives plain TCP to those who ask for that; a kernel without it
        // gives plain TCP to all.
        let listener = tcp::mptcp_socket(domain)
            .or_else(|_| Socket::new(domain, Type::STREAM, Some(Protocol::TCP)))?;
        if address == IpAddr::V6(Ipv6Addr::UNSPECIFIED) {
            listener.set_only_v6(false)?;
        }
        listener.set_reuse_address(true)?;
        listener.bind(&SockAddr::from(SocketAddr::new(address, port)))?;
        listener.listen(1024)?;
        let local = listener
            .local_addr()?
            .as_socket()
            .ok_or(io::ErrorKind::AddrNotAvailable)?;
        match udp_on(local) {
            Ok(udp) => return Ok((listener.into(), udp.into(), local)),
            // With port 0 the kernel chose one that UDP had taken: another will do.
            Err(_) if port == 0 && attempts < 16 => attempts += 1,
            Err(cause) => return Err(cause),
        }
    }
}

fn udp_on(local: SocketAddr) -> io::Result<Socket> {
    let udp = Socket::new(Domain::for_address(local), Type::DGRAM, Some(Protocol::UDP))?;
    if local.ip() == IpAddr::V6(Ipv6Addr::UNSPECIFIED) {
        udp.set_only_v6(false)?;
    }
    // A server that already listens here must be noticed: reuse comes after binding.
    udp.bind(&SockAddr::from(local))?;
    options::set_reuse(&udp)?;
    udp::enable_packet_info(&udp)?;
    Ok(udp)
}

/// A server's UDP socket for one flow: from the address the client wrote to, back to the client.
///
/// # Errors
/// When the kernel does not grant it.
pub fn answer_udp(local: SocketAddr, peer: SocketAddr) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(peer), Type::DGRAM, Some(Protocol::UDP))?;
    if peer.is_ipv6() {
        socket.set_only_v6(false)?;
    }
    options::set_reuse(&socket)?;
    socket.bind(&SockAddr::from(local))?;
    socket.connect(&SockAddr::from(peer))?;
    Ok(socket.into())
}

/// What the kernel granted any socket: its addresses and buffers.
fn granted(
    socket: impl AsFd,
    local: io::Result<SocketAddr>,
    peer: io::Result<SocketAddr>,
) -> Granted {
    let name = |address: io::Result<SocketAddr>| {
        address.map(plain).map_or(String::new(), |a| a.to_string())
    };
    let socket = socket.as_fd();
    Granted {
        local: name(local),
        peer: name(peer),
        send_buffer_bytes: buffers::send_buffer(socket).ok().map(u64::from),
        receive_buffer_bytes: buffers::receive_buffer(socket).ok().map(u64::from),
        ..Granted::default()
    }
}

/// What the kernel granted a TCP connection.
#[must_use]
pub fn granted_tcp(stream: &TcpStream, mptcp: bool) -> Granted {
    let info = tcp::tcp_info(stream).ok();
    Granted {
        mss: info.as_ref().map(|info| info.snd_mss),
        path_mtu: info.as_ref().map(|info| info.pmtu),
        congestion: tcp::congestion(stream).ok(),
        mptcp: if mptcp {
            tcp::is_mptcp_active(stream)
        } else {
            None
        },
        ..granted(stream, stream.local_addr(), stream.peer_addr())
    }
}

/// What the kernel granted a UDP socket whose datagrams come and go one by one.
#[must_use]
pub fn granted_single_udp(socket: &UdpSocket) -> Granted {
    Granted {
        path_mtu: udp::path_mtu(socket),
        ..granted(socket, socket.local_addr(), socket.peer_addr())
    }
}

/// What the kernel granted a UDP socket that carries datagrams in batches.
#[must_use]
pub fn granted_udp(socket: &UdpSocket, length: u32) -> Granted {
    Granted {
        segments_per_send: Some(GsoSender::new(socket).max_datagrams(length as usize) as u32),
        receive_offload: Some(udp::enable_gro(socket)),
        ..granted_single_udp(socket)
    }
}

/// An IPv4 address that a dual-stack socket shows as IPv6, as IPv4.
#[must_use]
pub fn plain(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// Whether a call failed only because there is nothing to read or no room to write yet, or because of a
/// signal: it may be made again.
pub(crate) fn not_yet(cause: &io::Error) -> bool {
    matches!(
        cause.kind(),
        io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock
    )
}

/// Whether receiving from a UDP socket failed only because no datagram was there: the wait for one may be
/// over, and a refusal is about one that was sent.
pub(crate) fn no_datagram(cause: &io::Error) -> bool {
    not_yet(cause)
        || matches!(
            cause.kind(),
            io::ErrorKind::TimedOut | io::ErrorKind::ConnectionRefused
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_congestion_control_kept_for_root_is_not_called_missing() {
        let offered = ["reno".to_owned(), "cubic".to_owned()];
        let said = |name, code| {
            not_granted(name, &offered, io::Error::from_raw_os_error(code)).to_string()
        };
        assert!(said("cubic", libc::EPERM).contains(
            "cubic is not in net.ipv4.tcp_allowed_congestion_control, so only root may use it"
        ));
        assert!(said("warp", libc::ENOENT).contains("offers reno, cubic"));
    }
}
