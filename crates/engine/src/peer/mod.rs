//! The other end of a test, whatever protocol it speaks. caudal's own is here; those of other tools are in
//! `caudal-foreign`.

pub(crate) mod native;
#[expect(
    clippy::module_inception,
    reason = "the file is named for its trait, Peer"
)]
mod peer;

pub use native::NativePeer;
pub use peer::{Peer, PeerInfo};
