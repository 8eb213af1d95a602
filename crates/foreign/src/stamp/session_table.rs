//! The sessions of a reflector that keeps state: their numbers and counts.

use caudal_flow::ClientSource;
use caudal_wire::stamp::FollowUp;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

/// Maximum number of sessions: 1 MB of memory.
const MAX_SESSIONS: usize = 4096;
/// Maximum number of sessions of one source.
const MAX_PER_SOURCE: u32 = 256;
/// The silence after which a session is over, ns: REFWAIT of RFC 5357 section 4.2.
const REFERENCE_WAIT_NS: u64 = 900_000_000_000;
/// The silence after which a session gives way to a new one where there is no room, ns.
const GIVES_WAY_NS: u64 = 60_000_000_000;
/// Minimum time between two searches for sessions that are over, ns.
const SWEEP_NS: u64 = 1_000_000_000;

/// What tells a session from others (RFC 8972 section 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct SessionKey {
    pub(super) source: SocketAddr,
    pub(super) destination: IpAddr,
    pub(super) ssid: u16,
}

/// The state of a session.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct StampSession {
    /// Packets received.
    pub(super) received: u32,
    /// Packets sent back; the number of the next reply.
    pub(super) replied: u32,
    /// The departure of the last reply, where it was asked for.
    pub(super) follow_up: Option<FollowUp>,
    last_ns: u64,
}

/// The sessions, in bounded memory.
#[derive(Default)]
pub(super) struct StampSessions {
    sessions: HashMap<SessionKey, StampSession>,
    sources: HashMap<ClientSource, u32>,
    swept_ns: u64,
}

impl StampSessions {
    /// The session of a packet that arrived at `now_ns`; `None` where there is no room for a new one: nobody's session ends for it that
    /// has been heard within a minute.
    pub(super) fn session(&mut self, key: SessionKey, now_ns: u64) -> Option<&mut StampSession> {
        if !self.sessions.contains_key(&key) && !self.add(key, now_ns) {
            return None;
        }
        let session = self.sessions.get_mut(&key)?;
        if now_ns.saturating_sub(session.last_ns) > REFERENCE_WAIT_NS {
            *session = StampSession::default();
        }
        session.last_ns = now_ns;
        Some(session)
    }

    fn add(&mut self, key: SessionKey, now_ns: u64) -> bool {
        let source = ClientSource::from(key.source.ip());
        let is_full = |table: &Self| {
            table.sessions.len() >= MAX_SESSIONS
                || table
                    .sources
                    .get(&source)
                    .is_some_and(|count| *count >= MAX_PER_SOURCE)
        };
        if is_full(self) && now_ns.saturating_sub(self.swept_ns) >= SWEEP_NS {
            self.swept_ns = now_ns;
            self.remove_silent(now_ns);
        }
        if is_full(self) {
            return false;
        }
        self.sessions.insert(
            key,
            StampSession {
                last_ns: now_ns,
                ..StampSession::default()
            },
        );
        *self.sources.entry(source).or_default() += 1;
        true
    }

    fn remove_silent(&mut self, now_ns: u64) {
        let sources = &mut self.sources;
        self.sessions.retain(|key, session| {
            let is_kept = now_ns.saturating_sub(session.last_ns) < GIVES_WAY_NS;
            let source = ClientSource::from(key.source.ip());
            if !is_kept && let Some(count) = sources.get_mut(&source) {
                *count = count.saturating_sub(1);
                if *count == 0 {
                    sources.remove(&source);
                }
            }
            is_kept
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn key(address: u32, ssid: u16) -> SessionKey {
        SessionKey {
            source: (std::net::Ipv4Addr::from(address), 40_000).into(),
            destination: "192.0.2.1".parse().unwrap(),
            ssid,
        }
    }

    #[test]
    fn a_session_goes_on_until_it_has_been_silent_for_long() {
        let mut table = StampSessions::default();
        table.session(key(1, 7), S).unwrap().received = 5;
        assert_eq!(table.session(key(1, 7), 800 * S).unwrap().received, 5);
        assert_eq!(table.session(key(1, 8), 800 * S).unwrap().received, 0);
        assert_eq!(table.session(key(1, 7), 1800 * S).unwrap().received, 0);
    }

    #[test]
    fn a_flood_of_sessions_ends_none_and_takes_no_more_memory() {
        let mut table = StampSessions::default();
        table.session(key(1, 7), S).unwrap().received = 5;
        // One source has its share.
        let of_one = (0..1000)
            .filter(|ssid| table.session(key(2, *ssid), S).is_some())
            .count();
        assert_eq!(of_one, MAX_PER_SOURCE as usize);
        for address in 10..100_000 {
            table.session(key(address, 0), 2 * S);
        }
        assert_eq!(table.sessions.len(), MAX_SESSIONS);
        assert_eq!(table.session(key(1, 7), 3 * S).unwrap().received, 5);
        assert!(table.session(key(200_000, 0), 3 * S).is_none());
        // Those that have been silent for a minute give way.
        table.session(key(1, 7), 62 * S).unwrap();
        assert!(table.session(key(200_000, 0), 63 * S).is_some());
        assert_eq!((table.sessions.len(), table.sources.len()), (2, 2));
        assert_eq!(table.session(key(1, 7), 64 * S).unwrap().received, 5);
    }
}
