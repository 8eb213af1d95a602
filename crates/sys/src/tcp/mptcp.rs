//! Multipath TCP.

use std::ffi::c_int;
use std::io;
use std::os::fd::AsFd;

use socket2::{Domain, Protocol, Socket, Type};

use crate::raw;

/// Source: include/uapi/linux/mptcp.h and include/linux/socket.h.
const SOL_MPTCP: c_int = 284;
const MPTCP_INFO: c_int = 1;
const MPTCP_INFO_FLAG_FALLBACK: u32 = 1;

/// A stream socket that uses Multipath TCP when the peer does too, and TCP otherwise.
///
/// # Errors
/// `EPROTONOSUPPORT` where the kernel is built without it, `ENOPROTOOPT` where it is switched off.
pub fn mptcp_socket(domain: Domain) -> io::Result<Socket> {
    Socket::new(
        domain,
        Type::STREAM,
        Some(Protocol::from(libc::IPPROTO_MPTCP)),
    )
}

/// `true` when a connected socket uses MPTCP; `false` for TCP and after a fallback to it.
pub fn is_mptcp_active(socket: impl AsFd) -> Option<bool> {
    // `mptcpi_flags` follows six counters of a byte each, at its natural alignment.
    let mut info = [0; 12];
    match raw::get_option(socket, SOL_MPTCP, MPTCP_INFO, &mut info) {
        Ok(filled) => Some(raw::u32_at(&info[..filled], 8)? & MPTCP_INFO_FLAG_FALLBACK == 0),
        Err(error) => match error.raw_os_error()? {
            libc::EOPNOTSUPP | libc::ENOPROTOOPT => Some(false),
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::testing::pair;
    use std::net::TcpListener;

    #[test]
    fn plain_tcp_is_no_mptcp() -> io::Result<()> {
        let (near, _far) = pair()?;
        assert_eq!(is_mptcp_active(&near), Some(false));
        let listener = TcpListener::bind("127.0.0.1:0")?;
        if let Ok(socket) = mptcp_socket(Domain::IPV4) {
            socket.connect(&listener.local_addr()?.into())?;
            let _accepted = listener.accept()?;
            assert_eq!(is_mptcp_active(&socket), Some(false));
        }
        Ok(())
    }

    #[test]
    fn two_ends_with_mptcp_use_it() -> io::Result<()> {
        let Ok(listener) = mptcp_socket(Domain::IPV4) else {
            return Ok(());
        };
        listener.bind(&std::net::SocketAddr::from(([127, 0, 0, 1], 0)).into())?;
        listener.listen(1)?;
        let socket = mptcp_socket(Domain::IPV4)?;
        socket.connect(&listener.local_addr()?)?;
        let (accepted, _) = listener.accept()?;
        assert_eq!(
            (is_mptcp_active(&socket), is_mptcp_active(&accepted)),
            (Some(true), Some(true))
        );
        Ok(())
    }
}
