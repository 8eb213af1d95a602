//! The socket over which a server tells its state: mode 0600, in a directory of this user.

use super::directory::socket_directory;
use super::reader::remove_dead;
use super::sessions::SessionTable;
use caudal_engine::server::SessionEvent;
use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// The time in which a reader has to take the whole state.
const WRITE_TIME: Duration = Duration::from_secs(1);

/// The state of a running server, told to whoever of this user asks; the socket goes with this.
#[derive(Debug)]
pub struct StatusSocket {
    table: Arc<Mutex<SessionTable>>,
    path: PathBuf,
}

impl StatusSocket {
    /// Begins to tell the state of a server that listens on this address.
    ///
    /// # Errors
    /// When the socket cannot be made.
    pub fn open(address: SocketAddr) -> io::Result<Self> {
        let directory = socket_directory()?;
        remove_dead(&directory);
        let name = format!("serve-{}-{}.socket", address.port(), std::process::id());
        let path = directory.join(name);
        let listener = UnixListener::bind(&path)?;
        let table = Arc::new(Mutex::new(SessionTable::new(address)));
        let socket = Self {
            table: Arc::clone(&table),
            path,
        };
        fs::set_permissions(&socket.path, Permissions::from_mode(0o600))?;
        thread::Builder::new()
            .name("status".to_owned())
            .spawn(move || {
                for reader in listener.incoming() {
                    match reader {
                        Ok(reader) => tell(&table, reader),
                        // Out of descriptors, for instance: they come back.
                        Err(_) => thread::sleep(WRITE_TIME),
                    }
                }
            })?;
        Ok(socket)
    }

    /// Takes an event of a session.
    pub fn event(&self, event: &SessionEvent) {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        table.event(event);
    }
}

impl Drop for StatusSocket {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn tell(table: &Mutex<SessionTable>, mut reader: UnixStream) {
    let status = table
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .status();
    let text = serde_json::to_vec(&status).unwrap_or_default();
    // A reader that takes nothing costs itself only.
    let _ = reader.set_write_timeout(Some(WRITE_TIME));
    let _ = reader.write_all(&text);
}
