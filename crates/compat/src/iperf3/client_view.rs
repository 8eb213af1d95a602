//! The output of a client.

use super::json::{self, TestHeading};
use super::options::Iperf3Settings;
use super::printer::Iperf3Printer;
use super::report::TestReport;
use super::text::Iperf3Text;
use caudal_core::event::{CutShort, EndedTest, Event, PeerOutput, View};
use caudal_foreign::iperf3::Iperf3Session;

/// The output of a client: lines, or JSON.
pub(super) struct ClientView {
    text: Iperf3Text,
    pub(super) heading: TestHeading,
    printer: Iperf3Printer,
    /// The test, until both ends agree on it.
    session: Option<Iperf3Session>,
    verbose: bool,
    json: bool,
    json_stream: bool,
    json_full: bool,
}

impl ClientView {
    pub(super) fn new(
        settings: &Iperf3Settings,
        heading: TestHeading,
        printer: Iperf3Printer,
    ) -> Self {
        let output = &settings.output;
        let report = TestReport::at_client(settings.interval).with_file(settings.file.clone());
        Self {
            text: Iperf3Text::new(report, output.format, output.verbose),
            heading,
            printer,
            session: None,
            verbose: output.verbose,
            json: output.json,
            json_stream: output.json_stream,
            json_full: output.json_full,
        }
    }

    /// The test so far.
    pub(super) const fn report(&self) -> &TestReport {
        &self.text.report
    }

    /// Sets the test that both ends are going to agree on.
    pub(super) fn expect(&mut self, session: Iperf3Session) {
        self.session = Some(session);
    }

    /// Prints a line.
    pub(super) fn line(&mut self, line: &str) {
        self.printer.line(line);
    }

    /// Prints a line where more is shown.
    pub(super) fn verbose_line(&mut self, line: &str) {
        if self.verbose {
            self.printer.line(line);
        }
    }

    fn server_output(&self) -> Option<&PeerOutput> {
        self.report().peer_report()?.output.as_ref()
    }

    /// Prints the output that the server has sent.
    pub(super) fn show_server_output(&mut self) {
        let (heading, output) = match self.server_output() {
            Some(PeerOutput::Json(json)) => {
                ("Server JSON output:", json::pretty(json.as_received()))
            }
            Some(PeerOutput::Text(text)) => ("Server output:", text.as_received().to_owned()),
            None => return,
        };
        self.line("");
        self.line(heading);
        for line in output.lines() {
            self.line(line);
        }
        self.line("");
    }

    /// Prints the end: the JSON object, and the error that ended the test.
    pub(super) fn close(&mut self, error: Option<&str>) {
        // The object holds the reason alone.
        let reason = error.map(|error| error.strip_prefix("error - ").unwrap_or(error));
        if self.json_stream {
            if let Some(event) = self.server_output().map(json::server_output_event) {
                self.printer.raw(&event);
            }
            if let Some(reason) = reason {
                self.printer.raw(&json::event("error", reason));
            }
            let end = json::event("end", json::end(self.report()));
            self.printer.raw(&end);
        }
        if self.json && (!self.json_stream || self.json_full) {
            let whole = json::whole(self.report(), &self.heading, reason);
            self.printer.raw(&whole.pretty());
        }
        if let (Some(error), false) = (error, self.json) {
            self.printer.error(error);
        }
    }
}

impl View for ClientView {
    fn event(&mut self, event: &Event) {
        if let Event::Agreed(_) = event
            && let Some(session) = self.session.take()
        {
            self.text.report.agree(&session);
        }
        let before = self.text.report.intervals.len();
        let lines = self.text.lines(event);
        let is_shown = match event {
            Event::Ended(ended) => has_summary(ended),
            _ => true,
        };
        for line in lines.iter().filter(|_| is_shown) {
            self.printer.line(line);
        }
        if self.json_stream {
            let report = &self.text.report;
            for event in json::stream_events(report, &self.heading, before, event) {
                self.printer.raw(&event);
            }
        }
    }
}

/// `true` when the summary of a test that ended so is shown: unless it failed.
const fn has_summary(ended: &EndedTest) -> bool {
    matches!(
        ended.cut_short,
        None | Some(CutShort::Interrupted | CutShort::ByServer(_))
    )
}
