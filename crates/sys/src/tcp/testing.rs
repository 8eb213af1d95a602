//! Connections over loopback for tests.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

/// The two ends of a connection over loopback, whose reads and writes end after 10 s.
pub(super) fn pair() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let near = TcpStream::connect(listener.local_addr()?)?;
    let (far, _) = listener.accept()?;
    for stream in [&near, &far] {
        let timeout = Some(Duration::from_secs(10));
        stream.set_read_timeout(timeout)?;
        stream.set_write_timeout(timeout)?;
    }
    Ok((near, far))
}

/// Discards all that arrives until the end of the stream, and returns its length.
pub(super) fn discard_all(stream: &TcpStream) -> io::Result<usize> {
    let mut total = 0;
    loop {
        match super::discard_some(stream, 1 << 20)? {
            0 => return Ok(total),
            discarded => total += discarded,
        }
    }
}
