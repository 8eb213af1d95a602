//! One end of a QUIC connection, from the socket to its close.

use super::counted_socket::CountedUdpSocket;
use super::settings::{EndSettings, IDLE_LIMIT, MIN_DATAGRAM_BYTES, QuicCongestion};
use crate::certificate::{SERVER_NAME, wrong_certificate};
use crate::failure::TransferFailure;
use crate::mover_terms::{MoverControl, MoverTerms};
use crate::secure_account::SecureAccount;
use crate::secure_end::SecureEnd;
use caudal_rbt::AbortCode;
use caudal_sys::clock::monotonic_ns;
use caudal_sys::{buffers, udp};
use quinn::{
    ClientConfig, Connection, ConnectionError, ConnectionStats, Endpoint, EndpointConfig,
    ServerConfig, TokioRuntime, TransportErrorCode, VarInt,
};
use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::task::Poll;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::time::{interval, timeout};

/// The buffers of the socket, bytes.
const SOCKET_BUFFER: usize = 4 << 20;
/// Headers of IPv4 and UDP, and of IPv6 and UDP, bytes.
const LOWER_HEADERS: [u32; 2] = [28, 48];
/// Maximum wait between two checks of the stop signal.
const STOP_INTERVAL: Duration = Duration::from_millis(50);
/// Maximum time to tell the peer that a transfer has failed.
const FAILURE_CLOSE_TIME: Duration = Duration::from_secs(1);
/// Maximum time to send the close of a complete transfer.
const CLOSE_TIME: Duration = Duration::from_millis(2);
/// The close code of a transfer that is complete; those of one that failed follow, in the order of `AbortCode`.
const COMPLETE: VarInt = VarInt::from_u32(0);
/// The alert of a client that does not accept the certificate: `access_denied` (RFC 8446, section 6).
const ACCESS_DENIED: u8 = 49;

/// One end of a QUIC connection.
pub(super) struct QuicConnection {
    runtime: Runtime,
    /// A duplicate of the caller's socket, which is non-blocking as long as this lives.
    socket: UdpSocket,
    peer: SocketAddr,
    settings: Option<EndSettings>,
    connection: Option<Connection>,
    /// The calls for sending and receiving.
    calls: Arc<AtomicU64>,
    /// The close code when the content cannot be read or written here.
    storage_code: AbortCode,
    /// The time that a client has to begin.
    time_to_begin: Duration,
}

impl QuicConnection {
    /// Makes everything ready for a connection over this socket, which is connected.
    ///
    /// # Errors
    /// The path does not carry datagrams of that size, or the kernel refused something.
    pub(super) fn prepare(
        socket: &UdpSocket,
        terms: &MoverTerms<'_>,
        congestion: QuicCongestion,
        storage_code: AbortCode,
    ) -> Result<Self, TransferFailure> {
        let settings = EndSettings::new(SecureEnd::from_terms(terms)?, congestion)?;
        let peer = socket.peer_addr().map_err(prepare_failure)?;
        let headers = LOWER_HEADERS[usize::from(peer.is_ipv6())];
        if let Some(mtu) = udp::path_mtu(socket)
            && mtu < u32::from(MIN_DATAGRAM_BYTES) + headers
        {
            let min = u32::from(MIN_DATAGRAM_BYTES) + headers;
            return Err(TransferFailure::PathTooNarrow { min, mtu });
        }
        let _ = buffers::set_receive_buffer(socket, SOCKET_BUFFER, true);
        let _ = buffers::set_send_buffer(socket, SOCKET_BUFFER, true);
        let runtime = Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(prepare_failure)?;
        Ok(Self {
            runtime,
            socket: socket.try_clone().map_err(prepare_failure)?,
            peer,
            settings: Some(settings),
            connection: None,
            calls: Arc::default(),
            storage_code,
            time_to_begin: terms.time_to_begin().unwrap_or(IDLE_LIMIT),
        })
    }

    /// What differs from what was wished for.
    pub(super) fn note(&self) -> Option<String> {
        let granted = buffers::receive_buffer(&self.socket).ok()?;
        (granted < SOCKET_BUFFER as u32).then(|| {
            format!(
                "the kernel granted a receive buffer of {granted} bytes instead of {SOCKET_BUFFER}: raise net.core.rmem_max"
            )
        })
    }

    /// Connects, has the content carried, and closes the connection.
    pub(super) fn run(
        &mut self,
        control: MoverControl<'_>,
        account: &mut SecureAccount,
        content: impl AsyncFnOnce(&Connection, &mut SecureAccount) -> Result<(), TransferFailure>,
    ) -> Result<(), TransferFailure> {
        let Self {
            runtime,
            socket,
            peer,
            settings,
            connection,
            calls,
            storage_code,
            time_to_begin,
        } = self;
        let outcome = runtime.block_on(async {
            let endpoint = Opening::new(socket, settings.take(), *peer, Arc::clone(calls))?;
            let outcome = until_stopped(control.stop, async {
                let open = endpoint.open(account, *time_to_begin).await?;
                content(connection.insert(open), account).await
            })
            .await;
            let (code, time) = close_code(&outcome, *storage_code);
            close(&endpoint.endpoint, connection.as_ref(), code, time).await;
            outcome
        });
        // quinn has made the caller's socket non-blocking.
        let _ = socket.set_nonblocking(false);
        outcome
    }

