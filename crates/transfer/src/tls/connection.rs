//! One end of a TLS connection.

use crate::certificate::{SERVER_NAME, wrong_certificate};
use crate::failure::TransferFailure;
use crate::secure_end::SecureEnd;
use crate::stall_watch::StallWatch;
use caudal_flow::socket::is_retryable;
use caudal_sys::clock::monotonic_ns;
use rustls::pki_types::ServerName;
use rustls::{CertificateError, ClientConnection, Connection, Error, ServerConnection};
use std::io::{self, BufReader, IoSlice, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;

/// The bytes that are read from the socket, or encrypted for it, at once.
const BUFFER_BYTES: usize = 256 << 10;

/// One end of a TLS connection.
pub(super) struct TlsConnection<'a> {
    tls: Connection,
    socket: BufReader<CountedSocket<'a>>,
}

impl<'a> TlsConnection<'a> {
    /// An end that has sent and received nothing yet.
    ///
    /// # Errors
    /// TLS cannot be set up here.
    pub(super) fn new(socket: &'a TcpStream, end: SecureEnd<'_>) -> Result<Self, TransferFailure> {
        let tls = match end {
            SecureEnd::Client(fingerprint) => {
                let name = ServerName::try_from(SERVER_NAME)
                    .map_err(|cause| TransferFailure::Connection(cause.to_string()))?;
                ClientConnection::new(Arc::new(fingerprint.client_config()?), name)
                    .map(Connection::Client)
            }
            SecureEnd::Server(certificate) => {
                ServerConnection::new(Arc::new(certificate.server_config()?))
                    .map(Connection::Server)
            }
        };
        let mut tls = tls.map_err(|cause| tls_failure(&cause))?;
        tls.set_buffer_limit(Some(BUFFER_BYTES));
        Ok(Self {
            tls,
            socket: BufReader::with_capacity(BUFFER_BYTES, CountedSocket::new(socket)),
        })
    }

    /// Agrees with the other end on keys.
    ///
    /// # Errors
    /// The other end is not the one that was announced, does not speak TLS, or does not answer.
    pub(super) fn shake_hands(
        &mut self,
        watch: &mut StallWatch<'_>,
    ) -> Result<(), TransferFailure> {
        while self.tls.is_handshaking() || self.tls.wants_write() {
            match self.tls.complete_io(&mut BothDirections(&mut self.socket)) {
                Ok(_) => watch.advance(),
                Err(cause) if is_retryable(&cause) => watch.check()?,
                Err(cause) => return Err(handshake_failure(&cause)),
            }
        }
        Ok(())
    }

    /// Ends this direction, behind everything that was written.
    ///
    /// # Errors
    /// The other end does not read any more.
    pub(super) fn finish(&mut self, watch: &mut StallWatch<'_>) -> Result<(), TransferFailure> {
        self.tls.send_close_notify();
        while self.tls.wants_write() {
            watch.moved(self.tls.write_tls(self.socket.get_mut()))?;
        }
        watch
            .moved(
                self.socket
                    .get_ref()
                    .socket
                    .shutdown(Shutdown::Write)
                    .map(|()| 1),
            )
            .map(drop)
    }

    /// The time of the first byte, ns of the monotonic clock; 0 before.
    pub(super) fn first_ns(&self) -> u64 {
        self.socket.get_ref().first_ns
    }

    /// The calls for sending and receiving.
    pub(super) fn calls(&self) -> u64 {
        self.socket.get_ref().calls
    }

    /// Sends what is encrypted.
    fn send_encrypted(&mut self) -> io::Result<()> {
        while self.tls.wants_write() {
            self.tls.write_tls(self.socket.get_mut())?;
        }
        Ok(())
    }
}

impl Read for TlsConnection<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.tls.reader().read(buffer) {
                Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => {}
                Err(cause) if cause.kind() == io::ErrorKind::UnexpectedEof => {
                    let text = "the peer closed it before the end";
                    return Err(io::Error::new(cause.kind(), text));
                }
                other => return other,
            }
            self.tls.read_tls(&mut self.socket)?;
            self.tls
                .process_new_packets()
                .map_err(|cause| io::Error::other(tls_failure(&cause)))?;
        }
    }
}

impl Write for TlsConnection<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.send_encrypted()?;
        let taken = self.tls.writer().write(bytes)?;
        match self.send_encrypted() {
            // What is left is sent before the next bytes are taken.
            Err(cause) if is_retryable(&cause) => Ok(taken),
            other => other.map(|()| taken),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.send_encrypted() {
            // What is left is sent with what follows.
            Err(cause) if is_retryable(&cause) => Ok(()),
            other => other,
        }
    }
}

/// A socket whose calls are counted.
struct CountedSocket<'a> {
    socket: &'a TcpStream,
    calls: u64,
    /// The time of the first byte, ns of the monotonic clock; 0 before.
    first_ns: u64,
}

impl<'a> CountedSocket<'a> {
    const fn new(socket: &'a TcpStream) -> Self {
        Self {
            socket,
            calls: 0,
            first_ns: 0,
        }
    }

    /// Counts a call that began at `before_ns`.
    fn count(&mut self, is_sending: bool, before_ns: u64, moved: &io::Result<usize>) {
        self.calls += 1;
        if self.first_ns == 0 && moved.is_ok() {
            self.first_ns = if is_sending {
                before_ns
            } else {
                monotonic_ns()
            };
        }
    }

    /// The time before a call, as long as it may be the first one.
    fn before(&self) -> u64 {
        if self.first_ns == 0 {
            monotonic_ns()
        } else {
            0
        }
    }
}

impl Read for CountedSocket<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let moved = self.socket.read(buffer);
        self.count(false, 0, &moved);
        moved
    }
}

impl Write for CountedSocket<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let before_ns = self.before();
        let moved = self.socket.write(bytes);
        self.count(true, before_ns, &moved);
        moved
    }

    fn write_vectored(&mut self, bytes: &[IoSlice<'_>]) -> io::Result<usize> {
        let before_ns = self.before();
        let moved = self.socket.write_vectored(bytes);
        self.count(true, before_ns, &moved);
        moved
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The buffered socket in both directions, for the handshake.
struct BothDirections<'a, 's>(&'a mut BufReader<CountedSocket<'s>>);

impl Read for BothDirections<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for BothDirections<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.get_mut().write(bytes)
    }

    fn write_vectored(&mut self, bytes: &[IoSlice<'_>]) -> io::Result<usize> {
        self.0.get_mut().write_vectored(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An error of the handshake as the reason why a transfer did not complete.
fn handshake_failure(cause: &io::Error) -> TransferFailure {
    match cause.get_ref().and_then(|inner| inner.downcast_ref()) {
        Some(tls) => tls_failure(tls),
        None => TransferFailure::Connection(format!("the TLS handshake failed: {cause}")),
    }
}

/// An error of TLS as the reason why a transfer did not complete.
fn tls_failure(cause: &Error) -> TransferFailure {
    match cause {
        Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure) => {
            wrong_certificate()
        }
        Error::AlertReceived(alert) => {
            TransferFailure::Connection(format!("the peer ended the TLS connection: {alert:?}"))
        }
        other => TransferFailure::Connection(format!("TLS failed: {other}")),
    }
}
