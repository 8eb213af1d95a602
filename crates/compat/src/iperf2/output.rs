//! The output: the printer, and the file or terminal that its text goes to.

use super::options::Options;
use super::printer::Iperf2Printer;
use super::session_events::Iperf2Event;
use caudal_core::event::{ListeningSocket, View};
use caudal_core::text::printable;
use caudal_sys::clock::realtime_ns;
use caudal_sys::interface::local_addresses;
use std::fs::File;
use std::io::Write;
use std::net::SocketAddr;

/// The output of a command.
pub(super) struct Iperf2Output {
    printer: Iperf2Printer,
    file: Box<dyn Write>,
}

impl Iperf2Output {
    /// The output that the options ask for.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(super) fn open(options: &Options) -> Result<Self, String> {
        let file: Box<dyn Write> = match &options.output {
            Some(path) => Box::new(
                File::create(path)
                    .map_err(|cause| format!("cannot write {}: {cause}", path.display()))?,
            ),
            None => Box::new(std::io::stdout()),
        };
        Ok(Self {
            printer: Iperf2Printer::new(options, std::process::id(), interface_of, || {
                realtime_ns() / 1_000_000_000
            }),
            file,
        })
    }

    /// Takes the options once their defaults are known.
    pub(super) fn set_options(&mut self, options: &Options) {
        self.printer.set_options(options);
    }

    /// Prints the settings of a server that listens.
    pub(super) fn listening(&mut self, socket: &ListeningSocket) {
        self.printer.listening(socket);
        self.write();
    }

    /// Prints an event of a session.
    pub(super) fn event(&mut self, printed: &Iperf2Event) {
        self.printer.set_histogram(printed.histogram.clone());
        self.printer.session(&printed.session).event(&printed.event);
        self.write();
    }

    fn write(&mut self) {
        // That nobody reads it any more does not end a server.
        let _ = self
            .file
            .write_all(printable(&self.printer.take_text()).as_bytes());
        let _ = self.file.flush();
    }
}

fn interface_of(address: SocketAddr) -> Option<String> {
    local_addresses()
        .into_iter()
        .find(|own| own.address == address.ip())
        .map(|own| own.interface)
}
