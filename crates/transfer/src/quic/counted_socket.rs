//! The socket as quinn uses it, with its calls counted.

use caudal_flow::socket::is_too_large;
use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, Runtime, TokioRuntime, UdpPoller};
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};

/// The socket as quinn uses it, with its calls counted, which quinn itself does datagram by datagram.
#[derive(Debug)]
pub(super) struct CountedUdpSocket {
    inner: Arc<dyn AsyncUdpSocket>,
    calls: Arc<AtomicU64>,
}

impl CountedUdpSocket {
    /// Wraps a socket; its calls are added to `calls`.
    pub(super) fn new(socket: UdpSocket, calls: Arc<AtomicU64>) -> io::Result<Self> {
        let inner = TokioRuntime.wrap_udp_socket(socket)?;
        Ok(Self { inner, calls })
    }
}

impl AsyncUdpSocket for CountedUdpSocket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Arc::clone(&self.inner).create_io_poller()
    }

    fn try_send(&self, transmit: &Transmit) -> io::Result<()> {
        self.calls.fetch_add(1, Relaxed);
        self.inner.try_send(transmit)
    }

    fn poll_recv(
        &self,
        context: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        received: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let mut outcome = self.inner.poll_recv(context, buffers, received);
        // A router's report about a datagram that looked for a larger MTU: quinn sees that it is not acknowledged.
        while let Poll::Ready(Err(cause)) = &outcome
            && is_too_large(cause)
        {
            outcome = self.inner.poll_recv(context, buffers, received);
        }
        if outcome.is_ready() {
            self.calls.fetch_add(1, Relaxed);
        }
        outcome
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }

    fn max_transmit_segments(&self) -> usize {
        self.inner.max_transmit_segments()
    }

    fn max_receive_segments(&self) -> usize {
        self.inner.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.inner.may_fragment()
    }
}
