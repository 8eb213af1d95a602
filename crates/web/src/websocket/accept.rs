//! The answer that makes a connection a WebSocket.

use crate::http::UpgradeRequest;
use std::io::{self, Write};
use std::net::TcpStream;
use std::time::Duration;
use tungstenite::handshake::derive_accept_key;

/// The time that a client may take to read the answer.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);

/// Answers a request for a WebSocket, with the protocol chosen where one was offered.
///
/// # Errors
/// When the client does not take it.
pub(crate) fn accept_upgrade(
    mut stream: &TcpStream,
    request: &UpgradeRequest,
    protocol: Option<&str>,
) -> io::Result<()> {
    let protocol = protocol.map_or_else(String::new, |protocol| {
        format!("Sec-WebSocket-Protocol: {protocol}\r\n")
    });
    let answer = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {}\r\n{protocol}\r\n",
        derive_accept_key(request.key.as_bytes())
    );
    stream.set_write_timeout(Some(WRITE_TIMEOUT))?;
    stream.set_nodelay(true)?;
    stream.write_all(answer.as_bytes())
}
