//! The sessions of a running server.

use std::collections::VecDeque;

/// Maximum number of values kept of a session.
const MAX_VALUES: usize = 120;
/// Maximum number of sessions shown that are over.
const MAX_OVER: usize = 50;

/// A session of a server.
#[derive(Debug, Clone, PartialEq)]
pub struct ShownSession {
    /// Its protocol and number.
    pub name: String,
    /// The client's address.
    pub peer: String,
    /// The test, such as `tcp download`; empty before it is agreed on.
    pub test: String,
    /// Payload that arrived here in the latest second, bit/s, from the oldest reading on.
    pub received_bps: VecDeque<f64>,
    /// Payload sent in the latest second, bit/s.
    pub sent_bps: VecDeque<f64>,
    /// The age of its test, s.
    pub elapsed_s: f64,
    /// `true` once it is over.
    pub is_over: bool,
}

/// A running server.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServerModel {
    /// The server in a line.
    pub headline: String,
    /// The sessions: running ones first.
    pub sessions: Vec<ShownSession>,
    /// Tests that were completed.
    pub completed: u64,
    /// Clients that were refused.
    pub refused: u64,
    /// The server has gone, or does not answer: why.
    pub failure: Option<String>,
}

impl ServerModel {
    /// Takes a reading of a session: its payload received and sent since the reading before, bit/s.
    pub fn read(&mut self, reading: ShownSession) {
        let known = self
            .sessions
            .iter_mut()
            .find(|one| one.name == reading.name);
        let Some(known) = known else {
            self.sessions.push(reading);
            self.sort();
            return;
        };
        for (values, new) in [
            (&mut known.received_bps, &reading.received_bps),
            (&mut known.sent_bps, &reading.sent_bps),
        ] {
            values.extend(new);
            let extra = values.len().saturating_sub(MAX_VALUES);
            values.drain(..extra);
        }
        known.test = reading.test;
        known.elapsed_s = reading.elapsed_s;
        let ended = reading.is_over && !known.is_over;
        known.is_over = reading.is_over;
        if ended {
            self.sort();
        }
    }

    /// Takes the names of the sessions that are there still; all others are over.
    pub fn keep_running(&mut self, names: &[String]) {
        for session in &mut self.sessions {
            session.is_over |= !names.contains(&session.name);
        }
        self.sort();
    }

    /// Payload received and sent by all sessions in the latest second, bit/s.
    #[must_use]
    pub fn total_bps(&self) -> (f64, f64) {
        let running = || self.sessions.iter().filter(|one| !one.is_over);
        let last = |values: &VecDeque<f64>| values.back().copied().unwrap_or(0.0);
        (
            running().map(|one| last(&one.received_bps)).sum(),
            running().map(|one| last(&one.sent_bps)).sum(),
        )
    }

    fn sort(&mut self) {
        self.sessions.sort_by_key(|one| one.is_over);
        let running = self.sessions.iter().filter(|one| !one.is_over).count();
        // The latest of those that are over are shown.
        let extra = self.sessions.len().saturating_sub(running + MAX_OVER);
        self.sessions.drain(running..running + extra);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(number: u32, bps: f64) -> ShownSession {
        ShownSession {
            name: format!("caudal {number}"),
            peer: "192.0.2.1:40000".to_owned(),
            test: "tcp upload".to_owned(),
            received_bps: [bps].into(),
            sent_bps: [0.0].into(),
            elapsed_s: 1.0,
            is_over: false,
        }
    }

    #[test]
    fn the_sum_is_of_the_sessions_that_are_running() {
        let mut server = ServerModel::default();
        server.read(reading(1, 5e6));
        server.read(reading(2, 3e6));
        server.read(reading(1, 6e6));
        assert_eq!(server.total_bps(), (9e6, 0.0));
        server.keep_running(&["caudal 2".to_owned()]);
        assert_eq!(server.total_bps(), (3e6, 0.0));
        assert_eq!(server.sessions[0].name, "caudal 2");
    }

    #[test]
    fn a_server_of_many_clients_takes_bounded_memory() {
        let mut server = ServerModel::default();
        for number in 0..10_000 {
            server.read(reading(number, 1.0));
            server.keep_running(&[format!("caudal {number}")]);
        }
        assert!(server.sessions.len() <= MAX_OVER + 1);
        for _ in 0..10_000 {
            server.read(reading(9_999, 1.0));
        }
        assert!(server.sessions[0].received_bps.len() <= MAX_VALUES);
    }
}
