//! Files of captured frames: pcap and pcapng, read in one pass.

mod frame;
mod gso;
mod header;
mod link_type;
mod options;
mod pcap;
mod pcapng;
mod reader;
mod section;
mod time;

pub use frame::{CapturedFrame, FrameOrigin};
pub use gso::{GsoKind, GsoRecord};
pub(crate) use header::FileInterface;
pub use link_type::LinkType;
pub use reader::FrameReader;
