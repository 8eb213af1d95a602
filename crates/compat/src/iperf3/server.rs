//! `caudal iperf3 -s`: our server with the output of iperf3's.

use super::json::{self, Preface};
use super::login;
use super::options::{ServerSettings, Settings};
use super::printer::Printer;
use super::report::Report;
use super::text::{DASHES, Text, Transcript};
use super::{SHOWN_VERSION, rfc1123, system_info};
use crate::peer::TOOL;
use caudal_engine::iperf3::{Gatekeeper, Iperf3Event, Iperf3Options, ScribeMaker};
use caudal_engine::{Family, Server, ServerEvent, ServerOptions};
use caudal_sys::clock::{monotonic_ns, realtime_ns};
use caudal_sys::signal::Interrupt;
use caudal_wire::iperf3::Complaint;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Writes down every test for clients that ask for the server's output.
#[must_use]
pub fn transcripts(format: Option<char>, verbose: bool, interval: Option<Duration>) -> ScribeMaker {
    ScribeMaker(Arc::new(move || {
        let text = Text::new(Report::new(true, interval), format, verbose);
        Box::new(Transcript::new(text))
    }))
}

pub(super) fn run(
    settings: &Settings,
    wanted: &ServerSettings,
    interrupt: &'static Interrupt,
) -> ExitCode {
    match serve(settings, wanted, interrupt) {
        Ok(()) => ExitCode::SUCCESS,
        Err(words) => {
            let line = format!("iperf3: error - {words}\n");
            let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
            ExitCode::FAILURE
        }
    }
}

fn serve(
    settings: &Settings,
    wanted: &ServerSettings,
    interrupt: &'static Interrupt,
) -> Result<(), String> {
    let mut printer = Printer::open(&settings.look).map_err(|cause| {
        format!("unable to open log file: {cause}; name another with --logfile")
    })?;
    let gatekeeper = match (&wanted.private_key, &wanted.users) {
        (Some(key), Some(users)) => {
            let book = login::Book::open(key, users, wanted.skew, wanted.pkcs1)
                .map_err(|error| error.to_string())?;
            Some(Gatekeeper(Arc::new(move |token: &str| book.admits(token))))
        }
        _ => None,
    };
    let any: Option<IpAddr> = match settings.family {
        Some(Family::V4) => Some(Ipv4Addr::UNSPECIFIED.into()),
        Some(Family::V6) => Some(Ipv6Addr::UNSPECIFIED.into()),
        None => None,
    };
    let look = &settings.look;
    let options = ServerOptions {
        bind: settings.bind.or(any),
        port: settings.port,
        one_off: wanted.one_off,
        max_time: wanted.max_duration,
        tool: TOOL.to_owned(),
        iperf3: Iperf3Options {
            gatekeeper,
            scribes: Some(transcripts(look.format, look.verbose, settings.interval)),
            interval: settings.interval,
            rate_limit: wanted.rate_limit,
            receive_timeout: settings.receive_timeout,
            ..Iperf3Options::default()
        },
        ..ServerOptions::default()
    };
    let (sender, events) = channel();
    let server = Server::start(options, Some(sender))
        .map_err(|error| format!("{}: {error}", Complaint::LISTEN.words()))?;
    let mut house = House {
        settings,
        tests: BTreeMap::new(),
        begun: 0,
        port: server.local().port(),
    };
    if look.verbose {
        printer.line(SHOWN_VERSION);
        printer.line(&system_info());
    }
    house.banner(&mut printer);
    let mut heard_ns = monotonic_ns();
    loop {
        // Signals are looked for often enough that ^C feels immediate.
        match events.recv_timeout(Duration::from_millis(50)) {
            Ok(event) => {
                heard_ns = monotonic_ns();
                house.note(&mut printer, &event);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if interrupt.count() > 0 {
            server.stop();
            printer.error("iperf3: interrupt - the server has terminated");
            break;
        }
        if server.is_over() {
            break;
        }
        let idle = Duration::from_nanos(monotonic_ns().saturating_sub(heard_ns));
        if wanted.one_off
            && server.clients() == 0
            && wanted.idle_timeout.is_some_and(|most| idle >= most)
        {
            break;
        }
    }
    while let Ok(event) = events.try_recv() {
        house.note(&mut printer, &event);
    }
    Ok(())
}

struct House<'a> {
    settings: &'a Settings,
    tests: BTreeMap<u64, (Text, u64)>,
    begun: u64,
    port: u16,
}

impl House<'_> {
    fn banner(&mut self, printer: &mut Printer) {
        self.begun += 1;
        printer.line(DASHES);
        printer.line(&format!(
            "Server listening on {} (test #{})",
            self.port, self.begun
        ));
        printer.line(DASHES);
    }

    fn note(&mut self, printer: &mut Printer, event: &ServerEvent) {
        match event {
            ServerEvent::Iperf3 { client, event } => self.test(printer, *client, event),
            ServerEvent::Refused { peer, why } => {
                printer.error(&format!("iperf3: error - {}: {why}", peer.ip()));
            }
            ServerEvent::Left { client } => {
                let Some((text, began_ns)) = self.tests.remove(client) else {
                    return;
                };
                if self.settings.look.json && !self.settings.look.json_stream {
                    let preface = preface(began_ns);
                    let complaint = text.report.ending.as_ref().and_then(|one| one.complaint);
                    let error = complaint.map(Complaint::words);
                    let whole = json::whole(&text.report, &preface, error.as_deref());
                    printer.raw(&whole.pretty());
                }
                if !self.settings.look.json {
                    self.banner(printer);
                }
            }
            _ => {}
        }
    }

    fn test(&mut self, printer: &mut Printer, client: u64, event: &Iperf3Event) {
        let look = &self.settings.look;
        if let Iperf3Event::Agreed { .. } = event {
            if look.verbose {
                printer.line(&format!("Time: {}", rfc1123(realtime_ns())));
            }
            let report = Report::new(true, self.settings.interval);
            let text = Text::new(report, look.format, look.verbose);
            self.tests.insert(client, (text, realtime_ns()));
        }
        let Some((text, began_ns)) = self.tests.get_mut(&client) else {
            return;
        };
        let before = text.report.rows.len();
        let lines = text.note(event);
        printer.lines(&lines);
        if let Iperf3Event::Ended(ending) = event
            && let Some(complaint) = ending.complaint
        {
            printer.error(&format!("iperf3: error - {}", complaint.words()));
        }
        if look.json_stream {
            if let Iperf3Event::Opened { .. } = event {
                let preface = preface(*began_ns);
                printer.raw(&json::event("start", json::start(&text.report, &preface)));
            }
            for row in &text.report.rows[before..] {
                printer.raw(&json::event("interval", json::interval(&text.report, row)));
            }
            if let Iperf3Event::Ended(_) = event {
                printer.raw(&json::event("end", json::end(&text.report)));
            }
        }
    }
}

fn preface(began_ns: u64) -> Preface {
    Preface {
        system: system_info(),
        began_ns,
        host: None,
    }
}
