//! The thread that moves a content.

use caudal_core::plan::TransferPlan;
use caudal_core::transfer::TransferEnd;
use caudal_flow::socket::DataSocket;
use caudal_flow::{TestLimit, Wakeup};
use caudal_sys::affinity;
use caudal_sys::tcp::out_queue;
use caudal_transfer::{
    ContentDestination, ContentToSend, MoverControl, MoverTerms, PreparationPriority,
    SessionCertificate, SinkSignals, TransferFailure, movers,
};
use caudal_wire::preamble::TestToken;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// What this end does.
#[derive(Debug)]
pub(super) enum MoverTask {
    /// It sends.
    Send(ContentToSend),
    /// It receives.
    Receive(ContentDestination),
}

/// What the thread needs.
pub(super) struct MoverWork {
    pub(super) task: MoverTask,
    pub(super) plan: TransferPlan,
    pub(super) token: TestToken,
    pub(super) socket: Arc<DataSocket>,
    pub(super) is_client: bool,
    /// The certificate of the session, at the server of one over TLS or QUIC.
    pub(super) certificate: Option<Arc<SessionCertificate>>,
    pub(super) connect_time: Option<Duration>,
    /// The limits of the server, at the server.
    pub(super) limit: Option<Arc<TestLimit>>,
    /// The processor to pin the thread to.
    pub(super) cpu: Option<usize>,
}

/// A content that was moved, or was not.
pub(super) struct MovedContent {
    /// What this end counted.
    pub(super) account: TransferEnd,
    /// Why the transfer did not complete.
    pub(super) failure: Option<TransferFailure>,
}

impl MovedContent {
    /// A transfer that did not begin.
    pub(super) fn failed(failure: TransferFailure) -> Self {
        Self {
            account: TransferEnd {
                failure: Some(failure.to_string().into()),
                ..TransferEnd::default()
            },
            failure: Some(failure),
        }
    }
}

/// The thread that moves a content; stopped when dropped.
pub(super) struct MoverThread {
    signals: SinkSignals,
    bytes: Arc<AtomicU64>,
    /// The socket of a sender over TCP.
    sending: Option<Arc<DataSocket>>,
    /// Set when the transfer is over, before the wakeup is triggered.
    is_over: Arc<AtomicBool>,
    wakeup: Wakeup,
    thread: Option<JoinHandle<MovedContent>>,
}

impl MoverThread {
    /// Starts it.
    ///
    /// # Errors
    /// When the kernel gives no thread or pipe.
    pub(super) fn spawn(work: MoverWork) -> io::Result<Self> {
        let (signals, bytes) = (SinkSignals::default(), Arc::default());
        let is_sender = matches!(work.task, MoverTask::Send(_));
        let sending = is_sender.then(|| Arc::clone(&work.socket));
        let is_over = Arc::new(AtomicBool::new(false));
        let wakeup = Wakeup::new()?;
        let waker = wakeup.waker()?;
        let shared = (signals.clone(), Arc::clone(&bytes), Arc::clone(&is_over));
        let thread = thread::Builder::new()
            .name("transfer".to_owned())
            .spawn(move || {
                let (signals, bytes, is_over) = shared;
                let moved = run(work, &signals, &bytes);
                is_over.store(true, Release);
                waker.wake();
                moved
            })?;
        Ok(Self {
            signals,
            bytes,
            sending,
            is_over,
            wakeup,
            thread: Some(thread),
        })
    }

    /// Readable when the thread has ended.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.wakeup.fd()
    }

    /// Empties the pipe of [`Self::fd`].
    pub(super) fn reset(&self) {
        self.wakeup.reset();
    }

    /// Ends the transfer early.
    pub(super) fn stop(&self) {
        self.signals.stop.store(true, Relaxed);
    }

    /// `true` when it is over.
    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Acquire) || self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Bytes of the content that were moved; a sender over TCP has handed them to the kernel.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    /// Those of them that have arrived, or were acknowledged.
    pub(super) fn arrived_bytes(&self) -> u64 {
        let bytes = self.bytes();
        match self.sending.as_deref() {
            Some(DataSocket::Tcp(stream)) => {
                let queued = out_queue(stream).unwrap_or(0);
                bytes.saturating_sub(u64::from(queued))
            }
            _ => bytes,
        }
    }

    /// Bytes of which a digest was computed.
    pub(super) fn digested(&self) -> u64 {
        self.signals.digested.load(Relaxed)
    }

    /// Ends the transfer, unless it is over: what was moved.
    pub(super) fn finish(mut self) -> MovedContent {
        self.stop();
        let ended = self.thread.take().map(JoinHandle::join);
        match ended {
            Some(Ok(moved)) => moved,
            _ => MovedContent::failed(TransferFailure::Stopped),
        }
    }
}

impl Drop for MoverThread {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(work: MoverWork, signals: &SinkSignals, bytes: &AtomicU64) -> MovedContent {
    if let Some(cpu) = work.cpu {
        // A processor that is not to be had leaves the thread where it is.
        let _ = affinity::pin_this_thread(cpu);
    }
    let socket = Arc::clone(&work.socket);
    let moved = carry(work, signals, bytes);
    if moved.failure.is_some() {
        // The peer is not to wait for what does not come.
        socket.shut_down();
    }
    moved
}

fn carry(work: MoverWork, signals: &SinkSignals, bytes: &AtomicU64) -> MovedContent {
    let control = MoverControl {
        stop: &signals.stop,
        bytes,
    };
    let terms = MoverTerms {
        plan: &work.plan,
        token: work.token,
        is_client: work.is_client,
        certificate: work.certificate.as_deref(),
        connect_time: work.connect_time,
        limit: work.limit.as_deref(),
    };
    let storage = |reason: String| MovedContent::failed(TransferFailure::Storage(reason));
    let priority = match work.is_client {
        true => PreparationPriority::Normal,
        false => PreparationPriority::Idle,
    };
    let (mut account, result) = match work.task {
        MoverTask::Send(content) => match content.source(&work.plan, signals, priority) {
            Ok(mut source) => {
                let (mut account, result) =
                    movers::send(&work.socket, &terms, &mut *source, control);
                account.has_grown = source.has_grown();
                (account, result)
            }
            Err(_) if signals.stop.load(Relaxed) => {
                return MovedContent::failed(TransferFailure::Stopped);
            }
            Err(error) => return storage(error.to_string()),
        },
        MoverTask::Receive(destination) => match destination.into_sink(signals) {
            Ok(mut sink) => movers::receive(&work.socket, &terms, &mut *sink, control),
            Err(cause) => return storage(format!("the kernel refused a thread: {cause}")),
        },
    };
    account.refused = signals.refused();
    MovedContent {
        account,
        failure: result.err(),
    }
}
