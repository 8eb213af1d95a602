//! The errors of a client, as iperf3 prints them.

use caudal_engine::RunError;
use caudal_foreign::iperf3::Iperf3Error;
use caudal_wire::iperf3::Iperf3ErrorCode;

/// The kernel's error number of a connection that timed out (`ETIMEDOUT`).
const TIMED_OUT: i32 = 110;

/// The text of an error, without the program's name.
#[must_use]
pub fn error_text(error: &Iperf3Error) -> String {
    let text = |code: Iperf3ErrorCode| format!("error - {code}");
    match error {
        Iperf3Error::Server(code) => format!("error - SERVER ERROR - {code}"),
        Iperf3Error::Denied => text(Iperf3ErrorCode::ACCESS_DENIED),
        Iperf3Error::ServerTerminated => text(Iperf3ErrorCode::SERVER_TERMINATED),
        Iperf3Error::Interrupted => "interrupt - the client has terminated".to_owned(),
        Iperf3Error::Closed => text(Iperf3ErrorCode::CONTROL_CLOSED),
        Iperf3Error::Unexpected(_) => format!(
            "error - {} (ensure other side is iperf3 and not iperf)",
            Iperf3ErrorCode::MESSAGE
        ),
        Iperf3Error::Idle(_) => text(Iperf3ErrorCode::NO_MESSAGE),
        Iperf3Error::Run(RunError::Connect { cause, .. }) => {
            let is_timeout = cause.kind() == std::io::ErrorKind::TimedOut;
            let errno = cause
                .raw_os_error()
                .unwrap_or(if is_timeout { TIMED_OUT } else { 0 });
            text(Iperf3ErrorCode::CONNECT.with_errno(errno))
        }
        Iperf3Error::Run(RunError::Resolve { .. }) => {
            format!("error - {}: {error}", Iperf3ErrorCode::CONNECT)
        }
        Iperf3Error::Run(_) => format!("error - {error}"),
    }
}
