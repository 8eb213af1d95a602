//! The printer: the rows of both ends, as nttcp prints them.

use caudal_core::event::{EndReport, Event, PeerOutput, ReportingEnd, View};
use caudal_core::text::on_one_line;
use caudal_wire::nttcp::{TransferRequest, title};
use std::io::Write;
use std::net::SocketAddr;

/// The beginning of the lines that a verbose program prints.
const NAME: &str = "nttcp-";

/// Prints the rows of a transfer.
pub struct NttcpPrinter<'a, W> {
    request: &'a TransferRequest,
    out: W,
}

impl<'a, W: Write> NttcpPrinter<'a, W> {
    /// The printer of a transfer.
    pub const fn new(request: &'a TransferRequest, out: W) -> Self {
        Self { request, out }
    }

    /// Prints the transfer that is about to begin with `peer`, where that is wanted.
    pub fn begin(&mut self, peer: SocketAddr) {
        let request = self.request;
        if !request.verbose {
            return;
        }
        let transport = if request.udp { "UDP" } else { "TCP" };
        let direction = if request.transmit { "to" } else { "from" };
        let bytes = request.bytes();
        self.line(&format!(
            "{NAME}l: {transport} {direction} {peer}, {bytes} bytes"
        ));
    }

    /// Prints a line. That nobody reads it is no error.
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.out, "{}", on_one_line(line));
    }

    fn report(&mut self, report: &EndReport) {
        let Some(PeerOutput::Text(text)) = &report.output else {
            return;
        };
        if report.end == ReportingEnd::Local {
            if self.request.title {
                self.line(&title(&self.request.format));
            }
            return self.line(text.as_received());
        }
        for line in text.as_received().split('\n') {
            let line = on_one_line(line);
            // A line in which the other end names itself is not prefixed again.
            let name = if self.request.verbose && !line.starts_with(NAME) {
                "nttcp-1: "
            } else {
                ""
            };
            self.line(&format!("{name}{line}"));
        }
    }
}

impl<W: Write> View for NttcpPrinter<'_, W> {
    fn event(&mut self, event: &Event) {
        if let Event::Reported(report) = event {
            self.report(report);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reported(end: ReportingEnd, text: &str) -> Event {
        Event::Reported(EndReport {
            end,
            flows: Vec::new(),
            cpu: None,
            congestion: None,
            output: Some(PeerOutput::Text(text.into())),
        })
    }

    fn printed(request: &TransferRequest) -> String {
        let mut out = Vec::new();
        let mut printer = NttcpPrinter::new(request, &mut out);
        printer.event(&reported(ReportingEnd::Local, "l 8192"));
        printer.event(&reported(
            ReportingEnd::Peer,
            "1 8192\nnttcp-1: done\x1b[2J",
        ));
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_row_of_this_end_stands_before_the_lines_of_the_other() {
        let request = TransferRequest::default();
        assert_eq!(
            printed(&request),
            "l 8192\n1 8192\nnttcp-1: done\\u001b[2J\n"
        );
    }

    #[test]
    fn a_verbose_printer_names_the_end_that_a_line_is_of() {
        let request = TransferRequest::decode("nttcp@-v").unwrap();
        let text = printed(&request);
        assert!(
            text.ends_with("nttcp-1: 1 8192\nnttcp-1: done\\u001b[2J\n"),
            "{text}"
        );
    }
}
