//! The first answer of a server, which shows what protocol it speaks.

use caudal_flow::{RunError, UserInterrupt, read_some};
use caudal_sys::clock::monotonic_ns;
use caudal_sys::tcp::tcp_info;
use caudal_wire::preamble::{ANSWER_BYTES, MAGIC, PROTOCOL, PreambleAnswer, PreambleError};
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::time::Duration;

/// The time the first answer may take once the server's host has what was sent: a server of another protocol often sends nothing.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// The time in which the server's host must acknowledge what was sent, over a path that loses packets.
const ACKNOWLEDGEMENT_TIMEOUT: Duration = Duration::from_secs(20);
/// The time between two looks at what the server's host has acknowledged.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);

/// What a client waits for on a connection that the server closes because segments were lost.
const LOST_OPENING: &str =
    "the first answer, over a path that loses packets (what was sent was sent again),";

/// `true` where the server closed the connection before the first bytes reached it.
///
/// On a connection whose SYN waited for the link-layer address of the next hop, TCP takes that wait for the round-trip time, and sends
/// a lost segment again seconds later. Another connection does without.
pub(super) fn is_lost_opening(error: &RunError) -> bool {
    matches!(error, RunError::Silent { waiting_for, .. } if *waiting_for == LOST_OPENING)
}

/// Reads the server's answer to the preamble.
///
/// # Errors
/// When the server speaks another protocol, or another version of it.
pub(super) fn read_answer(
    stream: &mut TcpStream,
    peer: SocketAddr,
    interrupt: UserInterrupt,
) -> Result<PreambleAnswer, RunError> {
    let received = read_bytes(stream, peer, interrupt)?;
    if received.is_empty() && was_sent_again(stream) {
        // A server closes a connection of which nothing has arrived for some seconds.
        return Err(RunError::Silent {
            waiting_for: LOST_OPENING,
            seconds: ANSWER_TIMEOUT.as_secs(),
        });
    }
    match <&[u8; ANSWER_BYTES]>::try_from(received.as_slice()).map(PreambleAnswer::decode) {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(PreambleError::Version(theirs))) => Err(RunError::Version {
            ours: PROTOCOL,
            theirs,
        }),
        _ => Err(RunError::Foreign {
            peer,
            found: recognise(&received).into(),
        }),
    }
}

/// What did not come in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AnswerMissing {
    /// The acknowledgement of what was sent: the path loses it.
    Acknowledgement,
    /// The answer to what the server's host has.
    Answer,
}

/// The wait for an answer, which begins when what was sent has arrived.
#[derive(Debug)]
struct AnswerWait {
    began_ns: u64,
    acknowledged_ns: Option<u64>,
}

impl AnswerWait {
    const fn begin(now_ns: u64) -> Self {
        Self {
            began_ns: now_ns,
            acknowledged_ns: None,
        }
    }

    /// What is missing at `now_ns`, when it has been for too long.
    fn look(&mut self, now_ns: u64, is_acknowledged: bool) -> Option<AnswerMissing> {
        if is_acknowledged && self.acknowledged_ns.is_none() {
            self.acknowledged_ns = Some(now_ns);
        }
        let (since_ns, limit, missing) = match self.acknowledged_ns {
            Some(at_ns) => (at_ns, ANSWER_TIMEOUT, AnswerMissing::Answer),
            None => (
                self.began_ns,
                ACKNOWLEDGEMENT_TIMEOUT,
                AnswerMissing::Acknowledgement,
            ),
        };
        (u128::from(now_ns.saturating_sub(since_ns)) >= limit.as_nanos()).then_some(missing)
    }
}

/// `true` when TCP had to send again what it was given.
fn was_sent_again(stream: &TcpStream) -> bool {
    tcp_info(stream).is_ok_and(|info| info.total_retrans > 0)
}

/// Reads as many bytes as an answer has, or as show that it is none.
fn read_bytes(
    stream: &mut TcpStream,
    peer: SocketAddr,
    interrupt: UserInterrupt,
) -> Result<Vec<u8>, RunError> {
    let foreign = |found: String| RunError::Foreign {
        peer,
        found: found.into(),
    };
    let mut received = Vec::new();
    let mut wait = AnswerWait::begin(monotonic_ns());
    while received.len() < ANSWER_BYTES {
        let ready = interrupt.wait_readable(&[stream.as_fd()], LOOK_INTERVAL)?;
        if !ready.contains(&true) {
            let is_acknowledged = tcp_info(&*stream).map_or(true, |info| info.unacked == 0);
            match wait.look(monotonic_ns(), is_acknowledged) {
                None => continue,
                Some(AnswerMissing::Acknowledgement) => {
                    return Err(RunError::Silent {
                        waiting_for: "an acknowledgement from the peer's host, with which the connection was made,",
                        seconds: ACKNOWLEDGEMENT_TIMEOUT.as_secs(),
                    });
                }
                Some(AnswerMissing::Answer) => {
                    let seconds = ANSWER_TIMEOUT.as_secs();
                    return Err(foreign(format!(
                        "it sent nothing for {seconds} s (is it another program?)"
                    )));
                }
            }
        }
        let mut chunk = [0; ANSWER_BYTES];
        let room = ANSWER_BYTES - received.len();
        match read_some(&*stream, &mut chunk, room) {
            Ok([]) => break,
            Ok(bytes) => received.extend_from_slice(bytes),
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(_) if received.is_empty() && was_sent_again(stream) => break,
            Err(cause) if received.is_empty() => {
                return Err(foreign(format!("it reset the connection ({cause})")));
            }
            Err(_) => break,
        }
        if received.len() <= MAGIC.len() && !MAGIC.starts_with(&received) {
            break;
        }
    }
    Ok(received)
}

/// A description of a server that speaks another protocol, by the first bytes it sent.
pub(super) fn recognise(received: &[u8]) -> String {
    match received {
        [] => "it closed the connection without an answer".to_owned(),
        [9, ..] | [0xff, ..] | [0xfe, ..] => "it answers like iperf3".to_owned(),
        _ if received.starts_with(b"HTTP") => "it answers like a web server".to_owned(),
        _ if received.starts_with(b"SSH-") => "it answers like an SSH server".to_owned(),
        _ => {
            let shown: String = received
                .iter()
                .flat_map(|byte| std::ascii::escape_default(*byte))
                .map(char::from)
                .collect();
            format!("it answers \"{shown}\"")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_waited_for_from_the_acknowledgement_on() {
        let second = |seconds: u64| seconds * 1_000_000_000;
        // A path that loses packets: what was sent arrives after 9 s.
        let mut wait = AnswerWait::begin(0);
        assert_eq!(wait.look(second(8), false), None);
        assert_eq!(wait.look(second(9), true), None);
        assert_eq!(wait.look(second(13), true), None);
        assert_eq!(wait.look(second(14), true), Some(AnswerMissing::Answer));
        let mut wait = AnswerWait::begin(0);
        assert_eq!(wait.look(second(19), false), None);
        let lost = Some(AnswerMissing::Acknowledgement);
        assert_eq!(wait.look(second(20), false), lost);
    }

    #[test]
    fn a_foreign_server_is_recognised_by_its_first_bytes() {
        assert!(recognise(&[9]).contains("iperf3"));
        assert!(recognise(b"HTTP/1.1").contains("web server"));
        assert_eq!(recognise(b"a\x01"), r#"it answers "a\x01""#);
    }
}
