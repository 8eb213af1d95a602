//! `caudal iperf3 -c`: a test with any server of iperf3.

use super::json::{self, Preface};
use super::kept;
use super::login;
use super::options::{ClientSettings, Settings};
use super::printer::Printer;
use super::report::Report;
use super::text::Text;
use super::{SHOWN_VERSION, rfc1123, system_info};
use crate::recording::Recording;
use caudal_engine::iperf3::{Iperf3Client, Iperf3Error, Iperf3Event, Request};
use caudal_engine::{Manner, Origin, RunError, Target};
use caudal_sys::affinity;
use caudal_sys::clock::realtime_ns;
use caudal_sys::signal::Interrupt;
use caudal_wire::iperf3::{Complaint, Protocol};
use std::process::ExitCode;

/// What went wrong, in the words of iperf3.
pub(super) fn words(error: &Iperf3Error) -> String {
    let of = |complaint: Complaint| format!("error - {}", complaint.words());
    match error {
        Iperf3Error::Complaint(complaint) => {
            format!("error - SERVER ERROR - {}", complaint.words())
        }
        Iperf3Error::Denied => of(Complaint::ACCESS_DENIED),
        Iperf3Error::ServerTerminated => of(Complaint::SERVER_TERMINATED),
        Iperf3Error::Interrupted => "interrupt - the client has terminated".to_owned(),
        Iperf3Error::Closed => of(Complaint::CONTROL_CLOSED),
        Iperf3Error::Unknown(_) => format!(
            "error - {} (ensure other side is iperf3 and not iperf)",
            Complaint::MESSAGE.words()
        ),
        Iperf3Error::Idle(_) => of(Complaint::NO_MESSAGE),
        Iperf3Error::Run(RunError::Connect { cause, .. }) => {
            let timed_out = cause.kind() == std::io::ErrorKind::TimedOut;
            let errno =
                cause
                    .raw_os_error()
                    .unwrap_or(if timed_out { libc_timed_out() } else { 0 });
            of(Complaint::CONNECT.because(errno))
        }
        Iperf3Error::Run(RunError::Resolve { .. }) => {
            format!("error - {}: {error}", Complaint::CONNECT.words())
        }
        Iperf3Error::Run(_) => format!("error - {error}"),
    }
}

/// The kernel's number for a connection that timed out.
const fn libc_timed_out() -> i32 {
    110
}

pub(super) fn run(
    settings: &Settings,
    wanted: &ClientSettings,
    command: &str,
    interrupt: &'static Interrupt,
) -> ExitCode {
    let keeping = Recording::by_environment();
    let mut printer = match Printer::open(&settings.look) {
        Ok(printer) => printer,
        Err(cause) => {
            let _ = std::io::Write::write_all(
                &mut std::io::stderr(),
                format!("iperf3: error - unable to open log file: {cause}; name another with --logfile\n")
                    .as_bytes(),
            );
            return ExitCode::FAILURE;
        }
    };
    let mut session = Session {
        settings,
        wanted,
        text: Text::new(
            Report::new(false, settings.interval),
            settings.look.format,
            settings.look.verbose,
        ),
        preface: Preface {
            system: system_info(),
            began_ns: realtime_ns(),
            host: Some((wanted.host.clone(), settings.port)),
        },
    };
    let outcome = session.go(&mut printer, interrupt);
    let error = outcome.err();
    session.close(&mut printer, error.as_deref());
    // Who ended the test early has not made it fail.
    let was_ended = interrupt.count() > 0;
    let report = &session.text.report;
    let failure = error.as_deref().filter(|_| !was_ended);
    let mut log = kept::log(report, &session.preface, failure);
    log.is_complete = error.is_none() && !was_ended;
    log.command = Some(command.to_owned());
    keeping.record_log(log, report.peer.map(|peer| peer.ip()));
    if error.is_some() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

struct Session<'a> {
    settings: &'a Settings,
    wanted: &'a ClientSettings,
    text: Text,
    preface: Preface,
}

