//! The threads of one end of trains.

use super::receiver::TrainReceiver;
use super::sender::TrainSender;
use super::signals::TrainSignals;
use caudal_core::interface::LinkErrors;
use caudal_core::plan::{Direction, TrainSeries, TrainsPlan};
use caudal_flow::socket::DataSocket;
use caudal_flow::{RunError, TestLimit, Wakeup};
use caudal_host::LinkReader;
use caudal_sys::clock::set_timer_slack_ns;
use caudal_sys::{affinity, udp};
use caudal_wire::trains::{ReceivedTrains, SentTrains, TrainsAccount};
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

/// What an end of trains needs.
#[derive(Debug, Clone)]
pub(super) struct TrainsEnd {
    pub(super) plan: TrainsPlan,
    pub(super) socket: Arc<DataSocket>,
    /// The flow's number.
    pub(super) flow: u32,
    /// The tag of the test.
    pub(super) tag: u32,
    /// The direction in which this end sends.
    pub(super) sends: Direction,
    /// The limits of the server, at the server.
    pub(super) limit: Option<Arc<TestLimit>>,
    /// The processor to pin the sending thread to.
    pub(super) cpu: Option<usize>,
}

impl TrainsEnd {
    /// The trains that this end sends.
    pub(super) const fn sent_series(&self) -> Option<TrainSeries> {
        self.plan.series(self.sends)
    }

    /// The trains that this end receives.
    pub(super) const fn received_series(&self) -> Option<TrainSeries> {
        self.plan.series(self.sends.reverse())
    }

    fn udp(&self) -> io::Result<&std::net::UdpSocket> {
        self.socket
            .udp()
            .ok_or_else(|| io::ErrorKind::InvalidInput.into())
    }
}

/// The link of an end while trains cross it.
#[derive(Debug)]
struct WatchedLink {
    reader: LinkReader,
    before: LinkErrors,
}

impl WatchedLink {
    /// The link towards the other end of a socket; `None` where there is no route.
    fn of_socket(socket: &DataSocket) -> Option<Self> {
        let (local, peer) = (socket.local_address().ok()?, socket.peer_address().ok()?);
        let reader = LinkReader::towards(peer.ip(), Some(local.ip()))?;
        Some(Self {
            before: reader.errors(),
            reader,
        })
    }
}

/// The threads of one end, stopped when dropped.
pub(super) struct TrainThreads {
    link: Option<WatchedLink>,
    signals: Arc<TrainSignals>,
    wakeup: Wakeup,
    sender: Option<JoinHandle<SentTrains>>,
    receiver: Option<JoinHandle<ReceivedTrains>>,
}

impl TrainThreads {
    /// Threads that are not started yet, and the link as it is before.
    ///
    /// # Errors
    /// When the kernel gives no pipe.
    pub(super) fn new(end: &TrainsEnd) -> Result<Self, RunError> {
        let wakeup = Wakeup::new().map_err(|cause| RunError::local("preparing a test", cause))?;
        Ok(Self {
            link: WatchedLink::of_socket(&end.socket),
            signals: Arc::default(),
            wakeup,
            sender: None,
            receiver: None,
        })
    }

    pub(super) fn signals(&self) -> &TrainSignals {
        &self.signals
    }

    /// Readable when a thread has ended.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.wakeup.fd()
    }

    /// Empties the pipe of [`Self::fd`].
    pub(super) fn reset(&self) {
        self.wakeup.reset();
    }

    /// Begins to receive, where this end receives.
    ///
    /// # Errors
    /// When the kernel gives no thread.
    pub(super) fn start_receiving(&mut self, end: &TrainsEnd) -> io::Result<()> {
        let Some(series) = end.received_series().filter(|_| self.receiver.is_none()) else {
            return Ok(());
        };
        let _ = udp::enable_receive_timestamps(end.udp()?);
        let receiver = TrainReceiver {
            series,
            flow: end.flow,
            tag: end.tag,
            is_server: end.sends == Direction::Down,
        };
        let (end, signals, waker) = (end.clone(), Arc::clone(&self.signals), self.wakeup.waker()?);
        let run = move || {
            let received = match end.udp() {
                Ok(socket) => receiver.receive(socket, &signals, end.limit.as_deref()),
                Err(_) => ReceivedTrains::default(),
            };
            signals.receiving_is_over();
            waker.wake();
            received
        };
        let named = thread::Builder::new().name("trains in".to_owned());
        self.receiver = Some(named.spawn(run)?);
        Ok(())
    }

    /// Begins to send, where this end sends.
    ///
    /// # Errors
    /// When the kernel gives no thread.
    pub(super) fn start_sending(&mut self, end: &TrainsEnd) -> io::Result<()> {
        let Some(series) = end.sent_series().filter(|_| self.sender.is_none()) else {
            return Ok(());
        };
        let sender = TrainSender {
            series,
            flow: end.flow,
            tag: end.tag,
        };
        let (end, signals, waker) = (end.clone(), Arc::clone(&self.signals), self.wakeup.waker()?);
        let run = move || {
            if let Some(cpu) = end.cpu {
                // A processor that is not to be had leaves the thread where it is.
                let _ = affinity::pin_this_thread(cpu);
            }
            // The default of 50 µs would show in every departure.
            let _ = set_timer_slack_ns(1);
            let sent = match end.udp() {
                Ok(socket) => sender.send(socket, &signals),
                Err(_) => SentTrains::default(),
            };
            signals.sending_is_over();
            waker.wake();
            sent
        };
        let named = thread::Builder::new().name("trains out".to_owned());
        self.sender = Some(named.spawn(run)?);
        Ok(())
    }

    /// `true` when this end has sent all it had to, or has nothing to send.
    pub(super) fn is_sending_over(&self, end: &TrainsEnd) -> bool {
        end.sent_series().is_none() || self.signals.is_sending_over()
    }

    /// `true` when this end receives no more.
    pub(super) fn is_receiving_over(&self, end: &TrainsEnd) -> bool {
        end.received_series().is_none() || self.signals.is_receiving_over()
    }

    /// A number that grows as long as datagrams leave or arrive.
    pub(super) fn progress(&self) -> u64 {
        self.signals.sent() + self.signals.received()
    }

    /// Ends both threads: what this end counted.
    pub(super) fn finish(mut self) -> TrainsAccount {
        self.stop();
        let sent = self.sender.take().and_then(|thread| thread.join().ok());
        let received = self.receiver.take().and_then(|thread| thread.join().ok());
        let link = self.link.as_ref();
        TrainsAccount {
            sent,
            received,
            link: link.and_then(|link| link.reader.link()).map(Box::new),
            link_growth: link.map(|link| Box::new(link.reader.errors().since(&link.before))),
        }
    }

    fn stop(&self) {
        self.signals.stop_sending();
        self.signals.stop_receiving();
    }
}

impl Drop for TrainThreads {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.sender.take() {
            let _ = thread.join();
        }
        if let Some(thread) = self.receiver.take() {
            let _ = thread.join();
        }
    }
}
