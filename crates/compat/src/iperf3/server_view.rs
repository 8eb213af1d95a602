//! The output of a server, a view for each session.

use super::about::rfc1123;
use super::json::{self, TestHeading};
use super::options::{Iperf3Settings, OutputSettings};
use super::report::TestReport;
use super::text::Iperf3Text;
use caudal_core::event::{Event, PeerOutput, View};
use caudal_engine::server::{SessionView, SessionViews};
use caudal_foreign::iperf3::Iperf3Session;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

/// A part of the server's output, printed in the order in which the sessions make it.
#[derive(Debug)]
pub(super) enum PrintJob {
    /// A line of text.
    Line(String),
    /// JSON.
    Json(String),
    /// An error.
    Error(String),
    /// A session is over.
    SessionOver,
}

/// The lines a test is shown by, for a client that asks for the server's output.
struct Iperf3Transcript {
    text: Iperf3Text,
    lines: String,
}

impl Iperf3Transcript {
    fn new(
        session: &Iperf3Session,
        format: Option<char>,
        verbose: bool,
        interval: Option<Duration>,
        file: Option<PathBuf>,
    ) -> Self {
        let mut report = TestReport::at_server(interval).with_file(file);
        report.agree(session);
        Self {
            text: Iperf3Text::new(report, format, verbose),
            lines: String::new(),
        }
    }

    /// Takes an event: the lines that show it.
    fn take(&mut self, event: &Event) -> Vec<String> {
        let lines = self.text.lines(event);
        for line in &lines {
            self.lines.push_str(line);
            self.lines.push('\n');
        }
        lines
    }
}

impl View for Iperf3Transcript {
    fn event(&mut self, event: &Event) {
        self.take(event);
    }
}

impl SessionView for Iperf3Transcript {
    fn output(&self) -> Option<PeerOutput> {
        Some(PeerOutput::Text(self.lines.clone().into()))
    }
}

/// Views that print a server's output for its clients alone.
#[must_use]
pub fn transcripts(
    format: Option<char>,
    verbose: bool,
    interval: Option<Duration>,
) -> SessionViews<Iperf3Session> {
    SessionViews(Arc::new(move |session| {
        Box::new(Iperf3Transcript::new(
            session, format, verbose, interval, None,
        ))
    }))
}

/// The view of a session at a server with iperf3's output.
pub(super) struct ServerView {
    transcript: Iperf3Transcript,
    heading: TestHeading,
    output: OutputSettings,
    jobs: Sender<PrintJob>,
}

impl ServerView {
    pub(super) fn new(
        session: &Iperf3Session,
        settings: &Iperf3Settings,
        jobs: Sender<PrintJob>,
    ) -> Self {
        let output = &settings.output;
        Self {
            transcript: Iperf3Transcript::new(
                session,
                output.format,
                output.verbose,
                settings.interval,
                settings.file.clone(),
            ),
            heading: TestHeading::new(None),
            output: output.clone(),
            jobs,
        }
    }

    fn print(&self, job: PrintJob) {
        // A server that has ended prints no more.
        let _ = self.jobs.send(job);
    }

    fn report(&self) -> &TestReport {
        &self.transcript.text.report
    }
}

impl View for ServerView {
    fn event(&mut self, event: &Event) {
        if matches!(event, Event::Agreed(_)) && self.output.verbose {
            let date = rfc1123(self.heading.began_ns);
            self.print(PrintJob::Line(format!("Time: {date}")));
        }
        let shown = self.report().intervals.len();
        for line in self.transcript.take(event) {
            self.print(PrintJob::Line(line));
        }
        match event {
            Event::Ended(ended) => {
                if let Some(cut_short) = &ended.cut_short {
                    self.print(PrintJob::Error(format!("error - {cut_short}")));
                }
            }
            Event::Refused {
                peer: Some(peer),
                reason,
            } => {
                let ip = peer.ip();
                self.print(PrintJob::Error(format!("error - {ip}: {reason}")));
            }
            _ => {}
        }
        if self.output.json_stream {
            for event in json::stream_events(self.report(), &self.heading, shown, event) {
                self.print(PrintJob::Json(event));
            }
            if matches!(event, Event::Ended(_)) {
                let end = json::event("end", json::end(self.report()));
                self.print(PrintJob::Json(end));
            }
        }
    }
}

impl SessionView for ServerView {
    fn output(&self) -> Option<PeerOutput> {
        if self.output.json {
            let whole = json::whole(self.report(), &self.heading, None);
            return Some(PeerOutput::Json(whole.pretty().into()));
        }
        self.transcript.output()
    }
}

impl Drop for ServerView {
    fn drop(&mut self) {
        if self.output.json && !self.output.json_stream {
            let closing = self.report().closing.as_ref();
            let error = closing
                .and_then(|closing| closing.cut_short.as_ref())
                .map(ToString::to_string);
            let whole = json::whole(self.report(), &self.heading, error.as_deref());
            self.print(PrintJob::Json(whole.pretty()));
        }
        self.print(PrintJob::SessionOver);
    }
}
