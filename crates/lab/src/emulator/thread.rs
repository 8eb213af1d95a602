//! The emulator's thread.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use caudal_link::frame::Frame;
use caudal_link::model::{HostArrival, NetworkModel};
use caudal_link::segmentation::SuperFrame;
use caudal_link::super_frame::SegmentRun;
use caudal_link::time::SimTime;
use caudal_sys::clock::{self, CpuClock};
use caudal_sys::poll::poll_readable;
use caudal_sys::schedule::{self, ThreadPriority};
use caudal_topology::LinkEnd;

use super::coalescing::EventCoalescing;
use super::command::{EmulatorCommand, EmulatorReport};
use super::spin::SpinBudget;
use crate::device::{Device, ReceivedFrame};
use crate::lateness::LatenessHistogram;

/// Maximum number of frames read from one host before the next host's turn.
const MAX_BATCH: usize = 64;
/// Largest frame that a device can hand over: the largest packet and an Ethernet header with a VLAN tag.
const MAX_FRAME_BYTES: usize = 65_536 + 18;

/// The state of the emulator's thread.
pub(super) struct EmulatorThread {
    model: NetworkModel,
    links: Vec<usize>,
    devices: Vec<(LinkEnd, Device)>,
    /// The index of each link end's device.
    device_of_end: BTreeMap<LinkEnd, usize>,
    /// The monotonic clock at the start of virtual time, in nanoseconds.
    epoch_ns: u64,
    whole: LatenessHistogram,
    marked: LatenessHistogram,
    unread: u64,
    unread_at_mark: u64,
    frames_read: u64,
    frames_delivered: u64,
    frames_refused: u64,
    packets_read: u64,
    packets_delivered: u64,
    /// A buffer kept to save allocations.
    arrivals: Vec<HostArrival>,
    /// The frames that are to be delivered to each device as one packet.
    pending: Vec<PendingRun>,
    priority: ThreadPriority,
    spin: SpinBudget,
    coalescing: EventCoalescing,
}

/// Frames to deliver to a device as one packet.
#[derive(Debug, Default)]
struct PendingRun {
    /// `false` while the device carries single frames.
    may_join: bool,
    run: Option<SegmentRun>,
    /// The arrival times of its frames.
    times: Vec<SimTime>,
}

impl Drop for EmulatorThread {
    /// Closes the devices in parallel, because closing each waits for all processors.
    fn drop(&mut self) {
        const THREADS: usize = 16;
        let mut groups: Vec<Vec<(LinkEnd, Device)>> = Vec::new();
        groups.resize_with(THREADS, Vec::new);
        for (index, device) in self.devices.drain(..).enumerate() {
            groups[index % THREADS].push(device);
        }
        std::thread::scope(|scope| {
            for group in groups {
                // If a thread cannot be started, its group is dropped here.
                let _ = std::thread::Builder::new().spawn_scoped(scope, move || drop(group));
            }
        });
    }
}

impl EmulatorThread {
    pub(super) fn new(model: NetworkModel, devices: Vec<(LinkEnd, Device)>) -> Self {
        let now = clock::monotonic_ns();
        Self {
            links: model.links().collect(),
            model,
            pending: devices.iter().map(|_| PendingRun::default()).collect(),
            device_of_end: devices
                .iter()
                .enumerate()
                .map(|(index, (end, _))| (*end, index))
                .collect(),
            devices,
            epoch_ns: now,
            whole: LatenessHistogram::default(),
            marked: LatenessHistogram::default(),
            unread: 0,
            unread_at_mark: 0,
            frames_read: 0,
            frames_delivered: 0,
            frames_refused: 0,
            packets_read: 0,
            packets_delivered: 0,
            arrivals: Vec::new(),
            priority: ThreadPriority::Ordinary,
            spin: SpinBudget::new(now),
            coalescing: EventCoalescing::new(now),
        }
    }

    /// Runs until `wakeup` is closed.
    pub(super) fn run(mut self, commands: &Receiver<EmulatorCommand>, wakeup: &UnixStream) {
        // Timers fire at once and not up to 50 µs later.
        let _ = clock::set_timer_slack_ns(1);
        self.priority = schedule::raise_thread_priority();
        let cpu = CpuClock::of_this_thread();
        let mut buffer = vec![0; MAX_FRAME_BYTES];
        let mut readable: Vec<usize> = Vec::with_capacity(self.devices.len());
        loop {
            self.advance();
            match self.wait(wakeup, &mut readable) {
                Ok(WakeupReason::Command) => {
                    if is_closed(wakeup) {
                        return;
                    }
                    while let Ok(command) = commands.try_recv() {
                        self.execute(command, cpu);
                    }
                }
                Ok(WakeupReason::Frames) => {}
                Err(_) => return,
            }
            for index in readable.drain(..) {
                self.read(index, &mut buffer);
            }
        }
    }

