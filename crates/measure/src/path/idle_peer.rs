//! The other end of a path while this end probes it alone.

use crate::test_peer::TestPeer;

/// The other end while nothing is asked of it: connected, unless it was not connected to, or has ended the session.
///
/// A server waits for a test for as long as its operator allows, and takes a client that is silent for ten seconds for lost.
#[derive(Default)]
pub(super) struct IdlePeer(Option<TestPeer>);

impl IdlePeer {
    /// The other end, which nothing is asked of for now.
    pub(super) const fn new(peer: Option<TestPeer>) -> Self {
        Self(peer)
    }

    /// Keeps it connected; to be called every few seconds.
    pub(super) fn keep_alive(&mut self) {
        if let Some(peer) = &mut self.0
            && !peer.keep_alive()
        {
            self.0 = None;
        }
    }

    /// The other end, where it is still connected.
    pub(super) fn into_connected(mut self) -> Option<TestPeer> {
        self.keep_alive();
        self.0
    }
}
