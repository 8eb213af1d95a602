//! Processors that do not go idle.

use std::process::{Child, Command};
use std::thread;

/// What each of them does, for as long as the tests' process is there.
const BUSY: &str = "tests=$PPID; while kill -0 $tests 2>/dev/null; do n=0; while [ $n -lt 50000 ]; do n=$((n+1)); done; done";

/// Programs that keep the processors from going idle and give way to any other: a virtual machine that goes idle wakes the emulator's
/// thread up to milliseconds late, and emulated links then take longer than they should.
pub struct Awake(Vec<Child>);

impl Awake {
    pub fn keep() -> Self {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let start = |_| {
            let mut idle = Command::new("chrt");
            idle.args(["-i", "0", "sh", "-c", BUSY]).spawn().ok()
        };
        Self((0..processors).filter_map(start).collect())
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        for program in &mut self.0 {
            let _ = program.kill();
            let _ = program.wait();
        }
    }
}
