//! tcpdump at an interface.

use crate::support::{Running, SOON};
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// A capture under way; ended when dropped.
pub struct TcpdumpCapture {
    tcpdump: Running,
    pub file: PathBuf,
}

impl TcpdumpCapture {
    /// Starts tcpdump by a command line that ends where tcpdump's arguments begin.
    pub fn start(mut command: Command, interface: &str, snap_bytes: u32, file: PathBuf) -> Self {
        // As who it was started: a file of another user's making could not be taken away.
        command.args(["-Z", "root", "-n", "-U", "--immediate-mode", "-B", "16384"]);
        command.args(["--time-stamp-precision", "nano", "-i", interface]);
        command
            .args(["-s", &snap_bytes.to_string(), "-w"])
            .arg(&file);
        let tcpdump = Running::start(&mut command);
        let until = Instant::now() + SOON;
        while !tcpdump.complained().contains("listening on") {
            assert!(Instant::now() < until, "{}", tcpdump.complained());
            thread::sleep(Duration::from_millis(10));
        }
        Self { tcpdump, file }
    }

    /// Ends the capture; `false` when the kernel dropped frames.
    pub fn end(self) -> bool {
        self.tcpdump.signal("INT");
        let ended = self.tcpdump.wait(SOON);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended.stderr.contains("\n0 packets dropped by kernel")
    }
}
