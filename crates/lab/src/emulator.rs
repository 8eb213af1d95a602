//! The thread that carries frames from host to host.
//!
//! Everything that happens on a link happens in the link model's time: when a frame leaves follows from when it arrived and
//! from what was before it, never from when this thread woke up. Waking late makes a delivery late, and nothing else.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use caudal_link::assembly::{Assembly, CourseReport, LinkEnd, Reached};
use caudal_link::cell::Setting;
use caudal_link::error::LinkError;
use caudal_link::frame::Frame;
use caudal_link::moment::Moment;
use caudal_sys::clock::{self, CpuClock};
use caudal_sys::schedule::{self, Preference};
use caudal_sys::signal::poll_readable;

use crate::device::Device;
use crate::punctuality::{Lateness, Punctuality};

/// Frames read from one host before the others have their turn.
const BATCH: usize = 64;
/// The largest frame a device can hand over: the largest packet and an Ethernet header with a VLAN tag.
const LARGEST: usize = 65_536 + 18;

/// A timer wakes a thread tens of microseconds late, so the thread wakes itself this much earlier and looks at the clock
/// until it is time.
const LEAD: u64 = 100_000;
/// It looks at the clock for one part in this many of all time, and is late where that does not suffice: on links that are
/// full lateness matters less than the processor, which hosts share.
const LOOKING: u64 = 33;
/// What it may save up of it.
const SAVED: u64 = 20_000_000;

/// A question or an order to the emulator.
enum Message {
    /// What was counted, for the links asked.
    Report(Sender<Told>),
    /// From here on lateness is counted anew.
    Mark(Sender<()>),
    Set(LinkEnd, Setting, Sender<Result<bool, LinkError>>),
}

/// What the emulator tells.
#[derive(Debug, Clone)]
pub(crate) struct Told {
    /// By link.
    pub(crate) links: BTreeMap<usize, [CourseReport; 2]>,
    /// Since the emulator began.
    pub(crate) whole: Punctuality,
    /// Since the last mark.
    pub(crate) marked: Punctuality,
    /// Frames read from hosts, and handed to them.
    pub(crate) frames: (u64, u64),
    /// Frames hosts' devices refused.
    pub(crate) refused: u64,
    /// Processor time used.
    pub(crate) cpu: Option<Duration>,
    /// What was done for it to run soon.
    pub(crate) preference: Preference,
}

/// The running emulator; it stops when this is dropped.
#[derive(Debug)]
pub(crate) struct Emulator {
    orders: Sender<Message>,
    /// Written to, so that the thread looks at its orders; closed, so that it ends.
    bell: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl Emulator {
    /// Lets `assembly` carry frames between `devices`.
    pub(crate) fn start(assembly: Assembly, devices: Vec<(LinkEnd, Device)>) -> io::Result<Self> {
        let (orders, inbox) = channel();
        let (bell, ear) = UnixStream::pair()?;
        ear.set_nonblocking(true)?;
        let state = State {
            links: assembly.links().collect(),
            assembly,
            by_end: devices
                .iter()
                .enumerate()
                .map(|(position, (end, _))| (*end, position))
                .collect(),
            devices,
            epoch: clock::monotonic_ns(),
            whole: Lateness::default(),
            marked: Lateness::default(),
            unread: 0,
            unread_at_mark: 0,
            frames: (0, 0),
            refused: 0,
            reached: Vec::new(),
            preference: Preference::None,
            looking: SAVED,
            reckoned: clock::monotonic_ns(),
        };
        let thread = std::thread::Builder::new()
            .name("emulator".to_owned())
            .spawn(move || state.run(&inbox, &ear.into()))?;
        Ok(Self {
            orders,
            bell: Some(bell),
            thread: Some(thread),
        })
    }

    fn order<T>(&self, message: impl FnOnce(Sender<T>) -> Message) -> Option<T> {
        let (reply, answer) = channel();
        self.orders.send(message(reply)).ok()?;
        io::Write::write_all(&mut self.bell.as_ref()?, &[0]).ok()?;
        answer.recv().ok()
    }

    /// What was counted; `None` when the thread has ended.
    pub(crate) fn report(&self) -> Option<Told> {
        self.order(Message::Report)
    }

    /// Counts lateness anew.
    pub(crate) fn mark(&self) {
        self.order(Message::Mark);
    }

    /// Changes what goes from `end` of a link; `Some(Ok(false))` when it has no such thing.
    pub(crate) fn set(&self, end: LinkEnd, setting: Setting) -> Option<Result<bool, LinkError>> {
        self.order(|reply| Message::Set(end, setting, reply))
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        self.bell = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been printed; there is nothing more to do about it here.
            let _ = thread.join();
        }
    }
}

