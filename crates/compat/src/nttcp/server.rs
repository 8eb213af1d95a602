//! The server.

use super::failure::fail;
use super::log::NttcpLog;
use caudal_engine::server::SessionEventSender;
use caudal_engine::{Admission, SessionLimits};
use caudal_foreign::nttcp::{NttcpOptions, NttcpServer};
use caudal_sys::signal::Interrupt;
use caudal_wire::nttcp::TransferRequest;
use std::io::Write;
use std::process::ExitCode;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Maximum number of clients at once.
const MAX_CLIENTS: usize = 256;
/// The time a client may make no progress, as in the original.
const IDLE_TIMEOUT: Duration = Duration::from_secs(80);
/// The interval at which the server looks whether the user ends it.
const EVENT_WAIT: Duration = Duration::from_millis(50);

/// Serves until the user ends it.
pub(super) fn run(request: &TransferRequest, interrupt: &'static Interrupt) -> ExitCode {
    let options = NttcpOptions {
        bind: None,
        device: None,
        port: request.port,
        limits: SessionLimits::default(),
        idle_timeout: IDLE_TIMEOUT,
    };
    let (sender, events) = channel();
    let admission = Admission::new(Vec::new(), MAX_CLIENTS);
    let server = match NttcpServer::start(options, admission, SessionEventSender::from(sender)) {
        Ok(server) => server,
        Err(error) => return fail(error),
    };
    if request.verbose {
        let port = server.port();
        let _ = writeln!(std::io::stdout(), "nttcp-l: waiting on port {port}");
    }
    let mut log = NttcpLog::new(request.verbose);
    while interrupt.count() == 0 {
        match events.recv_timeout(EVENT_WAIT) {
            Ok(event) => log.event(&event),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    server.stop();
    for event in events.try_iter() {
        log.event(&event);
    }
    ExitCode::SUCCESS
}
