//! The exit code of every kind of failure for scripts, and the line of advice for people.

use crate::flag::flag;
use caudal_core::opening::{OpeningPattern, OpeningReport};
use caudal_core::plan::Transport;
use caudal_core::text::on_one_line;
use caudal_engine::{RunError, TransferFileError, Unsupported};
use caudal_wire::message::Refusal;
use std::fmt;
use std::io::Write;
use std::process::ExitCode;

/// The outcome of a command, as its exit code reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Everything asked for was done.
    Done,
    /// The test failed, or was cut short.
    Failed,
    /// The command is invalid.
    Usage,
    /// The peer cannot be reached, speaks another protocol, or refused.
    Peer,
    /// This user is not permitted to do that, or this machine cannot.
    NotPermitted,
    /// Everything was carried out, but an expectation is not met.
    Unmet,
    /// Everything was carried out, and the results do not decide what was asked.
    Undecided,
    /// The exit code of the command that was run in a lab.
    OfCommand(u8),
}

impl Exit {
    /// The number a script sees.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Peer => 3,
            Self::NotPermitted => 4,
            Self::Unmet => 5,
            Self::Undecided => 6,
            Self::OfCommand(code) => code,
        }
    }
}

impl Exit {
    /// The outcome as JSON names it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Usage => "usage",
            Self::Peer => "peer",
            Self::NotPermitted => "not_permitted",
            Self::Unmet => "unmet",
            Self::Undecided => "undecided",
            Self::OfCommand(_) => "command",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// A failure as the command reports it.
#[derive(Debug)]
pub struct Failure {
    /// The error and what it concerns.
    pub message: String,
    /// The advice; empty when there is none.
    pub advice: String,
    /// The outcome of the command.
    pub exit: Exit,
    /// Where it is reported.
    pub notice: Notice,
}

/// The places where a failure is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// A line on standard error, and in place of the result where JSON was asked for.
    LineAndResult,
    /// A line on standard error: the result has been printed.
    Line,
    /// Nowhere: nobody reads the output any more.
    Nowhere,
}

impl Failure {
    /// A failure of `exit`'s kind.
    #[must_use]
    pub fn new(exit: Exit, message: impl Into<String>, advice: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            advice: advice.into(),
            exit,
            notice: Notice::LineAndResult,
        }
    }

    /// Prints it as a line on standard error.
    pub(crate) fn print(&self) {
        let line = format!("{self}\n");
        let _ = std::io::stderr().write_all(line.as_bytes());
    }

    /// A failure because the command line is invalid.
    #[must_use]
    pub fn usage(message: impl Into<String>, advice: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message, advice)
    }

    /// Standard output has been closed by its reader, which ends the command without a word, as it ends other programs.
    #[must_use]
    pub fn unread() -> Self {
        Self {
            notice: Notice::Nowhere,
            ..Self::new(Exit::Failed, "nobody reads standard output any more", "")
        }
    }

    /// A file that cannot be written.
    #[must_use]
    pub fn writing(what: &str, cause: &std::io::Error) -> Self {
        use std::io::ErrorKind;
        let exit = match cause.kind() {
            ErrorKind::PermissionDenied => Exit::NotPermitted,
            _ => Exit::Failed,
        };
        let (cause, advice) = match cause.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => (
                "the disk is full".to_owned(),
                "make room, or name another place with -o",
            ),
            _ => (cause.to_string(), "name another place with -o"),
        };
        Self::new(exit, format!("cannot write {what}: {cause}"), advice)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "caudal: {}", on_one_line(&self.message))?;
        if !self.advice.is_empty() {
            write!(f, "; {}", on_one_line(&self.advice))?;
        }
        Ok(())
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        let (exit, advice) = match &error {
            RunError::Resolve { .. } => (Exit::Peer, "check the name, or give an address"),
            RunError::Connect { cause, .. } => (
                Exit::Peer,
                match cause.kind() {
                    std::io::ErrorKind::ConnectionRefused => {
                        "start `caudal serve` there, or give its port with -p"
                    }
                    std::io::ErrorKind::TimedOut => {
                        "is the host up, and does a firewall let the port through?"
                    }
                    std::io::ErrorKind::AddrNotAvailable => {
                        "has this host an address of that family? -4 and -6 choose one, --bind an address of this host"
                    }
                    _ => "check the address, the route and the port (-p)",
                },
            ),
            RunError::Foreign { peer, .. } if peer.port() == caudal_wire::iperf2::PORT => (
                Exit::Peer,
                "is it iperf 2? then add --as iperf2; otherwise start `caudal serve` there",
            ),
            RunError::Foreign { .. } => (
                Exit::Peer,
                "start `caudal serve` there, or give its port with -p",
            ),
            RunError::Version { .. } => (Exit::Peer, "update the older of the two"),
            RunError::Refused { reason, .. } => match reason {
                Refusal::Full => (
                    Exit::Peer,
                    "try again later, or raise --max-clients or --max-clients-per-source there",
                ),
                Refusal::Denied => (Exit::Peer, "add this network to its --allow"),
                Refusal::Version => (Exit::Peer, "update the older of the two"),
                // The words are those of a server of caudal (`TransferFileError`).
                Refusal::File if error.to_string().contains("exists already") => (
                    Exit::Peer,
                    "--force replaces it, and --resume goes on with a part of it",
                ),
                Refusal::File => (
                    Exit::Peer,
                    "see what it serves (--files) and stores (--accept-files)",
                ),
                Refusal::Limit => (Exit::Peer, "ask for less"),
                Refusal::Plan | Refusal::Feature => (Exit::Peer, "ask for something else"),
                Refusal::Host => (
                    Exit::Peer,
                    "ask without that option, or change the server's host",
                ),
                Refusal::Authentication => (Exit::Peer, "give both ends the same --token-file"),
                Refusal::Stopping => (Exit::Peer, "start it again"),
                Refusal::Test => (Exit::Peer, "try again, and see the server's log"),
                Refusal::Protocol | Refusal::Other => (Exit::Peer, "see the server's log"),
            },
            RunError::Silent { .. } => (
                Exit::Peer,
                "is the peer still up, and does a firewall drop it?",
            ),
            RunError::Lost { .. } => (
                Exit::Peer,
                "see whether the peer was stopped, and try again",
            ),
            RunError::Protocol(_) => (Exit::Peer, "is the peer caudal, of this version?"),
            RunError::Acceptance(_) => (Exit::Peer, "measure with a server that keeps to the plan"),
            RunError::Descriptors { .. } => (Exit::NotPermitted, "or ask for fewer flows"),
            RunError::SeveralServers { .. } => (
                Exit::Peer,
                "give the server's own address, or a name that has one address",
            ),
            RunError::Unopened { opening, can_go_on } => {
                (Exit::Peer, unopened_advice(opening, *can_go_on))
            }
            RunError::UdpBehindProxy { .. } => (
                Exit::Peer,
                "measure with TCP, or to the server's own address",
            ),
            RunError::Local { .. } => (Exit::NotPermitted, "ask for something this machine has"),
            RunError::Forbidden { .. } => (
                Exit::NotPermitted,
                "run as a user who may, or without that option",
            ),
            RunError::Flows(_) => (Exit::Failed, "see whether a firewall cuts connections"),
            RunError::Plan(_) => (Exit::Usage, "see --help"),
            RunError::Unsupported { .. } => (
                Exit::NotPermitted,
                "leave it out, or measure with a server of caudal",
            ),
            RunError::OlderServer { .. } => (Exit::Peer, "update the server"),
            RunError::Memory(_) => (
                Exit::NotPermitted,
                "ask for smaller buffers, or fewer flows",
            ),
            RunError::File(TransferFileError::Exists { .. }) => (
                Exit::NotPermitted,
                "--force replaces it, and --resume goes on with a part of it",
            ),
            RunError::File(_) => (Exit::NotPermitted, "see the file and the directory"),
            RunError::LargeFile { .. } | RunError::BeyondLimit(_) => (Exit::Peer, "ask for less"),
            RunError::Interrupted => (Exit::Failed, ""),
        };
        let message = match &error {
            // "Here" in this message is the server's host.
            RunError::Refused {
                reason: Refusal::Host,
                message,
            } => format!("the server refused, because of its own kernel: {message}"),
            RunError::Unsupported {
                protocol,
                what: Unsupported::Setting { quantity, detail },
            } => {
                let detail = detail.iter().map(|detail| format!(": {detail}"));
                let detail: String = detail.collect();
                format!("{protocol} does not support {}{detail}", flag(*quantity))
            }
            _ => error.to_string(),
        };
        Self::new(exit, message, advice)
    }
}

