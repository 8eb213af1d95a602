//! The answer to connections that a client makes while its test runs.

use std::collections::VecDeque;
use std::net::TcpStream;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Connections that wait to be answered: beyond that the server closes them.
const MAX_WAITING: usize = 256;

/// The answer to connections that a client makes while its test runs.
#[derive(Debug, Clone)]
pub(crate) enum ConnectionAnswer {
    /// It is answered, and read until the client closes it.
    UntilClosed,
    /// It is answered and closed at once; so many were.
    AtOnce(Arc<AtomicU64>),
    /// It is passed to the threads of the test.
    Pass(PassedConnections),
}

#[derive(Debug, Default)]
struct WaitingConnections {
    waiting: VecDeque<TcpStream>,
    is_closed: bool,
}

/// Connections passed to the threads of a test.
#[derive(Debug, Clone, Default)]
pub(crate) struct PassedConnections(Arc<(Mutex<WaitingConnections>, Condvar)>);

impl PassedConnections {
    /// Passes a connection on; it is closed where too many wait, or the test is over.
    pub(crate) fn pass(&self, connection: TcpStream) {
        let (queue, added) = &*self.0;
        let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
        if !queue.is_closed && queue.waiting.len() < MAX_WAITING {
            queue.waiting.push_back(connection);
            added.notify_one();
        }
    }

    /// The next connection, which is waited for; `None` once they are closed.
    pub(crate) fn next(&self) -> Option<TcpStream> {
        let (queue, added) = &*self.0;
        let queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
        let is_empty =
            |queue: &mut WaitingConnections| queue.waiting.is_empty() && !queue.is_closed;
        let waited = added.wait_while(queue, is_empty);
        let mut queue = waited.unwrap_or_else(PoisonError::into_inner);
        if queue.is_closed {
            return None;
        }
        queue.waiting.pop_front()
    }

    /// Ends the threads that wait, and closes what waits for them.
    pub(crate) fn close(&self) {
        let (queue, added) = &*self.0;
        let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.is_closed = true;
        queue.waiting.clear();
        added.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::TcpListener;

    #[test]
    fn connections_beyond_the_queue_and_after_its_end_are_closed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let pair = || {
            let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            (near, listener.accept().unwrap().0)
        };
        let is_closed = |mut near: TcpStream| near.read(&mut [0]).is_ok_and(|count| count == 0);
        let queue = PassedConnections::default();
        let mut kept = Vec::new();
        for _ in 0..MAX_WAITING {
            let (near, far) = pair();
            kept.push(near);
            queue.pass(far);
        }
        let (near, far) = pair();
        queue.pass(far);
        assert!(is_closed(near));
        assert!(queue.next().is_some());
        queue.close();
        assert!(queue.next().is_none());
        assert!(kept.pop().is_some_and(is_closed));
        let (near, far) = pair();
        queue.pass(far);
        assert!(is_closed(near));
    }
}