struct State {
    assembly: Assembly,
    links: Vec<usize>,
    devices: Vec<(LinkEnd, Device)>,
    by_end: BTreeMap<LinkEnd, usize>,
    /// The monotonic clock when virtual time began.
    epoch: u64,
    whole: Lateness,
    marked: Lateness,
    unread: u64,
    unread_at_mark: u64,
    frames: (u64, u64),
    refused: u64,
    reached: Vec<Reached>,
    preference: Preference,
    /// Nanoseconds it may look at the clock, and when that was reckoned.
    looking: u64,
    reckoned: u64,
}

impl Drop for State {
    /// Every device waits for all processors when it goes, so they go together.
    fn drop(&mut self) {
        const TOGETHER: usize = 16;
        let mut groups: Vec<Vec<(LinkEnd, Device)>> = Vec::new();
        groups.resize_with(TOGETHER, Vec::new);
        for (position, device) in self.devices.drain(..).enumerate() {
            groups[position % TOGETHER].push(device);
        }
        std::thread::scope(|scope| {
            for group in groups {
                // Where there is no thread to be had, this one drops them.
                let _ = std::thread::Builder::new().spawn_scoped(scope, move || drop(group));
            }
        });
    }
}

impl State {
    fn run(mut self, inbox: &Receiver<Message>, ear: &OwnedFd) {
        // Wakes a thread as soon as the timer fires and not up to 50 µs later.
        let _ = clock::set_timer_slack_ns(1);
        self.preference = schedule::prefer_this_thread();
        let cpu = CpuClock::of_this_thread();
        let mut buffer = vec![0; LARGEST];
        let mut ready: Vec<usize> = Vec::with_capacity(self.devices.len());
        loop {
            self.advance();
            match self.wait(ear, &mut ready) {
                Ok(true) => {
                    if hear(ear) {
                        return;
                    }
                    while let Ok(message) = inbox.try_recv() {
                        self.obey(message, cpu);
                    }
                }
                Ok(false) => {}
                Err(_) => return,
            }
            for position in ready.drain(..) {
                self.read(position, &mut buffer);
            }
        }
    }

    fn now(&self) -> Moment {
        Moment::from_ns(clock::monotonic_ns().saturating_sub(self.epoch))
    }

    /// Lets everything happen that is due, and hands over what arrived.
    fn advance(&mut self) {
        let now = self.now();
        self.assembly.advance(now, &mut self.reached);
        self.deliver();
    }

