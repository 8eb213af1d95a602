//! The client.

use super::failure::fail;
use super::options::Options;
use super::output::Iperf2Output;
use super::record::TestRecording;
use super::request::request;
use super::session_events::{EventForwarder, forwarding_views};
use crate::program::print_error;
use crate::recording::ClientEnd;
use caudal_core::event::View;
use caudal_engine::RunError;
use caudal_engine::server::{SessionEvent, SessionEventKind, SessionEventSender};
use caudal_foreign::iperf2::{Iperf2Client, Iperf2Failure, Iperf2Outcome, ServerLoss};
use caudal_sys::signal::Interrupt;
use caudal_wire::iperf2::TestMode;
use std::io::Write;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// Minimum length of blocks that begin with times, bytes.
const MIN_TRIP_TIMES_LENGTH: u32 = 92;

/// The exit code when the server has gone, refused the test or cannot be reached in its middle.
const SERVER_LOST: u8 = 3;
/// The time within which a server that refuses a test ends its connection.
const REFUSAL: Duration = Duration::from_secs(1);

/// What a test asked of its server, as far as the reason of a refusal needs it.
#[derive(Debug, Clone, Copy)]
struct AskedTest {
    has_key: bool,
    /// The bytes within which a refusal shows: the first two writes.
    first_bytes: u64,
}

/// The error that a test ended in.
struct TestError {
    text: String,
    code: ExitCode,
}

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
    let asked = AskedTest {
        has_key: request.permit_key.is_some(),
        first_bytes: match request.bounceback {
            Some(_) => 0,
            None => 2 * u64::from(request.block_length()),
        },
    };
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
        Ok(result) => print_result(result, &options, asked, is_interrupted),
        Err(_) => {
            let text = "the test ended in an error of the program".to_owned();
            print_error("iperf", &text);
            let code = ExitCode::FAILURE;
            Some(TestError { text, code })
        }
    };
    recording.finish(match &error {
        _ if is_interrupted => ClientEnd::Interrupted,
        Some(error) => ClientEnd::Failed(&error.text),
        None => ClientEnd::Complete,
    });
    error.map_or(ExitCode::SUCCESS, |error| error.code)
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
    options: &Options,
    asked: AskedTest,
    is_interrupted: bool,
) -> Option<TestError> {
    match result {
        Ok(_) if is_interrupted => None,
        Ok(outcome) => print_failures(&outcome.failures, asked),
        Err(RunError::Connect { cause, .. }) => {
            let transport = if options.udp { "udp" } else { "tcp" };
            let text = format!("{transport} connect failed: {cause}");
            let _ = writeln!(std::io::stderr(), "{text}");
            let code = ExitCode::FAILURE;
            Some(TestError { text, code })
        }
        Err(error) => {
            let text = error.to_string();
            print_error("iperf", &text);
            let code = match error {
                RunError::Lost { .. } => ExitCode::from(SERVER_LOST),
                _ => ExitCode::FAILURE,
            };
            Some(TestError { text, code })
        }
    }
}

/// Prints the failures of a test, the loss of its server once for all flows: the first of them.
fn print_failures(failures: &[Iperf2Failure], asked: AskedTest) -> Option<TestError> {
    let is_loss = |failure: &&Iperf2Failure| matches!(failure, Iperf2Failure::Server(_));
    let loss = failures.iter().find(is_loss);
    let others = failures.iter().filter(|failure| !is_loss(failure));
    let texts: Vec<String> = loss
        .into_iter()
        .chain(others)
        .map(|failure| failure_text(failure, asked))
        .collect();
    for text in &texts {
        print_error("iperf", text);
    }
    let text = texts.into_iter().next()?;
    let code = match loss {
        Some(_) => ExitCode::from(SERVER_LOST),
        None => ExitCode::FAILURE,
    };
    Some(TestError { text, code })
}

/// The text of a failure, with the options that concern it.
fn failure_text(failure: &Iperf2Failure, asked: AskedTest) -> String {
    match failure {
        Iperf2Failure::Server(loss) => loss_text(loss, asked),
        Iperf2Failure::NotConnectedBack { .. } => {
            format!("{failure}, -R and --full-duplex need no second connection")
        }
        Iperf2Failure::Stopped(_) | Iperf2Failure::Flow(_) => failure.to_string(),
    }
}

/// The text of the loss of a server, with what may have led to it.
fn loss_text(loss: &ServerLoss, asked: AskedTest) -> String {
    match loss {
        ServerLoss::NothingSent => {
            "nothing came from the server; versions before 2.1 do not know -R and --full-duplex"
                .to_owned()
        }
        ServerLoss::NothingAnswered => {
            "no reply came from the server; versions before 2.1.8 do not know --bounceback"
                .to_owned()
        }
        // A server that refuses a test ends its connection once it has read the header: the first or the second write shows it.
        ServerLoss::Connection {
            after,
            bytes,
            cause,
        } if *after < REFUSAL || bytes.get() < asked.first_bytes => match asked.has_key {
            true => "the server refused the test: its --permit-key is another one, or it has none"
                .to_owned(),
            false => format!(
                "the server refused the test, or has ended: {cause}; if it has a --permit-key, give the same"
            ),
        },
        loss => format!("the test ended early: {loss}"),
    }
}
