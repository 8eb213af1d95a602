//! The dialogue with the page: a thread that reads what it says and writes what it is told.

use super::message::{FromPage, ToPage};
use super::page_counts::PagePhase;
use caudal_flow::{Waker, Wakeup};
use caudal_sys::poll::poll_readable;
use std::io;
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tungstenite::protocol::{Role, WebSocketConfig};
use tungstenite::{Error, Message, WebSocket};

/// Maximum size of a message of the page, bytes.
const MAX_MESSAGE_BYTES: usize = 1024;
/// Maximum number of its messages in a test: it sends ten a second.
const MAX_MESSAGES: u32 = 5000;
/// Maximum wait for messages.
const MAX_WAIT: Duration = Duration::from_secs(1);
/// What may wait to be written, bytes: a page that does not read has gone.
const MAX_UNREAD_BYTES: usize = 256 << 10;

/// What the page has said.
#[derive(Debug, Default)]
pub(super) struct PageState {
    /// By phase.
    pub(super) phases: Vec<PagePhase>,
    /// `true` once it was hidden.
    pub(super) was_hidden: bool,
    /// Why the dialogue is over.
    pub(super) ended: Option<&'static str>,
}

/// The dialogue with the page.
pub(super) struct Dialogue {
    state: Arc<Mutex<PageState>>,
    outgoing: Option<Sender<String>>,
    wakeup: Waker,
    /// Readable once the dialogue is over.
    ended: Wakeup,
    thread: Option<JoinHandle<()>>,
}

impl Dialogue {
    /// Begins the dialogue over a WebSocket.
    ///
    /// # Errors
    /// When the kernel grants no pipe or thread.
    pub(super) fn begin(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        let (outgoing, messages) = channel();
        let (wakeup, ended) = (Wakeup::new()?, Wakeup::new()?);
        let waker = wakeup.waker()?;
        let state = Arc::<Mutex<PageState>>::default();
        let thread = DialogueThread {
            socket: WebSocket::from_raw_socket(stream, Role::Server, Some(config())),
            state: Arc::clone(&state),
            messages,
            wakeup,
            ended: ended.waker()?,
            left: MAX_MESSAGES,
        };
        let thread = thread::Builder::new()
            .name("dialogue".to_owned())
            .stack_size(256 << 10)
            .spawn(move || thread.run())?;
        Ok(Self {
            state,
            outgoing: Some(outgoing),
            wakeup: waker,
            ended,
            thread: Some(thread),
        })
    }

    /// Tells the page something.
    pub(super) fn tell(&self, message: &ToPage) {
        if let (Some(outgoing), Ok(text)) = (&self.outgoing, serde_json::to_string(message)) {
            let _ = outgoing.send(text);
            self.wakeup.wake();
        }
    }

    /// What the page has said so far.
    pub(super) fn state(&self) -> MutexGuard<'_, PageState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Readable once the dialogue is over.
    pub(super) fn ended_fd(&self) -> BorrowedFd<'_> {
        self.ended.fd()
    }
}

impl Drop for Dialogue {
    /// Ends the dialogue once all was said.
    fn drop(&mut self) {
        self.outgoing = None;
        self.wakeup.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn config() -> WebSocketConfig {
    WebSocketConfig::default()
        .read_buffer_size(4 << 10)
        .write_buffer_size(4 << 10)
        .max_write_buffer_size(MAX_UNREAD_BYTES)
        .max_message_size(Some(MAX_MESSAGE_BYTES))
        .max_frame_size(Some(MAX_MESSAGE_BYTES))
}

struct DialogueThread {
    socket: WebSocket<TcpStream>,
    state: Arc<Mutex<PageState>>,
    messages: Receiver<String>,
    wakeup: Wakeup,
    ended: Waker,
    /// Messages that the page may still send.
    left: u32,
}

impl DialogueThread {
    fn run(mut self) {
        let why = self.converse();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.ended.get_or_insert(why);
        drop(state);
        self.ended.wake();
        let _ = self.socket.get_ref().shutdown(Shutdown::Both);
    }

    /// Reads and writes until either end is done: why it is over.
    fn converse(&mut self) -> &'static str {
        const GONE: &str = "the page was closed";
        let mut is_closing = false;
        let mut patience = 0;
        loop {
            loop {
                use std::sync::mpsc::TryRecvError::{Disconnected, Empty};
                match self.messages.try_recv() {
                    Ok(text) => match self.socket.send(Message::text(text)) {
                        Ok(()) => {}
                        Err(error) if is_blocked(&error) => {}
                        Err(_) => return GONE,
                    },
                    Err(Empty) => break,
                    Err(Disconnected) => {
                        if !is_closing {
                            let _ = self.socket.close(None);
                            is_closing = true;
                        }
                        break;
                    }
                }
            }
            loop {
                match self.socket.read() {
                    Ok(Message::Text(text)) => {
                        let Some(left) = self.left.checked_sub(1) else {
                            return "the page said too much";
                        };
                        self.left = left;
                        if let Some(why) = self.take(&text) {
                            return why;
                        }
                    }
                    Ok(Message::Close(_)) | Err(Error::ConnectionClosed | Error::AlreadyClosed) => {
                        let _ = self.socket.flush();
                        return GONE;
                    }
                    Ok(_) => {
                        let Some(left) = self.left.checked_sub(1) else {
                            return "the page said too much";
                        };
                        self.left = left;
                    }
                    Err(error) if is_blocked(&error) => break,
                    Err(_) => return GONE,
                }
            }
            if let Err(error) = self.socket.flush()
                && !is_blocked(&error)
            {
                return GONE;
            }
            if is_closing {
                patience += 1;
                if patience > 3 {
                    return GONE;
                }
            }
            let fds = [self.socket.get_ref().as_fd(), self.wakeup.fd()];
            // What did not fit is tried again soon.
            let wait = if is_closing {
                MAX_WAIT / 4
            } else {
                MAX_WAIT / 10
            };
            // Once everything is said, the wakeup stays readable.
            let fds = if is_closing { &fds[..1] } else { &fds[..] };
            if poll_readable(fds, Some(wait)).is_err() {
                return GONE;
            }
            self.wakeup.reset();
        }
    }

    /// Takes what the page said; why the test is over where it says so.
    fn take(&self, text: &str) -> Option<&'static str> {
        // A page of another version may say what this one does not know.
        let message: FromPage = serde_json::from_str(text).ok()?;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match message {
            FromPage::Count { number, ms, bytes } => {
                if let Some(phase) = state.phases.get_mut(number as usize) {
                    phase.counts.add(ms, bytes);
                }
            }
            FromPage::Starved { number, share } => {
                if let Some(phase) = state.phases.get_mut(number as usize) {
                    phase.starved = if share.is_finite() {
                        share.clamp(0.0, 1.0)
                    } else {
                        0.0
                    };
                }
            }
            FromPage::Hidden => state.was_hidden = true,
            FromPage::Stop => {
                state.ended = Some("its user ended it");
                return Some("its user ended it");
            }
        }
        None
    }
}

fn is_blocked(error: &Error) -> bool {
    matches!(error, Error::Io(cause) if cause.kind() == io::ErrorKind::WouldBlock)
}