    /// Waits for a frame, an order, or the next thing that is due; whether there is an order.
    fn wait(&mut self, ear: &OwnedFd, ready: &mut Vec<usize>) -> io::Result<bool> {
        let due = self.assembly.next_event();
        let now = clock::monotonic_ns();
        let earned = now.saturating_sub(self.reckoned) / LOOKING;
        self.looking = (self.looking + earned).min(SAVED);
        self.reckoned = now;
        let lead = if self.looking >= LEAD { LEAD } else { 0 };
        let timeout = due.map(|at| {
            let left = at.ns().saturating_add(self.epoch).saturating_sub(now);
            Duration::from_nanos(left.saturating_sub(lead))
        });
        let mut watched: Vec<BorrowedFd<'_>> = Vec::with_capacity(self.devices.len() + 1);
        watched.push(ear.as_fd());
        watched.extend(self.devices.iter().map(|(_, device)| device.as_fd()));
        let answers = poll_readable(&watched, timeout)?;
        let of_devices = answers[1..].iter().enumerate();
        ready.extend(
            of_devices
                .filter(|(_, is)| **is)
                .map(|(position, _)| position),
        );
        if lead > 0
            && !answers.contains(&true)
            && let Some(due) = due
        {
            let began = clock::monotonic_ns();
            let due = due.ns().saturating_add(self.epoch);
            let mut now = began;
            // Never longer than was asked for, whatever the clock does.
            while now < due && now - began <= LEAD {
                std::hint::spin_loop();
                now = clock::monotonic_ns();
            }
            self.looking = self.looking.saturating_sub(now - began);
        }
        Ok(answers[0])
    }

    /// Takes what one host sent.
    fn read(&mut self, position: usize, buffer: &mut [u8]) {
        for _ in 0..BATCH {
            let (end, device) = &mut self.devices[position];
            let (end, id) = (*end, self.frames.0);
            let now = clock::monotonic_ns();
            let frame = device.receive(buffer, now, |bytes, at| (Frame::of_bytes(id, bytes), at));
            // A device that fails has lost its host, which ends when the lab does.
            let Ok(Some((frame, at))) = frame else {
                break;
            };
            self.frames.0 += 1;
            let at = Moment::from_ns(at.saturating_sub(self.epoch));
            self.assembly.offer(at, end, frame, &mut self.reached);
            if !self.reached.is_empty() {
                self.deliver();
            }
        }
    }

    /// Hands over what arrived.
    fn deliver(&mut self) {
        for Reached { at, end, frame } in self.reached.drain(..) {
            let Some(position) = self.by_end.get(&end) else {
                continue;
            };
            let Some(bytes) = frame.bytes() else {
                continue;
            };
            let now = clock::monotonic_ns().saturating_sub(self.epoch);
            let late = now.saturating_sub(at.ns());
            match self.devices[*position].1.send(bytes) {
                Ok(()) => self.frames.1 += 1,
                Err(_) => self.refused += 1,
            }
            self.whole.record(late);
            self.marked.record(late);
        }
    }

    fn obey(&mut self, message: Message, cpu: CpuClock) {
        // Who asked may have gone; then nobody misses the answer.
        match message {
            Message::Report(reply) => {
                let told = self.told(cpu);
                let _ = reply.send(told);
            }
            Message::Mark(reply) => {
                self.count_unread();
                self.marked = Lateness::default();
                self.unread_at_mark = self.unread;
                let _ = reply.send(());
            }
            Message::Set(end, setting, reply) => {
                let now = self.now();
                let _ = reply.send(self.assembly.set(now, end, setting));
            }
        }
    }

    fn count_unread(&mut self) {
        self.unread += self
            .devices
            .iter()
            .map(|(_, device)| device.unread())
            .sum::<u64>();
    }

    fn told(&mut self, cpu: CpuClock) -> Told {
        self.count_unread();
        let nodes = self.assembly.report(self.now());
        let of = |link: &usize| Some((*link, self.assembly.link_report(&nodes, *link)?));
        Told {
            links: self.links.iter().filter_map(of).collect(),
            whole: self.whole.told(self.unread),
            marked: self.marked.told(self.unread - self.unread_at_mark),
            frames: self.frames,
            refused: self.refused,
            cpu: cpu.read(),
            preference: self.preference,
        }
    }
}

/// Empties the bell; whether it was taken away.
fn hear(ear: &OwnedFd) -> bool {
    let Ok(copy) = ear.try_clone() else {
        return true;
    };
    let mut stream = UnixStream::from(copy);
    let mut heard = [0; 64];
    loop {
        match io::Read::read(&mut stream, &mut heard) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(_) => return false,
        }
    }
}
