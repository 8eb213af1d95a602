//! The sockets on which a server of iperf 2 listens.

use super::server_options::Iperf2Options;
use caudal_sys::{buffers, options as socket_options, tcp, udp};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};

fn address(options: &Iperf2Options, port: u16) -> (Domain, SocketAddr) {
    let address = options.bind.unwrap_or(if options.v6 {
        Ipv6Addr::UNSPECIFIED.into()
    } else {
        Ipv4Addr::UNSPECIFIED.into()
    });
    let local = SocketAddr::new(address, port);
    (Domain::for_address(local), local)
}

fn prepare(socket: &Socket, options: &Iperf2Options, local: SocketAddr) -> io::Result<()> {
    if local.ip() == IpAddr::V6(Ipv6Addr::UNSPECIFIED) {
        socket.set_only_v6(false)?;
    }
    if let Some(device) = &options.device {
        socket_options::bind_device(socket, device)?;
    }
    if let Some(tos) = options.tos {
        socket_options::set_tos(socket, tos)?;
    }
    Ok(())
}

/// A socket on all addresses; on a host without IPv6, on those of IPv4.
fn on_all<T>(
    options: &Iperf2Options,
    listen: impl Fn(&Iperf2Options) -> io::Result<T>,
) -> io::Result<T> {
    listen(options).or_else(|cause| match cause.raw_os_error() {
        Some(libc::EAFNOSUPPORT | libc::EADDRNOTAVAIL) if options.bind.is_none() && options.v6 => {
            listen(&Iperf2Options {
                v6: false,
                ..options.clone()
            })
        }
        _ => Err(cause),
    })
}

/// The listening TCP socket.
///
/// # Errors
/// When the kernel does not grant it.
pub(super) fn listen_tcp(options: &Iperf2Options, port: u16) -> io::Result<TcpListener> {
    on_all(options, |options| {
        let (domain, local) = address(options, port);
        let socket = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
        prepare(&socket, options, local)?;
        socket.set_reuse_address(true)?;
        if let Some(window) = options.window {
            buffers::set_receive_buffer(&socket, window, false)?;
            buffers::set_send_buffer(&socket, window, false)?;
        }
        if let Some(mss) = options.mss {
            tcp::set_max_segment(&socket, mss)?;
        }
        if let Some(name) = &options.congestion {
            tcp::set_congestion(&socket, name)?;
        }
        socket.bind(&SockAddr::from(local))?;
        socket.listen(1024)?;
        Ok(socket.into())
    })
}

/// The UDP socket on which the first datagrams of all flows arrive.
///
/// # Errors
/// When the kernel does not grant it.
pub(super) fn listen_udp(options: &Iperf2Options, port: u16) -> io::Result<UdpSocket> {
    on_all(options, |options| {
        let (domain, local) = address(options, port);
        let socket = Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
        prepare(&socket, options, local)?;
        if let Some(window) = options.window {
            buffers::set_receive_buffer(&socket, window, false)?;
        }
        let is_group = options.bind.is_some_and(|bind| bind.is_multicast());
        if is_group {
            socket_options::set_reuse(&socket)?;
        }
        socket.bind(&SockAddr::from(local))?;
        // Reuse is set after binding, so that binding fails where another server already listens.
        socket_options::set_reuse(&socket)?;
        udp::enable_packet_info(&socket)?;
        for (group, source) in &options.groups {
            match (group, source) {
                (IpAddr::V4(group), None) => {
                    socket.join_multicast_v4(group, &Ipv4Addr::UNSPECIFIED)?;
                }
                (IpAddr::V4(group), Some(IpAddr::V4(source))) => {
                    socket.join_ssm_v4(source, group, &Ipv4Addr::UNSPECIFIED)?;
                }
                (IpAddr::V6(group), None) => socket.join_multicast_v6(group, 0)?,
                _ => return Err(io::ErrorKind::Unsupported.into()),
            }
        }
        Ok(socket.into())
    })
}