    fn now(&self) -> SimTime {
        SimTime::from_ns(clock::monotonic_ns().saturating_sub(self.epoch_ns))
    }

    /// Processes everything due, and delivers the frames that have arrived.
    fn advance(&mut self) {
        let now_ns = clock::monotonic_ns();
        let now = SimTime::from_ns(now_ns.saturating_sub(self.epoch_ns));
        self.model.advance(now, &mut self.arrivals);
        self.coalescing.delivered(now_ns);
        self.deliver();
    }

    /// Waits for a frame, a command, or the next event; adds the devices with frames to `readable`.
    fn wait(&mut self, wakeup: &UnixStream, readable: &mut Vec<usize>) -> io::Result<WakeupReason> {
        let due_ns = self
            .model
            .next_event()
            .map(|at| at.as_ns().saturating_add(self.epoch_ns));
        let now = clock::monotonic_ns();
        let frames = self.frames_read + self.frames_delivered;
        let held = due_ns.and_then(|due| self.coalescing.hold_until(now, frames, due));
        let left_ns = due_ns.map(|due| due.saturating_sub(now));
        let lead_ns = match held {
            Some(_) => 0,
            None => self.spin.lead_ns(now, left_ns),
        };
        let due_ns = held.or(due_ns);
        let timeout = due_ns.map(|due| {
            let left_ns = due.saturating_sub(now);
            Duration::from_nanos(left_ns.saturating_sub(lead_ns))
        });
        let mut watched: Vec<BorrowedFd<'_>> = Vec::with_capacity(self.devices.len() + 1);
        watched.push(wakeup.as_fd());
        watched.extend(self.devices.iter().map(|(_, device)| device.as_fd()));
        let ready = poll_readable(&watched, timeout)?;
        let devices = ready[1..].iter().enumerate();
        readable.extend(
            devices
                .filter(|(_, is_ready)| **is_ready)
                .map(|(index, _)| index),
        );
        if lead_ns > 0
            && !ready.contains(&true)
            && let Some(due_ns) = due_ns
        {
            self.spin.wait_until(due_ns);
        }
        Ok(if ready[0] {
            WakeupReason::Command
        } else {
            WakeupReason::Frames
        })
    }

    /// Reads the frames that one host has sent.
    fn read(&mut self, index: usize, buffer: &mut [u8]) {
        for _ in 0..MAX_BATCH {
            let (end, device) = &mut self.devices[index];
            let (end, id) = (*end, self.frames_read);
            let now = clock::monotonic_ns();
            let received = device.receive(buffer, now, |received| {
                (HostPacket::new(id, &received), received.sent_ns)
            });
            // A device fails when its host's namespace has gone, which happens only with the lab.
            let Ok(Some((packet, sent_ns))) = received else {
                break;
            };
            self.packets_read += 1;
            let sent_at = SimTime::from_ns(sent_ns.saturating_sub(self.epoch_ns));
            let offered = &mut self.frames_read;
            let mut offer = |frame| {
                *offered += 1;
                self.model.offer(sent_at, end, frame, &mut self.arrivals);
            };
            match packet {
                HostPacket::Frame(frame) => offer(frame),
                HostPacket::Super(frames) => frames.cut(id).for_each(offer),
            }
            if !self.arrivals.is_empty() {
                self.deliver();
            }
        }
    }

    /// Delivers the frames that have arrived.
    fn deliver(&mut self) {
        let mut arrivals = std::mem::take(&mut self.arrivals);
        for HostArrival { at, end, frame } in arrivals.drain(..) {
            let Some(&index) = self.device_of_end.get(&end) else {
                continue;
            };
            let pending = &mut self.pending[index];
            if pending.run.as_mut().is_some_and(|run| run.extend(&frame)) {
                pending.times.push(at);
                continue;
            }
            self.send_pending(index);
            let pending = &mut self.pending[index];
            if pending.may_join
                && let Some(run) = SegmentRun::new(&frame)
            {
                pending.run = Some(run);
                pending.times.push(at);
            } else if let Some(bytes) = frame.bytes() {
                let now = self.now();
                let sent = self.devices[index].1.send(&bytes);
                self.record_delivery(now, sent.is_ok(), &[at]);
            }
        }
        self.arrivals = arrivals;
        for index in 0..self.devices.len() {
            self.send_pending(index);
        }
    }

