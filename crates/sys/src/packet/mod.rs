//! The frames of a device: packet(7).

mod address;
mod block_ring;
mod bpf;
mod capture;
mod filter;
mod ring;

pub use capture::{CaptureCounters, CaptureRequest, FirstHeader, FrameCapture, ObservedFrame};
pub use filter::TrafficFilter;
pub use ring::{PacketRing, RingFrame};
