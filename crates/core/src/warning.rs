//! Doubts about a result, each with what can be done about it.

use serde::Serialize;

/// A doubt about a finished run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// A stable name for programs.
    pub code: &'static str,
    /// What is doubtful.
    pub message: String,
    /// What to do about it.
    pub remedy: String,
}

impl Warning {
    /// A warning; `code` must be one of [`CODES`].
    #[must_use]
    pub fn new(code: &'static str, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        debug_assert!(
            CODES.iter().any(|(known, _)| *known == code),
            "{code} is documented"
        );
        Self {
            code,
            message: message.into(),
            remedy: remedy.into(),
        }
    }
}

/// Every code with what it means, as the reference documents them.
pub const CODES: [(&str, &str); 21] = [
    (
        "cut_short",
        "the test ended before its plan did; what is shown was measured until then",
    ),
    (
        "not_all_arrived",
        "a test of an amount ended before all of it had arrived; the command ends with code 1",
    ),
    (
        "flow_failed",
        "a flow ended in an error; the others went on",
    ),
    (
        "foreign_server",
        "the server is another program's, which tells totals at the end: what it does not count is absent",
    ),
    (
        "sender_cpu",
        "the sender ran out of CPU: the network may give more",
    ),
    (
        "receiver_cpu",
        "the receiver ran out of CPU: the network may give more",
    ),
    (
        "stolen_cpu",
        "the hypervisor gave processor time to others during the test",
    ),
    (
        "rate_not_reached",
        "the sender did not reach the rate asked for",
    ),
    ("send_refused", "the sender's own kernel refused datagrams"),
    (
        "receive_buffer_overflow",
        "the receiving socket's buffer overflowed: the receiver, not the network, lost datagrams",
    ),
    (
        "receive_buffer_small",
        "the kernel granted less receive buffer than a burst can fill",
    ),
    (
        "window_not_granted",
        "the kernel granted less buffer than --window asked for",
    ),
    (
        "paced_loopback",
        "the congestion control paces a loopback, which has no bottleneck to find",
    ),
    ("not_steady", "the rate was still changing over the test"),
    (
        "too_short",
        "the test is too short to say how far its mean can be trusted",
    ),
    (
        "mptcp_not_used",
        "Multipath TCP was asked for and fell back to TCP",
    ),
    (
        "server_changed_plan",
        "the server allowed less than was asked for",
    ),
    (
        "few_repeats",
        "the repetitions ended before the relative error asked for was reached",
    ),
    (
        "fragmented",
        "the datagrams or messages are larger than the path MTU: IP fragments them",
    ),
    (
        "sizes_left_out",
        "sizes that no datagram can have were left out",
    ),
    (
        "schedule_late",
        "messages left later than their schedule by more than a tenth of its period",
    ),
];
