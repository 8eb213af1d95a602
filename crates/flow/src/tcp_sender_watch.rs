//! Reading the state of one TCP connection while another loop than that of a flow sends over it.

use super::connection_reader::PERIOD;
use super::sender_state::SenderState;
use caudal_core::readings::SenderReadings;
use caudal_core::tcp_trace::TcpTrace;
use caudal_sys::clock::monotonic_ns;
use caudal_sys::tcp::tcp_info;
use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};

const STACK_BYTES: usize = 64 << 10;

/// The states of a sender's connection, and its course.
#[derive(Debug, Clone, Default)]
pub struct TcpSenderCourse {
    /// The states in which it was found.
    pub readings: SenderReadings,
    /// Its course.
    pub trace: TcpTrace,
}

/// The thread that reads the state of a sender's connection; it ends when this is dropped.
pub struct TcpSenderWatch {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<TcpSenderCourse>>,
}

impl TcpSenderWatch {
    /// Starts the thread.
    ///
    /// # Errors
    /// When the kernel grants no further descriptor or thread.
    pub fn spawn(stream: &TcpStream) -> io::Result<Self> {
        let stream = stream.try_clone()?;
        let is_over = Arc::new(AtomicBool::new(false));
        let inner = Arc::clone(&is_over);
        let thread = thread::Builder::new()
            .name("states".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || read(&stream, &inner))?;
        Ok(Self {
            is_over,
            thread: Some(thread),
        })
    }

    /// Ends it: what it read.
    #[must_use]
    pub fn finish(mut self) -> TcpSenderCourse {
        self.end().unwrap_or_default()
    }

    fn end(&mut self) -> Option<TcpSenderCourse> {
        self.is_over.store(true, Relaxed);
        let thread = self.thread.take()?;
        thread.thread().unpark();
        thread.join().ok()
    }
}

impl Drop for TcpSenderWatch {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

fn read(stream: &TcpStream, is_over: &AtomicBool) -> TcpSenderCourse {
    let start_ns = monotonic_ns();
    let mut state = SenderState::of(0);
    let mut trace = TcpTrace::default();
    loop {
        if let Ok(info) = tcp_info(stream) {
            state.add(&info);
            let elapsed_ns = monotonic_ns().saturating_sub(start_ns);
            if let Some(reading) = state.trace_reading(&info, elapsed_ns) {
                trace.record(reading);
            }
        }
        if is_over.load(Relaxed) {
            return TcpSenderCourse {
                readings: state.readings(),
                trace,
            };
        }
        thread::park_timeout(PERIOD);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_connection_is_read_until_the_watch_ends() -> io::Result<()> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let near = TcpStream::connect(listener.local_addr()?)?;
        let watch = TcpSenderWatch::spawn(&near)?;
        let course = watch.finish();
        let count = course.readings.count;
        assert!(count >= 1 && course.trace.readings().len() as u64 <= count);
        // Dropped without an end, it leaves no thread behind.
        drop(TcpSenderWatch::spawn(&near)?);
        Ok(())
    }
}
