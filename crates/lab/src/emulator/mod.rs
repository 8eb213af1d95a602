//! The emulator: a thread that carries frames from host to host.
//!
//! Everything that happens on a link happens in virtual time: the departure of a frame follows from its arrival and from the
//! frames before it, never from the time at which the thread woke up. Waking up late makes a delivery late, and nothing else.

mod coalescing;
mod command;
mod handle;
mod spin;
mod thread;

pub(crate) use command::EmulatorReport;
pub(crate) use handle::Emulator;
