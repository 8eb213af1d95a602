//! One attempt to open a connection.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The reason why a connection was not completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConnectFailure {
    /// Nothing listens at the port, or a firewall answered with a reset.
    Refused,
    /// A step was not over in the time allowed for it.
    TimedOut,
    /// The connection was reset after it had opened.
    Reset,
    /// An ICMP message, or this host's routing table, reported that there is no way to the host.
    Unreachable,
    /// This host has no local port left for a connection to this address and port.
    NoLocalPort,
    /// The server closed the connection without an answer.
    NoAnswer,
    /// The TLS handshake failed.
    Tls,
    /// This host lacked something else: descriptors or memory.
    Local,
}

impl ConnectFailure {
    /// All reasons, in the order in which they are shown.
    pub const ALL: [Self; 8] = [
        Self::Refused,
        Self::TimedOut,
        Self::Reset,
        Self::Unreachable,
        Self::NoLocalPort,
        Self::NoAnswer,
        Self::Tls,
        Self::Local,
    ];

    /// The reason as text, after a number of connections.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::TimedOut => "timed out",
            Self::Reset => "reset",
            Self::Unreachable => "unreachable",
            Self::NoLocalPort => "without a local port",
            Self::NoAnswer => "closed without an answer",
            Self::Tls => "failed in the TLS handshake",
            Self::Local => "failed at this host",
        }
    }
}

/// Connections that were not completed, by the reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ConnectFailures {
    /// Refused with a reset: nothing listens at the port, or a firewall answers.
    pub refused: u64,
    /// Not over in the time allowed for a step.
    pub timed_out: u64,
    /// Reset after they had opened.
    pub reset: u64,
    /// Reported unreachable, by ICMP or by this host's routing table.
    pub unreachable: u64,
    /// Not begun: this host had no local port left for this address and port.
    pub no_local_port: u64,
    /// Closed by the server without an answer.
    pub no_answer: u64,
    /// Failed in the TLS handshake.
    pub tls: u64,
    /// Failed for want of descriptors or memory at this host.
    pub local: u64,
}

impl ConnectFailures {
    /// The number of one kind.
    #[must_use]
    pub const fn count(&self, failure: ConnectFailure) -> u64 {
        match failure {
            ConnectFailure::Refused => self.refused,
            ConnectFailure::TimedOut => self.timed_out,
            ConnectFailure::Reset => self.reset,
            ConnectFailure::Unreachable => self.unreachable,
            ConnectFailure::NoLocalPort => self.no_local_port,
            ConnectFailure::NoAnswer => self.no_answer,
            ConnectFailure::Tls => self.tls,
            ConnectFailure::Local => self.local,
        }
    }

    /// All of them.
    #[must_use]
    pub fn total(&self) -> u64 {
        ConnectFailure::ALL.iter().map(|one| self.count(*one)).sum()
    }

    /// Counts one more.
    pub const fn add(&mut self, failure: ConnectFailure) {
        let count = match failure {
            ConnectFailure::Refused => &mut self.refused,
            ConnectFailure::TimedOut => &mut self.timed_out,
            ConnectFailure::Reset => &mut self.reset,
            ConnectFailure::Unreachable => &mut self.unreachable,
            ConnectFailure::NoLocalPort => &mut self.no_local_port,
            ConnectFailure::NoAnswer => &mut self.no_answer,
            ConnectFailure::Tls => &mut self.tls,
            ConnectFailure::Local => &mut self.local,
        };
        *count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_counted_apart() {
        let mut failures = ConnectFailures::default();
        for (nth, failure) in ConnectFailure::ALL.into_iter().enumerate() {
            (0..=nth).for_each(|_| failures.add(failure));
        }
        let counts = ConnectFailure::ALL.map(|failure| failures.count(failure));
        assert_eq!(counts, [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(failures.total(), 36);
    }
}