impl Session<'_> {
    fn go(&mut self, printer: &mut Printer, interrupt: &'static Interrupt) -> Result<(), String> {
        let settings = self.settings;
        let wanted = self.wanted;
        if let Some(cpu) = settings.affinity
            && !affinity::available_cpus().contains(&cpu)
        {
            return Err(format!(
                "error - {}: processor {cpu} is not here",
                Complaint::AFFINITY.words()
            ));
        }
        let mut parameters = wanted.parameters.clone();
        if let (Some(user), Some(key)) = (&wanted.user_name, &wanted.public_key) {
            parameters.auth_token = Some(
                login::token(user, key, wanted.pkcs1)
                    .map_err(|error| format!("error - {error}"))?,
            );
        }
        let request = Request {
            target: Target {
                host: wanted.host.clone(),
                port: settings.port,
                family: settings.family,
                origin: Origin {
                    address: settings.bind,
                    device: settings.device.clone(),
                    port: None,
                },
            },
            parameters,
            length: wanted.length,
            time: None,
            client_port: wanted.client_port,
            interval: settings.interval,
            connect_timeout: wanted.connect_timeout,
            receive_timeout: settings.receive_timeout,
            send_timeout: wanted.send_timeout,
            manner: Manner {
                affinity: settings.affinity.map(|cpu| vec![cpu]).unwrap_or_default(),
                file: wanted.file.clone(),
                ..Manner::default()
            },
        };
        if settings.look.verbose {
            printer.line(SHOWN_VERSION);
            printer.line(&self.preface.system);
        }
        let client =
            Iperf3Client::connect(request, Some(interrupt)).map_err(|error| words(&error))?;
        self.preface.began_ns = realtime_ns();
        self.begin(&client, printer);
        let (text, preface, look) = (&mut self.text, &self.preface, &settings.look);
        let outcome = client.run(&mut |event| {
            tell(text, preface, look.json_stream, printer, &event);
        });
        let run = outcome.map_err(|error| words(&error))?;
        if let Some(theirs) = &run.ending.theirs
            && !settings.look.json
        {
            let output = match (&theirs.output_json, &theirs.output_text) {
                (Some(json), _) => Some((
                    "Server JSON output:",
                    serde_json::to_string_pretty(json).unwrap_or_default(),
                )),
                (None, Some(text)) => Some(("Server output:", text.clone())),
                (None, None) => None,
            };
            if let Some((head, output)) = output {
                printer.line("");
                printer.line(head);
                for line in output.lines() {
                    printer.line(line);
                }
                printer.line("");
            }
        }
        printer.line("");
        printer.line("iperf Done.");
        Ok(())
    }

    /// What is said between connecting and the first stream.
    fn begin(&self, client: &Iperf3Client, printer: &mut Printer) {
        let parameters = client.parameters();
        if self.settings.look.verbose {
            if let Some(mss) = client.mss() {
                printer.line(&format!("Control connection MSS {mss}"));
            }
            if parameters.protocol == Protocol::Udp && self.wanted.length.is_none() {
                printer.line(&format!("Setting UDP block size to {}", parameters.length));
            }
            printer.line(&format!("Time: {}", rfc1123(self.preface.began_ns)));
        }
        printer.line(&format!(
            "Connecting to host {}, port {}",
            self.wanted.host, self.settings.port
        ));
        if parameters.reverse {
            printer.line(&format!(
                "Reverse mode, remote host {} is sending",
                self.wanted.host
            ));
        }
    }

    /// The last word: the object, and what went wrong.
    fn close(&self, printer: &mut Printer, error: Option<&str>) {
        let look = &self.settings.look;
        let report = &self.text.report;
        // The object holds the reason alone.
        let reason = error.map(|error| error.strip_prefix("error - ").unwrap_or(error));
        if look.json_stream {
            if let Some(theirs) = report.ending.as_ref().and_then(|one| one.theirs.as_ref()) {
                if let Some(output) = &theirs.output_json {
                    printer.raw(&json::event("server_output_json", output.clone()));
                }
                if let Some(output) = &theirs.output_text {
                    printer.raw(&json::event("server_output_text", output.clone()));
                }
            }
            if let Some(reason) = reason {
                printer.raw(&json::event("error", reason));
            }
            printer.raw(&json::event("end", json::end(report)));
        }
        if look.json && (!look.json_stream || look.json_full) {
            printer.raw(&json::whole(report, &self.preface, reason).pretty());
        }
        if let (Some(error), false) = (error, look.json) {
            printer.error(&format!("iperf3: {error}"));
        }
    }
}

/// Prints what an event has to say.
fn tell(
    text: &mut Text,
    preface: &Preface,
    stream: bool,
    printer: &mut Printer,
    event: &Iperf3Event,
) {
    let before = text.report.rows.len();
    let mut lines = text.note(event);
    if let Iperf3Event::Ended(ending) = event {
        let summed_up = matches!(
            ending.complaint,
            None | Some(Complaint::CLIENT_TERMINATED | Complaint::SERVER_TERMINATED)
        );
        if !summed_up || (ending.complaint.is_none() && ending.theirs.is_none()) {
            lines.clear();
        }
    }
    printer.lines(&lines);
    if stream {
        if let Iperf3Event::Opened { .. } = event {
            printer.raw(&json::event("start", json::start(&text.report, preface)));
        }
        for row in &text.report.rows[before..] {
            printer.raw(&json::event("interval", json::interval(&text.report, row)));
        }
    }
}