    /// The calls for sending and receiving.
    pub(super) fn calls(&self) -> u64 {
        self.calls.load(Relaxed)
    }

    /// What quinn counted; `None` when there was no connection.
    pub(super) fn stats(&self) -> Option<ConnectionStats> {
        self.connection.as_ref().map(Connection::stats)
    }
}

/// A connection that is about to be opened.
struct Opening {
    endpoint: Endpoint,
    /// The client's settings and the server's address; `None` for a server.
    client: Option<(ClientConfig, SocketAddr)>,
}

impl Opening {
    fn new(
        socket: &UdpSocket,
        settings: Option<EndSettings>,
        peer: SocketAddr,
        calls: Arc<AtomicU64>,
    ) -> Result<Self, TransferFailure> {
        let (client, server): (_, Option<ServerConfig>) = match settings {
            Some(EndSettings::Client(config)) => (Some((config, peer)), None),
            Some(EndSettings::Server(config)) => (None, Some(config)),
            None => (None, None),
        };
        let socket = socket.try_clone().map_err(prepare_failure)?;
        let socket = CountedUdpSocket::new(socket, calls).map_err(prepare_failure)?;
        let endpoint = Endpoint::new_with_abstract_socket(
            EndpointConfig::default(),
            server,
            Arc::new(socket),
            Arc::new(TokioRuntime),
        )
        .map_err(prepare_failure)?;
        Ok(Self { endpoint, client })
    }

    /// Opens it; a client has this time to begin.
    async fn open(
        &self,
        account: &mut SecureAccount,
        time_to_begin: Duration,
    ) -> Result<Connection, TransferFailure> {
        let connecting = match &self.client {
            Some((config, peer)) => {
                account.set_began(monotonic_ns(), None);
                self.endpoint
                    .connect_with(config.clone(), *peer, SERVER_NAME)
                    .map_err(|cause| failure(&cause))?
            }
            None => {
                let incoming = timeout(time_to_begin, self.endpoint.accept()).await;
                let incoming = incoming
                    .ok()
                    .flatten()
                    .ok_or_else(|| failure(&"the client did not begin"))?;
                account.set_began(monotonic_ns(), None);
                incoming
                    .accept()
                    .map_err(|cause| connection_failure(&cause))?
            }
        };
        let connection = connecting
            .await
            .map_err(|cause| connection_failure(&cause))?;
        account.set_handshake();
        Ok(connection)
    }
}

/// The close code of a transfer that has ended so, and the time for telling the peer.
fn close_code(
    outcome: &Result<(), TransferFailure>,
    storage_code: AbortCode,
) -> (VarInt, Duration) {
    let failed = |abort| (failed(abort), FAILURE_CLOSE_TIME);
    match outcome {
        // Both ends know it already: nothing depends on the close.
        Ok(()) | Err(TransferFailure::DigestMismatch) => (COMPLETE, CLOSE_TIME),
        Err(TransferFailure::Stopped) => failed(AbortCode::Stopped),
        Err(TransferFailure::Storage(_)) => failed(storage_code),
        Err(_) => failed(AbortCode::Protocol),
    }
}

/// Closes a connection and lets the peer know why.
async fn close(endpoint: &Endpoint, connection: Option<&Connection>, code: VarInt, time: Duration) {
    if let Some(connection) = connection {
        connection.close(code, b"");
    }
    endpoint.close(code, b"");
    let _ = timeout(time, endpoint.wait_idle()).await;
}

/// The close code of a transfer that failed in this way.
fn failed(abort: AbortCode) -> VarInt {
    VarInt::from_u32(1 + abort.number())
}

/// Carries out a future unless the transfer is stopped.
async fn until_stopped<T>(
    stop: &AtomicBool,
    future: impl Future<Output = Result<T, TransferFailure>>,
) -> Result<T, TransferFailure> {
    let mut future = pin!(future);
    let mut ticks = interval(STOP_INTERVAL);
    poll_fn(|context| {
        while ticks.poll_tick(context).is_ready() {
            if stop.load(Relaxed) {
                return Poll::Ready(Err(TransferFailure::Stopped));
            }
        }
        future.as_mut().poll(context)
    })
    .await
}

/// An error of the connection as the reason why a transfer did not complete.
pub(super) fn connection_failure(cause: &ConnectionError) -> TransferFailure {
    let access_denied = TransportErrorCode::crypto(ACCESS_DENIED);
    match cause {
        ConnectionError::TransportError(error) if error.code == access_denied => {
            wrong_certificate()
        }
        ConnectionError::ConnectionClosed(close) if close.error_code == access_denied => {
            failure(&"the client does not accept the certificate")
        }
        ConnectionError::ApplicationClosed(close) => match close.error_code.into_inner() {
            0 => failure(&"the peer closed the connection before the transfer was complete"),
            code => {
                let reason = AbortCode::from_number(u32::try_from(code - 1).unwrap_or(u32::MAX));
                failure(&format!("the peer ended the transfer: {reason}"))
            }
        },
        ConnectionError::TimedOut => failure(&"the peer does not answer any more"),
        other => failure(&format!("QUIC failed: {other}")),
    }
}

/// A failure with this text.
pub(super) fn failure(text: &dyn fmt::Display) -> TransferFailure {
    TransferFailure::Connection(text.to_string())
}

fn prepare_failure(cause: io::Error) -> TransferFailure {
    TransferFailure::Kernel {
        doing: "prepare a socket for QUIC",
        cause,
    }
}
