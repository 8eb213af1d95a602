//! The first answer of a server, which shows what protocol it speaks.

use crate::error::RunError;
use crate::interrupt::UserInterrupt;
use caudal_sys::clock::monotonic_ns;
use caudal_wire::preamble::{ANSWER_BYTES, MAGIC, PROTOCOL, PreambleAnswer, PreambleError};
use std::io::{self, Read};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::time::Duration;

/// The time the first answer may take: a server of another protocol often sends nothing.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

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
    let until_ns = monotonic_ns() + ANSWER_TIMEOUT.as_nanos() as u64;
    while received.len() < ANSWER_BYTES {
        let left = Duration::from_nanos(until_ns.saturating_sub(monotonic_ns()));
        let ready = interrupt.wait_readable(&[stream.as_fd()], left)?;
        if !ready.contains(&true) {
            let seconds = ANSWER_TIMEOUT.as_secs();
            return Err(foreign(format!(
                "it sent nothing for {seconds} s (is it another program?)"
            )));
        }
        let mut chunk = [0; ANSWER_BYTES];
        let room = ANSWER_BYTES - received.len();
        match stream.read(&mut chunk[..room]) {
            Ok(0) => break,
            Ok(count) => received.extend_from_slice(&chunk[..count]),
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(cause) if received.is_empty() => {
                return Err(foreign(format!("it reset the connection ({cause})")));
            }
            Err(_) => break,
        }
        let known = received.len().min(MAGIC.len());
        if received.len() <= MAGIC.len() && received != MAGIC[..known] {
            break;
        }
    }
    Ok(received)
}

/// A description of a server that speaks another protocol, by the first bytes it sent.
fn recognise(received: &[u8]) -> String {
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
    fn a_foreign_server_is_recognised_by_its_first_bytes() {
        assert!(recognise(&[9]).contains("iperf3"));
        assert!(recognise(b"HTTP/1.1").contains("web server"));
        assert_eq!(recognise(b"a\x01"), r#"it answers "a\x01""#);
    }
}
