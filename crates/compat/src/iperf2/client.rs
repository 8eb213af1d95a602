//! The client.

use super::failure::fail;
use super::options::Options;
use super::output::Iperf2Output;
use super::record::{TestOutcome, TestRecording};
use super::request::request;
use super::session_events::{EventForwarder, forwarding_views};
use crate::program::print_error;
use caudal_core::event::View;
use caudal_engine::RunError;
use caudal_engine::peer::iperf2::{Iperf2Client, Iperf2Failure, Iperf2Outcome};
use caudal_engine::server::{SessionEvent, SessionEventKind, SessionEventSender};
use caudal_sys::signal::Interrupt;
use caudal_wire::iperf2::TestMode;
use std::io::Write;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

/// The minimum length of blocks that begin with times, bytes.
const MIN_TRIP_TIMES_LENGTH: u32 = 92;

/// Runs a client's test, which `command` repeats.
pub(super) fn run(
    mut options: Options,
    command: String,
    output: &mut Iperf2Output,
    interrupt: &'static Interrupt,
) -> ExitCode {
    let asked = options.parallel.unwrap_or(1);
    let mut request = match request(&mut options) {
        Ok(request) => request,
        Err(error) => return fail(error),
    };
    let is_too_short = options
        .length
        .is_some_and(|length| length < MIN_TRIP_TIMES_LENGTH);
    if is_too_short && !options.udp && options.mode == TestMode::Up && options.trip_times {
        return fail("--trip-times takes writes of at least 92 bytes (-l)");
    }
    if request.parallel > asked {
        let parallel = request.parallel;
        print_error(
            "iperf",
            format!("one connection to each port of the range: -P {parallel}"),
        );
    }
    output.set_options(&options);
    // Response times are no run of throughput.
    let is_recorded = request.bounceback.is_none();
    let mut recording = TestRecording::start(&request, command);
    let (event_sender, events) = channel();
    let (refusal_sender, refusals) = channel();
    let mut view = EventForwarder::new(request.session(), event_sender.clone());
    request.views = Some(forwarding_views(event_sender));
    request.session_events = SessionEventSender::from(refusal_sender);
    let runner = thread::Builder::new()
        .name("iperf".to_owned())
        .spawn(move || {
            Iperf2Client::new(&request, Some(interrupt)).run(&mut |event| view.event(&event))
        });
    let runner = match runner {
        Ok(runner) => runner,
        Err(cause) => return fail(format!("cannot start a thread: {cause}")),
    };
    // The channel ends with the test.
    while let Ok(printed) = events.recv() {
        if is_recorded {
            recording.take(&printed.session, &printed.event);
        }
        print_refusals(&refusals);
        output.event(&printed);
    }
    print_refusals(&refusals);
    let result = runner.join();
    let is_interrupted = interrupt.count() > 0;
    let error = match result {
        Ok(result) => print_result(result, options.udp, is_interrupted),
        Err(_) => {
            let error = "the test ended in an error of the program";
            print_error("iperf", error);
            Some(error.to_owned())
        }
    };
    recording.finish(match &error {
        _ if is_interrupted => TestOutcome::Interrupted,
        Some(error) => TestOutcome::Failed(error),
        None => TestOutcome::Complete,
    });
    match error {
        Some(_) => ExitCode::FAILURE,
        None => ExitCode::SUCCESS,
    }
}

/// Prints the connections back that were refused.
fn print_refusals(events: &Receiver<SessionEvent>) {
    for event in events.try_iter() {
        if let SessionEventKind::Refused(refusal) = event.kind {
            print_error("iperf", refusal.message);
        }
    }
}

/// Prints the errors a test ended in: the first of them.
fn print_result(
    result: Result<Iperf2Outcome, RunError>,
    is_udp: bool,
    is_interrupted: bool,
) -> Option<String> {
    match result {
        Ok(_) if is_interrupted => None,
        Ok(outcome) => {
            let errors: Vec<String> = outcome.failures.iter().map(failure_text).collect();
            for error in &errors {
                print_error("iperf", error);
            }
            errors.into_iter().next()
        }
        Err(RunError::Connect { cause, .. }) => {
            let transport = if is_udp { "udp" } else { "tcp" };
            let line = format!("{transport} connect failed: {cause}");
            let _ = writeln!(std::io::stderr(), "{line}");
            Some(line)
        }
        Err(error) => {
            let error = error.to_string();
            print_error("iperf", &error);
            Some(error)
        }
    }
}

/// The text of a failure, with the options that concern it.
fn failure_text(failure: &Iperf2Failure) -> String {
    match failure {
        Iperf2Failure::NothingReceived => {
            "nothing came from the server; versions before 2.1 do not know -R and --full-duplex"
                .to_owned()
        }
        Iperf2Failure::NotConnectedBack { .. } => {
            format!("{failure}, -R and --full-duplex need no second connection")
        }
        Iperf2Failure::Stopped(_) | Iperf2Failure::Flow(_) => failure.to_string(),
    }
}
