//! The settings of a plan that concern its sockets.

use crate::error::RunError;
use caudal_core::marks::Ecn;
use caudal_core::plan::Transport;
use caudal_core::sample::Role;
use caudal_sys::{buffers, options, tcp, udp};
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

/// The receive buffer asked for on UDP flows, bytes: enough for a stall of the reader, little enough to stay in the
/// processor's cache on one machine.
pub const UDP_BUFFER: usize = 4 << 20;
/// Maximum time that sent data stays unacknowledged before the kernel closes the connection.
const USER_TIMEOUT: Duration = Duration::from_secs(30);

/// The settings of a plan that concern its sockets.
#[derive(Debug, Clone)]
pub struct SocketSettings {
    /// The protocol.
    pub transport: Transport,
    /// Buffers asked for, bytes.
    pub window: Option<usize>,
    /// The maximum segment size asked for, bytes.
    pub mss: Option<u32>,
    /// The congestion control asked for.
    pub congestion: Option<String>,
    /// `true` when Nagle's algorithm is off.
    pub no_delay: bool,
    /// The DSCP.
    pub dscp: Option<u8>,
    /// The ECN field (UDP).
    pub ecn: Ecn,
    /// Whether a connection asks for ECN (TCP); `None` leaves it to the kernel.
    pub ask_ecn: Option<bool>,
    /// The IPv6 flow label.
    pub flow_label: Option<u32>,
    /// `true` when TCP is opened as Multipath TCP.
    pub mptcp: bool,
    /// `true` for bulk payload: datagrams may be joined on receive and carry the kernel's time, and only the sender needs
    /// the congestion control.
    pub is_bulk: bool,
}

impl SocketSettings {
    /// Settings that leave everything to the kernel.
    pub const fn new(transport: Transport) -> Self {
        Self {
            transport,
            window: None,
            mss: None,
            congestion: None,
            no_delay: false,
            dscp: None,
            ecn: Ecn::NotEct,
            ask_ecn: None,
            flow_label: None,
            mptcp: false,
            is_bulk: true,
        }
    }

    /// The settings of the end of a flow that has this role. A receiver of bulk payload sends acknowledgements only: its kernel
    /// need not offer the congestion control asked for.
    pub fn for_role(&self, role: Role) -> Self {
        Self {
            congestion: self
                .congestion
                .clone()
                .filter(|_| role == Role::Sender || !self.is_bulk),
            ..self.clone()
        }
    }

    /// Applies the settings to an open socket: those that must be set before connecting have no effect afterwards.
    ///
    /// # Errors
    /// Names the setting the kernel refused.
    pub fn apply(&self, socket: impl AsFd) -> Result<(), RunError> {
        let socket = socket.as_fd();
        match self.transport {
            Transport::Tcp => self.apply_tcp(socket)?,
            Transport::Udp => self.apply_udp(socket)?,
        }
        let dscp = self.dscp.unwrap_or(0);
        if self.dscp.is_some() || !self.ecn.is_not_ect() {
            options::set_tos(socket, dscp << 2 | self.ecn.bits())
                .map_err(|cause| RunError::local("setting the DSCP and the ECN field", cause))?;
        }
        Ok(())
    }

    fn apply_tcp(&self, socket: impl AsFd) -> Result<(), RunError> {
        if let Some(bytes) = self.window {
            buffers::set_send_buffer(&socket, bytes, false)
                .and_then(|_| buffers::set_receive_buffer(&socket, bytes, false))
                .map_err(|cause| RunError::local("setting the window", cause))?;
        }
        if let Some(name) = &self.congestion {
            set_congestion(&socket, name)?;
        }
        let socket = socket2::SockRef::from(&socket);
        if self.no_delay {
            socket
                .set_tcp_nodelay(true)
                .map_err(|cause| RunError::local("turning Nagle's algorithm off", cause))?;
        }
        // Notices a peer that vanished; a kernel without the option waits longer.
        let _ = socket.set_tcp_user_timeout(Some(USER_TIMEOUT));
        Ok(())
    }

    fn apply_udp(&self, socket: impl AsFd) -> Result<(), RunError> {
        let bytes = self.window.unwrap_or(UDP_BUFFER);
        let force = self.window.is_none();
        buffers::set_receive_buffer(&socket, bytes, force)
            .and_then(|_| buffers::set_send_buffer(&socket, bytes, force))
            .map_err(|cause| RunError::local("setting the window", cause))?;
        let _ = udp::enable_receive_tos(&socket);
        if self.is_bulk {
            // Without these the kernel hands datagrams over one by one, and arrivals are timed when they are read.
            udp::enable_gro(&socket);
            let _ = udp::enable_receive_timestamps(&socket);
        }
        Ok(())
    }
}

fn set_congestion(socket: impl AsFd, name: &str) -> Result<(), RunError> {
    tcp::set_congestion(socket, name)
        .map_err(|cause| congestion_error(name, &tcp::available_congestion_controls(), cause))
}

/// The error for a congestion control that a kernel offering `available` did not grant.
fn congestion_error(name: &str, available: &[String], cause: io::Error) -> RunError {
    let is_available = available.iter().any(|known| known == name);
    let wanted = if is_available && cause.kind() == io::ErrorKind::PermissionDenied {
        format!("{name} is not in net.ipv4.tcp_allowed_congestion_control, so only root may use it")
    } else {
        format!(
            "no congestion control {name:?} here (this kernel offers {})",
            available.join(", ")
        )
    };
    RunError::local(wanted, cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_congestion_control_reserved_for_root_is_not_called_missing() {
        let available = ["reno".to_owned(), "cubic".to_owned()];
        let message = |name, code| {
            congestion_error(name, &available, io::Error::from_raw_os_error(code)).to_string()
        };
        assert!(message("cubic", libc::EPERM).contains(
            "cubic is not in net.ipv4.tcp_allowed_congestion_control, so only root may use it"
        ));
        assert!(message("warp", libc::ENOENT).contains("offers reno, cubic"));
    }
}
