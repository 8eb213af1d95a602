//! The handle of the emulator's thread.

use std::io;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use caudal_link::error::LinkError;
use caudal_link::model::NetworkModel;
use caudal_link::stage::Setting;
use caudal_topology::LinkEnd;

use super::command::{EmulatorCommand, EmulatorReport};
use super::thread::EmulatorThread;
use crate::device::Device;

/// The running emulator; it stops when this is dropped.
#[derive(Debug)]
pub(crate) struct Emulator {
    commands: Sender<EmulatorCommand>,
    /// A byte wakes the thread up to read commands; closing it ends the thread.
    wakeup: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl Emulator {
    /// Starts a thread that carries frames between `devices` over the links of `model`.
    pub(crate) fn start(model: NetworkModel, devices: Vec<(LinkEnd, Device)>) -> io::Result<Self> {
        let (commands, received) = channel();
        let (wakeup, wakeup_receiver) = UnixStream::pair()?;
        wakeup_receiver.set_nonblocking(true)?;
        let emulator = EmulatorThread::new(model, devices);
        let thread = std::thread::Builder::new()
            .name("emulator".to_owned())
            .spawn(move || emulator.run(&received, &wakeup_receiver))?;
        Ok(Self {
            commands,
            wakeup: Some(wakeup),
            thread: Some(thread),
        })
    }

    /// Sends a command and waits for the reply; `None` when the thread has ended.
    fn execute<T>(&self, command: impl FnOnce(Sender<T>) -> EmulatorCommand) -> Option<T> {
        let (reply, replied) = channel();
        self.commands.send(command(reply)).ok()?;
        io::Write::write_all(&mut self.wakeup.as_ref()?, &[0]).ok()?;
        replied.recv().ok()
    }

    /// All counters; `None` when the thread has ended.
    pub(crate) fn report(&self) -> Option<EmulatorReport> {
        self.execute(EmulatorCommand::Report)
    }

    /// Starts a new measurement of the lateness.
    pub(crate) fn mark(&self) {
        self.execute(EmulatorCommand::Mark);
    }

    /// Changes the direction that starts at `from`; `Some(Ok(false))` when it does not have the setting, `None` when the
    /// thread has ended.
    pub(crate) fn set(&self, from: LinkEnd, setting: Setting) -> Option<Result<bool, LinkError>> {
        self.execute(|reply| EmulatorCommand::Set(from, setting, reply))
    }

    /// Lets the devices at the ends of `link` carry packets of several frames, or single frames.
    pub(crate) fn set_segmentation(&self, link: usize, is_on: bool) -> io::Result<()> {
        self.execute(|reply| EmulatorCommand::SetSegmentation(link, is_on, reply))
            .unwrap_or_else(|| Err(io::ErrorKind::BrokenPipe.into()))
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        self.wakeup = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been printed; nothing else can be done about it here.
            let _ = thread.join();
        }
    }
}
