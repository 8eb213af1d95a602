//! The data connection: the receiver names a port, and the sender connects to it.

use super::control::read_line;
use super::error::NttcpError;
use super::listener::listen;
use super::transfer::TransferLimits;
use caudal_core::plan::Transport;
use caudal_core::text::ExternalText;
use caudal_flow::LocalBinding;
use caudal_flow::socket::{
    CONNECT_TIMEOUT, DataSocket, SocketSettings, UDP_BUFFER, canonical, connect_udp, connect_within,
};
use caudal_sys::clock::monotonic_ns;
use caudal_sys::poll::poll_readable;
use caudal_sys::{buffers, udp};
use caudal_wire::nttcp::{TransferRequest, data_port, read_data_port};
use std::cell::RefCell;
use std::io::Write;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;

/// The time until the data connection, as in the original.
pub(super) const DATA_TIMEOUT: Duration = Duration::from_secs(80);
/// The ports below belong to a host's services.
const MIN_PORT: u16 = 1024;
/// The beginning of the lines of a verbose program.
const NAME: &str = "nttcp-";
/// Maximum number of such lines before the data connection.
const MAX_NOTES: usize = 64;
/// The time a line may take once it has begun.
const LINE_TIMEOUT: Duration = Duration::from_secs(2);
/// The highest data port that is tried before the kernel chooses one.
const MAX_PORT: u16 = 20_000;

/// The control connection of a transfer whose data connection is to be opened.
pub(super) struct DataDialogue<'a> {
    pub(super) control: &'a TcpStream,
    /// This end's address.
    pub(super) local: IpAddr,
    /// The other end's address.
    pub(super) peer: IpAddr,
    pub(super) request: &'a TransferRequest,
    pub(super) limits: &'a TransferLimits<'a>,
    /// The lines in which a verbose other end told what it does, before the data connection.
    pub(super) notes: RefCell<Vec<String>>,
}