    /// Delivers the frames that wait for others of their super-frame.
    fn send_pending(&mut self, index: usize) {
        let Some(run) = self.pending[index].run.take() else {
            return;
        };
        let now = self.now();
        let sent = self.devices[index].1.send_run(&run);
        let mut times = std::mem::take(&mut self.pending[index].times);
        self.record_delivery(now, sent.is_ok(), &times);
        times.clear();
        self.pending[index].times = times;
    }

    /// Counts the delivery, at `now`, of a packet of frames that arrived at these times.
    fn record_delivery(&mut self, now: SimTime, is_accepted: bool, times: &[SimTime]) {
        for at in times {
            let late_ns = now.ns_since(*at);
            self.whole.record(late_ns);
            self.marked.record(late_ns);
        }
        let count = if is_accepted {
            &mut self.frames_delivered
        } else {
            &mut self.frames_refused
        };
        *count += times.len() as u64;
        self.packets_delivered += u64::from(is_accepted);
    }

    /// Lets the devices at the ends of `link` carry packets of several frames, or single frames.
    fn set_segmentation(&mut self, link: usize, is_on: bool) -> io::Result<()> {
        for ((end, device), pending) in self.devices.iter().zip(&mut self.pending) {
            if end.link == link {
                device.set_segmentation(is_on)?;
                pending.may_join = is_on && device.takes_runs();
            }
        }
        Ok(())
    }

    fn execute(&mut self, command: EmulatorCommand, cpu: CpuClock) {
        // If the sender of the command has gone, nobody needs the reply.
        match command {
            EmulatorCommand::Report(reply) => {
                let _ = reply.send(self.report(cpu));
            }
            EmulatorCommand::Mark(reply) => {
                self.count_unread();
                self.marked = LatenessHistogram::default();
                self.unread_at_mark = self.unread;
                let _ = reply.send(());
            }
            EmulatorCommand::Set(from, setting, reply) => {
                let now = self.now();
                let _ = reply.send(self.model.set(now, from, setting));
            }
            EmulatorCommand::SetSegmentation(link, is_on, reply) => {
                let _ = reply.send(self.set_segmentation(link, is_on));
            }
        }
    }

    fn count_unread(&mut self) {
        let devices = self.devices.iter();
        self.unread += devices.map(|(_, device)| device.take_unread()).sum::<u64>();
    }

    fn report(&mut self, cpu: CpuClock) -> EmulatorReport {
        self.count_unread();
        let nodes = self.model.report(self.now());
        let link = |link: &usize| Some((*link, self.model.link_report(&nodes, *link)?));
        EmulatorReport {
            links: self.links.iter().filter_map(link).collect(),
            whole: self.whole.summary(self.unread),
            marked: self.marked.summary(self.unread - self.unread_at_mark),
            frames_read: self.frames_read,
            frames_delivered: self.frames_delivered,
            frames_refused: self.frames_refused,
            packets_read: self.packets_read,
            packets_delivered: self.packets_delivered,
            cpu: cpu.read(),
            priority: self.priority,
        }
    }
}

/// What a host has sent in one packet.
enum HostPacket {
    /// A frame.
    Frame(Frame),
    /// Several.
    Super(Arc<SuperFrame>),
}

impl HostPacket {
    /// What was received; a frame is numbered `id`.
    fn new(id: u64, received: &ReceivedFrame<'_>) -> Self {
        let cut = received.segmentation;
        match cut.and_then(|segmentation| SuperFrame::new(received.bytes, segmentation)) {
            Some(frames) => Self::Super(Arc::new(frames)),
            None => Self::Frame(Frame::from_bytes(id, received.bytes)),
        }
    }
}

/// The reason why [`EmulatorThread::wait`] returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WakeupReason {
    /// There is a command, or the handle was dropped.
    Command,
    /// There are frames to read, or events to process.
    Frames,
}

/// Reads all wake-up bytes; `true` when the other end is closed.
fn is_closed(mut wakeup: &UnixStream) -> bool {
    let mut bytes = [0; 64];
    loop {
        match io::Read::read(&mut wakeup, &mut bytes) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(_) => return false,
        }
    }
}