/// The advice where flows of a test did not open.
const fn unopened_advice(opening: &OpeningReport, can_go_on: bool) -> &'static str {
    match (opening.pattern, opening.transport, can_go_on) {
        (OpeningPattern::Blocked, Transport::Udp, _) => {
            "let UDP through in both directions, or measure with TCP"
        }
        (OpeningPattern::Blocked, Transport::Tcp, _) => {
            "let more connections through to that port: raise the limit for a source, or `nf_conntrack_max` of the firewall"
        }
        (OpeningPattern::Limit | OpeningPattern::Unclear, _, true) => {
            "raise that limit, ask for fewer flows (-P), or measure with those that open (--partial)"
        }
        (OpeningPattern::Limit | OpeningPattern::Unclear, _, false) => {
            "raise that limit, or ask for fewer flows (-P)"
        }
        (OpeningPattern::Paths, _, true) => {
            "have the path repaired, or measure with those that open (--partial)"
        }
        (OpeningPattern::Paths, _, false) => "have the path repaired, or ask for fewer flows (-P)",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_one_line_whatever_a_peer_says() {
        let error = RunError::Refused {
            reason: Refusal::Other,
            message: "no\ncaudal: all is well\x1b[2J".into(),
        };
        let text = Failure::from(error).to_string();
        assert!(!text.contains('\n') && !text.contains('\x1b'), "{text:?}");
    }

    #[test]
    fn what_the_servers_kernel_does_not_grant_is_not_taken_for_ours() {
        let failure = Failure::from(RunError::Refused {
            reason: Refusal::Host,
            message: "not permitted here: cubic is for root".into(),
        });
        assert!(failure.message.contains("its own kernel: not permitted"));
        assert_eq!(failure.exit, Exit::Peer);
    }

    #[test]
    fn exit_codes_are_the_documented_ones() {
        let codes: Vec<u8> = [
            Exit::Done,
            Exit::Failed,
            Exit::Usage,
            Exit::Peer,
            Exit::NotPermitted,
            Exit::Unmet,
            Exit::Undecided,
        ]
        .into_iter()
        .map(Exit::code)
        .collect();
        assert_eq!(codes, [0, 1, 2, 3, 4, 5, 6]);
    }
}
