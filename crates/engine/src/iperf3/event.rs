//! What happens during a test of iperf3, told to whoever writes it down.

use caudal_core::plan::Direction;
use caudal_core::sample::Sample;
use caudal_wire::iperf3::{Complaint, Cookie, Parameters, Results};
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

/// One data connection of a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stream {
    /// The flow that carries it, counted from 0 in the order of opening.
    pub flow: u32,
    /// The number both ends give it in their results.
    pub id: u32,
    /// The descriptor it has here, which iperf3 shows as its name.
    pub descriptor: i32,
    /// Its address here.
    pub local: SocketAddr,
    /// Its address there.
    pub remote: SocketAddr,
    /// Its direction, seen from the client.
    pub direction: Direction,
    /// Whether this end sends on it.
    pub sends: bool,
    /// The largest segment the kernel has for it, bytes (TCP).
    pub mss: Option<u32>,
    /// Send and receive buffers the kernel has granted the first stream, bytes.
    pub buffers: (u32, u32),
}

/// One thing that happened.
#[derive(Debug, Clone)]
pub enum Iperf3Event {
    /// Both ends of the control connection know what is to be done.
    Agreed {
        /// The other end of the control connection.
        peer: SocketAddr,
        /// The name of the test.
        cookie: Cookie,
        /// What is to be done.
        parameters: Box<Parameters>,
        /// The largest segment of the control connection, bytes.
        mss: Option<u32>,
    },
    /// All streams are open.
    Opened {
        /// The streams.
        streams: Vec<Stream>,
    },
    /// The streams were read; reading 0 is made at the start.
    Sampled {
        /// One reading for each stream.
        samples: Vec<Sample>,
        /// Whether what lies before it is warm-up.
        omitted: bool,
    },
    /// It is over.
    Ended(Box<Ending>),
}

/// How a test ended.
#[derive(Debug, Clone, Default)]
pub struct Ending {
    /// The last readings.
    pub last: Vec<Sample>,
    /// The results told to the other end.
    pub ours: Results,
    /// The results the other end has told; `None` when it did not get that far.
    pub theirs: Option<Results>,
    /// What went wrong, if anything did.
    pub complaint: Option<Complaint>,
}

/// What a scribe has written.
#[derive(Debug, Clone)]
pub enum Output {
    /// Lines.
    Text(String),
    /// An object.
    Json(serde_json::Value),
}

/// Writes down what a test on a server looks like.
pub trait Scribe: Send {
    /// Takes note of an event.
    fn note(&mut self, event: &Iperf3Event);
    /// What was written so far.
    fn output(&self) -> Output;
}

/// Gives every test a scribe of its own.
#[derive(Clone)]
pub struct ScribeMaker(pub Arc<dyn Fn() -> Box<dyn Scribe> + Send + Sync>);

impl fmt::Debug for ScribeMaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ScribeMaker")
    }
}

/// Decides whether an encrypted login is one of those this server answers.
#[derive(Clone)]
pub struct Gatekeeper(pub Arc<dyn Fn(&str) -> bool + Send + Sync>);

impl fmt::Debug for Gatekeeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Gatekeeper")
    }
}
