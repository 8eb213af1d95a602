//! The servers of this user that are running, and their state.

use super::directory::socket_directory;
use super::status::ServerStatus;
use std::fs;
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The time in which a server has to tell its state.
const READ_TIME: Duration = Duration::from_secs(2);
/// The least age of a socket that nobody listens on to be removed.
const MIN_DEAD_AGE: Duration = Duration::from_secs(5);
/// Maximum length of a state, bytes: that of ten thousand sessions.
const MAX_STATUS_BYTES: u64 = 4 << 20;

/// A running server of this user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalServer {
    socket: PathBuf,
    /// The port it listens on.
    pub port: u16,
}

impl LocalServer {
    /// Its state now.
    ///
    /// # Errors
    /// When it has gone, or does not tell it in time.
    pub fn status(&self) -> io::Result<ServerStatus> {
        let mut server = UnixStream::connect(&self.socket)?;
        server.set_read_timeout(Some(READ_TIME))?;
        let mut text = Vec::new();
        (&mut server)
            .take(MAX_STATUS_BYTES)
            .read_to_end(&mut text)?;
        serde_json::from_slice(&text).map_err(io::Error::from)
    }
}

/// The servers of this user, by port.
///
/// # Errors
/// When their directory cannot be read.
pub fn find_servers() -> io::Result<Vec<LocalServer>> {
    let directory = socket_directory()?;
    remove_dead(&directory);
    let mut servers: Vec<LocalServer> = sockets(&directory)
        .filter_map(|socket| {
            let name = socket.file_name()?.to_str()?;
            let port = name.strip_prefix("serve-")?.split('-').next()?;
            let port = port.parse().ok()?;
            Some(LocalServer { socket, port })
        })
        .collect();
    servers.sort_by(|one, other| (one.port, &one.socket).cmp(&(other.port, &other.socket)));
    Ok(servers)
}

fn sockets(directory: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    paths.filter(|path| path.extension().is_some_and(|ending| ending == "socket"))
}

/// Removes the sockets of servers that were killed.
pub(super) fn remove_dead(directory: &Path) {
    for socket in sockets(directory) {
        let is_dead = UnixStream::connect(&socket)
            .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
        // One that has just been made may not listen yet.
        let made = fs::metadata(&socket)
            .and_then(|found| found.modified())
            .ok();
        let is_old = made
            .and_then(|made| made.elapsed().ok())
            .is_some_and(|age| age >= MIN_DEAD_AGE);
        if is_dead && is_old {
            let _ = fs::remove_file(&socket);
        }
    }
}
