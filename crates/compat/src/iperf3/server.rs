//! `caudal iperf3 -s`: a server with the output of iperf3's.

use super::about::{SHOWN_VERSION, system_info};
use super::login::AuthorizedUsers;
use super::options::{Iperf3Settings, ServiceSettings};
use super::printer::Iperf3Printer;
use super::server_view::{PrintJob, ServerView};
use crate::program::fail;
use caudal_engine::server::{SessionEvent, SessionEventKind, SessionEventSender, SessionViews};
use caudal_engine::{AddressFamily, Protocol, Server, ServerOptions, SessionLimits, TOOL};
use caudal_foreign::iperf3::{Iperf3Options, Iperf3SharedPort, LoginCheck};
use caudal_sys::clock::monotonic_ns;
use caudal_sys::signal::Interrupt;
use caudal_wire::iperf3::Iperf3ErrorCode;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// The line around the banner.
const DASHES: &str = "-----------------------------------------------------------";
/// The interval at which signals are looked for: short enough that ^C feels immediate.
const SIGNAL_CHECK: Duration = Duration::from_millis(50);

/// Runs a server.
pub(super) fn run(
    settings: &Iperf3Settings,
    service: &ServiceSettings,
    interrupt: &'static Interrupt,
) -> ExitCode {
    match RunningServer::start(settings, service) {
        Ok(mut server) => {
            server.serve(service, interrupt);
            ExitCode::SUCCESS
        }
        Err(error) => fail("iperf3", format!("error - {error}")),
    }
}

/// The settings of the server.
///
/// # Errors
/// When its keys cannot be read.
fn server_options(
    settings: &Iperf3Settings,
    service: &ServiceSettings,
    jobs: Sender<PrintJob>,
) -> Result<ServerOptions, String> {
    let login = match (&service.private_key, &service.users) {
        (Some(key), Some(users)) => {
            let users = AuthorizedUsers::open(key, users, service.skew, service.padding)
                .map_err(|error| error.to_string())?;
            Some(LoginCheck(Arc::new(move |token: &str| users.admits(token))))
        }
        _ => None,
    };
    let any: Option<IpAddr> = match settings.family {
        Some(AddressFamily::V4) => Some(Ipv4Addr::UNSPECIFIED.into()),
        Some(AddressFamily::V6) => Some(Ipv6Addr::UNSPECIFIED.into()),
        None => None,
    };
    let (interval, view_settings) = (settings.interval, settings.clone());
    Ok(ServerOptions {
        bind: settings.bind.or(any).map(Into::into).into_iter().collect(),
        device: settings.device.clone(),
        port: settings.port,
        one_off: service.one_off,
        limits: SessionLimits {
            max_time: service.max_duration,
            ..SessionLimits::default()
        },
        tool: TOOL.to_owned(),
        shared_port: vec![Arc::new(Iperf3SharedPort::new(Iperf3Options {
            login,
            views: Some(SessionViews(Arc::new(move |session| {
                Box::new(ServerView::new(session, &view_settings, jobs.clone()))
            }))),
            interval,
            rate_limit: service.rate_limit,
            receive_timeout: settings.receive_timeout,
            file: settings.file.clone(),
            ..Iperf3Options::default()
        }))],
        ..ServerOptions::default()
    })
}

/// A server that runs, and its output.
struct RunningServer {
    server: Option<Server>,
    events: Receiver<SessionEvent>,
    jobs: Receiver<PrintJob>,
    printer: Iperf3Printer,
    port: u16,
    /// The tests for which the server has waited.
    tests: u64,
    /// `true` when the output is JSON.
    json: bool,
    /// The time of the latest event, ns.
    event_ns: u64,
}

impl RunningServer {
    fn start(settings: &Iperf3Settings, service: &ServiceSettings) -> Result<Self, String> {
        let mut printer = Iperf3Printer::open(&settings.output)?;
        let (job_sender, jobs) = channel();
        let options = server_options(settings, service, job_sender)?;
        let (event_sender, events) = channel();
        let server = Server::start(options, SessionEventSender::from(event_sender))
            .map_err(|error| format!("{}: {error}", Iperf3ErrorCode::LISTEN))?;
        if settings.output.verbose {
            printer.line(SHOWN_VERSION);
            printer.line(&system_info());
        }
        let mut running = Self {
            port: server.local().port(),
            server: Some(server),
            events,
            jobs,
            printer,
            tests: 0,
            json: settings.output.json,
            event_ns: monotonic_ns(),
        };
        running.print_banner();
        Ok(running)
    }

    fn print_banner(&mut self) {
        self.tests += 1;
        self.printer.line(DASHES);
        self.printer.line(&format!(
            "Server listening on {} (test #{})",
            self.port, self.tests
        ));
        self.printer.line(DASHES);
    }

    /// Serves until the server is over, or interrupted.
    fn serve(&mut self, service: &ServiceSettings, interrupt: &'static Interrupt) {
        loop {
            match self.jobs.recv_timeout(SIGNAL_CHECK) {
                Ok(job) => self.print(job),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.print_refusals();
            if interrupt.count() > 0 {
                if let Some(server) = self.server.take() {
                    server.stop();
                }
                self.printer.error("interrupt - the server has terminated");
                break;
            }
            if self.is_over(service) {
                break;
            }
        }
        while let Ok(job) = self.jobs.try_recv() {
            self.print(job);
        }
        self.print_refusals();
    }

    /// `true` when the server has ended, or has waited long enough for its one client.
    fn is_over(&self, service: &ServiceSettings) -> bool {
        let Some(server) = self.server.as_ref().filter(|server| !server.is_over()) else {
            return true;
        };
        let idle = Duration::from_nanos(monotonic_ns().saturating_sub(self.event_ns));
        let is_idle = service.idle_timeout.is_some_and(|timeout| idle >= timeout);
        service.one_off && server.clients() == 0 && is_idle
    }

    fn print(&mut self, job: PrintJob) {
        match job {
            PrintJob::Line(line) => self.printer.line(&line),
            PrintJob::Json(text) => self.printer.raw(&text),
            PrintJob::Error(error) => self.printer.error(&error),
            PrintJob::SessionOver if self.json => {}
            PrintJob::SessionOver => self.print_banner(),
        }
    }

    /// Prints why clients were refused whose sessions have no views.
    fn print_refusals(&mut self) {
        while let Ok(event) = self.events.try_recv() {
            self.event_ns = monotonic_ns();
            let has_view = event.protocol == Protocol::Iperf3 && event.session != 0;
            if let (SessionEventKind::Refused(refusal), Some(peer)) = (event.kind, event.peer)
                && !has_view
            {
                self.printer
                    .error(&format!("error - {}: {}", peer.ip(), refusal.message));
            }
        }
    }
}