impl DataDialogue<'_> {
    /// Connects to the port the other end names, at its own address and nowhere else.
    pub(super) fn connect(
        &self,
        patience: Duration,
        settings: &SocketSettings,
    ) -> Result<DataSocket, NttcpError> {
        let peer = SocketAddr::new(self.peer, self.read_port(patience)?);
        let binding = LocalBinding {
            address: Some(self.local),
            ..LocalBinding::default()
        };
        if self.request.udp {
            let socket = connect_udp(peer, &binding, settings)?;
            return Ok(DataSocket::Udp(socket));
        }
        let stream = connect_within(peer, &binding, Some(settings), CONNECT_TIMEOUT)?;
        self.set_up(&stream);
        Ok(DataSocket::Tcp(stream))
    }

    /// Reads the port that the other end names, after what a verbose one tells.
    fn read_port(&self, patience: Duration) -> Result<u16, NttcpError> {
        loop {
            let line = read_line(self.control, patience, &self.limits.stop)?;
            let Some(line) = line else {
                // Then the last of the lines is the reason why the transfer was refused.
                return Err(self.refusal().unwrap_or(NttcpError::NoDataPort));
            };
            if read_data_port(&line).is_some() || !self.note(&line) {
                return port_of(&line);
            }
        }
    }

    /// The error for an end of the connection after lines of the other end, of which the last is the reason.
    fn refusal(&self) -> Option<NttcpError> {
        let reason = self.notes.borrow_mut().pop()?;
        let reason = reason
            .split_once(": ")
            .map_or(reason.as_str(), |(_, reason)| reason);
        Some(NttcpError::Refused(ExternalText::from(reason)))
    }

    /// Takes note of a line; `false` when it is none in which a verbose program names itself, or there were too many.
    fn note(&self, line: &str) -> bool {
        let mut notes = self.notes.borrow_mut();
        let is_note = line.starts_with(NAME) && notes.len() < MAX_NOTES;
        if is_note {
            notes.push(line.to_owned());
        }
        is_note
    }

    /// Opens a port above `first`, names it, and waits until the other end has connected to it.
    pub(super) fn accept(&self, first: u16) -> Result<DataSocket, NttcpError> {
        let ports = (first.max(MIN_PORT)..MAX_PORT).chain(std::iter::once(0));
        if self.request.udp {
            let socket = ports
                .map(|port| UdpSocket::bind(SocketAddr::new(self.local, port)))
                .find_map(Result::ok)
                .ok_or(NttcpError::NoFreePort)?;
            let _ = buffers::set_receive_buffer(&socket, UDP_BUFFER, true);
            udp::enable_gro(&socket);
            let _ = udp::enable_receive_timestamps(&socket);
            self.name_port(socket.local_addr()?.port())?;
            return Ok(DataSocket::Udp(socket));
        }
        let listener = ports
            .map(|port| listen(self.local, port, None))
            .find_map(Result::ok)
            .ok_or(NttcpError::NoFreePort)?;
        if let Some(kilobytes) = self.request.window_kb {
            let _ = buffers::set_receive_buffer(&listener, kilobytes as usize * 1024, false);
        }
        self.name_port(listener.local_addr()?.port())?;
        let stream = self.accept_tcp(&listener)?;
        self.set_up(&stream);
        Ok(DataSocket::Tcp(stream))
    }

    fn name_port(&self, port: u16) -> Result<(), NttcpError> {
        let mut control = self.control;
        Ok(control.write_all(data_port(port).as_bytes())?)
    }

    fn accept_tcp(&self, listener: &TcpListener) -> Result<TcpStream, NttcpError> {
        let until_ns = monotonic_ns() + DATA_TIMEOUT.as_nanos() as u64;
        let mut fds = vec![listener.as_fd(), self.control.as_fd()];
        fds.extend_from_slice(&self.limits.stop);
        loop {
            let left = Duration::from_nanos(until_ns.saturating_sub(monotonic_ns()));
            let left = left.min(self.limits.idle_timeout);
            let ready = poll_readable(&fds, Some(left))?;
            if ready.first() == Some(&true) {
                let (stream, source) = listener.accept()?;
                if canonical(source).ip() == self.peer {
                    return Ok(stream);
                }
            } else if ready.get(1) == Some(&true)
                && let Ok(Some(line)) = read_line(self.control, LINE_TIMEOUT, &self.limits.stop)
                && self.note(&line)
            {
                // A verbose other end: it goes on.
            } else if ready.contains(&true) {
                // The other end has left, or this one is stopped.
                return Err(self.refusal().unwrap_or(NttcpError::NoDataConnection));
            } else {
                return Err(NttcpError::DataConnectionSilent(left.as_secs()));
            }
        }
    }

    /// Applies the settings of the request to a data connection.
    fn set_up(&self, stream: &TcpStream) {
        if let Some(kilobytes) = self.request.window_kb {
            let bytes = kilobytes as usize * 1024;
            let _ = buffers::set_send_buffer(stream, bytes, false);
            let _ = buffers::set_receive_buffer(stream, bytes, false);
        }
        if self.request.no_delay {
            let _ = stream.set_nodelay(true);
        }
    }
}

/// The settings of a data connection that has none of its own.
pub(super) const fn default_settings(request: &TransferRequest) -> SocketSettings {
    SocketSettings::new(if request.udp {
        Transport::Udp
    } else {
        Transport::Tcp
    })
}

fn port_of(line: &str) -> Result<u16, NttcpError> {
    match read_data_port(line) {
        Some(0) => Err(NttcpError::PeerHasNoPort),
        Some(port) if port < MIN_PORT => Err(NttcpError::ServicePort(port)),
        Some(port) => Ok(port),
        None => Err(NttcpError::UnexpectedLine(line.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ports_for_data_are_connected_to() {
        assert_eq!(port_of("dataport: 5038").unwrap(), 5038);
        for (line, expected) in [
            ("dataport: 22", "port 22 for data belongs to a service"),
            ("dataport: -1", "the other side has no port for data"),
            ("hello", "a port for data was expected, not \"hello\""),
        ] {
            assert_eq!(port_of(line).unwrap_err().to_string(), expected);
        }
    }
}
