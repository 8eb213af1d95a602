//! The thread of one connection of a round-trip test at the client.

use super::barrier::SizeBarrier;
use super::prober::Prober;
use crate::socket::{DataSocket, granted_tcp, granted_udp};
use crate::{FlowSignals, RunError, Waker};
use caudal_analysis::echo::EchoSeries;
use caudal_core::event::Event;
use caudal_core::sample::Granted;
use caudal_core::text::ExternalText;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::Sender;
use std::thread::{self, JoinHandle};
use std::time::Duration;

const STACK_BYTES: usize = 256 << 10;

/// The thread of one connection.
pub struct ConnectionThread {
    socket: Arc<DataSocket>,
    signals: Arc<FlowSignals>,
    connect_time: Option<Duration>,
    thread: Option<JoinHandle<(Vec<EchoSeries>, Option<ExternalText>)>>,
}

/// The measurements of one connection.
#[derive(Default)]
pub struct ConnectionResult {
    /// The measurements, one for each size that was begun.
    pub series: Vec<EchoSeries>,
    /// What the kernel granted of the settings of its socket.
    pub granted: Granted,
    /// The time it took to connect; `None` over UDP.
    pub connect_time: Option<Duration>,
    /// The reason why it ended before its time.
    pub failure: Option<ExternalText>,
}

/// A connection's membership in the barrier, given up when its thread ends, however that happens.
struct Membership {
    barrier: Arc<SizeBarrier>,
    waker: Waker,
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.barrier.leave();
        self.waker.wake();
    }
}

/// The progress that the threads of all connections share.
pub struct SharedProgress {
    /// The barrier before each size.
    pub barrier: Arc<SizeBarrier>,
    /// The start of the test, ns of the monotonic clock.
    pub start_ns: Arc<AtomicU64>,
    /// Takes the event of each size that is complete.
    pub events: Sender<Event>,
}

impl ConnectionThread {
    /// Starts the thread of a connection, which waits at the barrier.
    ///
    /// # Errors
    /// When the kernel starts no thread.
    pub fn spawn(
        mut prober: Prober,
        connect_time: Option<Duration>,
        cpu: Option<usize>,
        shared: &SharedProgress,
        waker: Waker,
    ) -> Result<Self, RunError> {
        let (socket, signals) = (prober.socket(), prober.signals());
        let membership = Membership {
            barrier: Arc::clone(&shared.barrier),
            waker,
        };
        let (events, start_ns) = (shared.events.clone(), Arc::clone(&shared.start_ns));
        let thread = thread::Builder::new()
            .name(format!("echo {}", prober.client()))
            .stack_size(STACK_BYTES)
            .spawn(move || {
                let membership = membership;
                if let Some(cpu) = cpu {
                    // A processor that does not exist was refused when the plan was made.
                    let _ = caudal_sys::affinity::pin_this_thread(cpu);
                }
                let failure = loop {
                    membership.barrier.wait();
                    match prober.next_size(start_ns.load(Relaxed)) {
                        Ok(Some(progress)) => {
                            // The end of the test does not depend on anybody receiving the event.
                            let _ = events.send(Event::Size(progress));
                            membership.waker.wake();
                        }
                        Ok(None) => break None,
                        Err(failure) => break Some(failure.into()),
                    }
                };
                (prober.into_series(), failure)
            })
            .map_err(|cause| RunError::local("starting a thread", cause))?;
        Ok(Self {
            socket,
            signals,
            connect_time,
            thread: Some(thread),
        })
    }

    /// Ends the connection.
    pub fn stop(&self) {
        self.signals.stop();
        self.socket.shut_down();
    }

    /// Waits for the thread, which must have been stopped or be over.
    pub fn join(mut self) -> ConnectionResult {
        let result = ConnectionResult {
            granted: match &*self.socket {
                DataSocket::Tcp(stream) => granted_tcp(stream, false),
                DataSocket::Udp(socket) => granted_udp(socket),
            },
            connect_time: self.connect_time,
            ..ConnectionResult::default()
        };
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok((series, failure))) => ConnectionResult {
                series,
                failure,
                ..result
            },
            Some(Err(_)) => ConnectionResult {
                failure: Some("its thread ended in an error of the program".into()),
                ..result
            },
            None => result,
        }
    }
}
