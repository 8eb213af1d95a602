//! The sockets a server listens on.

use super::server::ServerOptions;
use caudal_sys::{buffers, options as flags, tcp as kernel, udp as datagrams};
use socket2::{Domain, Protocol, SockAddr, SockRef, Socket, Type};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::os::fd::AsFd;

pub(super) fn place(options: &ServerOptions, port: u16) -> (Domain, SocketAddr) {
    let address = options.bind.unwrap_or(if options.v6 {
        Ipv6Addr::UNSPECIFIED.into()
    } else {
        Ipv4Addr::UNSPECIFIED.into()
    });
    let local = SocketAddr::new(address, port);
    (Domain::for_address(local), local)
}

pub(super) fn prepare(
    socket: &Socket,
    options: &ServerOptions,
    local: SocketAddr,
) -> io::Result<()> {
    if local.ip() == IpAddr::V6(Ipv6Addr::UNSPECIFIED) {
        socket.set_only_v6(false)?;
    }
    if let Some(device) = &options.device {
        flags::bind_device(socket, device)?;
    }
    if let Some(tos) = options.tos {
        set_tos(socket, local.is_ipv6(), tos)?;
    }
    Ok(())
}

/// A socket on all addresses; on a host without IPv6 on those of IPv4.
pub(super) fn on_all<T>(
    options: &ServerOptions,
    listen: impl Fn(&ServerOptions) -> io::Result<T>,
) -> io::Result<T> {
    listen(options).or_else(|cause| match cause.raw_os_error() {
        Some(libc::EAFNOSUPPORT | libc::EADDRNOTAVAIL) if options.bind.is_none() && options.v6 => {
            listen(&ServerOptions {
                v6: false,
                ..options.clone()
            })
        }
        _ => Err(cause),
    })
}

pub(super) fn listen_tcp(options: &ServerOptions, port: u16) -> io::Result<TcpListener> {
    on_all(options, |options| {
        let (domain, local) = place(options, port);
        let socket = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
        prepare(&socket, options, local)?;
        socket.set_reuse_address(true)?;
        if let Some(window) = options.window {
            buffers::set_receive_buffer(&socket, window, false)?;
            buffers::set_send_buffer(&socket, window, false)?;
        }
        if let Some(mss) = options.mss {
            kernel::set_max_segment(&socket, mss)?;
        }
        if let Some(name) = &options.congestion {
            kernel::set_congestion(&socket, name)?;
        }
        socket.bind(&SockAddr::from(local))?;
        socket.listen(1024)?;
        Ok(socket.into())
    })
}

pub(super) fn listen_udp(options: &ServerOptions, port: u16) -> io::Result<UdpSocket> {
    on_all(options, |options| {
        let (domain, local) = place(options, port);
        let socket = Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
        prepare(&socket, options, local)?;
        if let Some(window) = options.window {
            buffers::set_receive_buffer(&socket, window, false)?;
        }
        let is_group = options.bind.is_some_and(|bind| bind.is_multicast());
        if is_group {
            flags::set_reuse(&socket)?;
        }
        socket.bind(&SockAddr::from(local))?;
        // A server that already listens here must be noticed: reuse comes after binding.
        flags::set_reuse(&socket)?;
        datagrams::enable_packet_info(&socket)?;
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

pub(super) fn set_tos(socket: impl AsFd, v6: bool, tos: u8) -> io::Result<()> {
    let socket = SockRef::from(&socket);
    if v6 {
        socket.set_tclass_v6(u32::from(tos))?;
        let _ = socket.set_tos_v4(u32::from(tos));
        return Ok(());
    }
    socket.set_tos_v4(u32::from(tos))
}
