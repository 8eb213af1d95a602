//! The bottleneck of a flow and the evidence for it.
//!
//! For TCP the kernel accounts for the time its sender was busy and for the parts of it limited by the receiver's window and
//! by the send buffer (`tcp_info`); for the applications at both ends the processor time of their threads shows whether they
//! could have done more.

mod evidence;
mod find;
mod limit;
mod processor;
mod tcp;
mod udp;

pub use evidence::{Evidence, REACHED};
pub use find::find;
pub use limit::{Bottleneck, LimitedBy};
pub use processor::CPU_BOUND;
pub use udp::find_by_loss;
