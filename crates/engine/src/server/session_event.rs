//! The events of a server's sessions.

use crate::client_refusal::ClientRefusal;
use crate::workload::SessionProgress;
use caudal_core::event::{Event, PeerOutput, View};
use caudal_core::text::ExternalText;
use caudal_wire::protocol::Protocol;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// An event of one of a server's sessions: a session is the tests of one client, one after another.
#[derive(Debug, Clone)]
pub struct SessionEvent {
    /// The session's number, from 1; 0 for a client that got none.
    pub session: u64,
    /// The protocol it speaks.
    pub protocol: Protocol,
    /// The client.
    pub peer: Option<SocketAddr>,
    /// The kind of event.
    pub kind: SessionEventKind,
}

/// The kind of an event in a session.
#[derive(Debug, Clone)]
pub enum SessionEventKind {
    /// A client was admitted.
    Connected {
        /// The program it reports to be.
        tool: ExternalText,
    },
    /// The client showed that it has one of the server's tokens.
    Authenticated {
        /// The name of the token; `None` where it has none.
        name: Option<String>,
    },
    /// A test had an event.
    Event(Box<Event>),
    /// The payload of the running test so far, about once a second.
    Progress(SessionProgress),
    /// The client was refused, or its session ended in an error.
    Refused(ClientRefusal),
    /// The client has left.
    Left,
}

/// The receiver of a server's session events, where there is one.
#[derive(Debug, Clone, Default)]
pub struct SessionEventSender(Option<Sender<SessionEvent>>);

impl From<Sender<SessionEvent>> for SessionEventSender {
    fn from(sender: Sender<SessionEvent>) -> Self {
        Self(Some(sender))
    }
}

impl SessionEventSender {
    /// Sends an event. That nobody receives it any more is no error.
    pub fn send(&self, event: SessionEvent) {
        if let Some(sender) = &self.0 {
            let _ = sender.send(event);
        }
    }
}

/// The view of one session at a server.
pub trait SessionView: View + Send {
    /// The output it has printed for the client so far.
    fn output(&self) -> Option<PeerOutput> {
        None
    }
}

/// Makes a view for each session, from the parameters `P` of its protocol.
#[expect(
    clippy::type_complexity,
    reason = "a function that makes views, named by the type around it"
)]
pub struct SessionViews<P>(pub Arc<dyn Fn(&P) -> Box<dyn SessionView> + Send + Sync>);

impl<P> Clone for SessionViews<P> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<P> SessionViews<P> {
    /// A view of a session.
    pub fn open(&self, parameters: &P) -> Box<dyn SessionView> {
        (self.0)(parameters)
    }
}

impl<P> fmt::Debug for SessionViews<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionViews")
    }
}
