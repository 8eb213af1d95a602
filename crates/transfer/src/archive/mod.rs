//! Archives: several small files and empty directories as one content (spec/protocol.md, section 4.2).

mod builder;
mod destination;
mod entry;
mod link_target;
mod reader;
mod source;
#[cfg(test)]
mod tests;

pub(super) use builder::BuiltArchive;
pub use builder::{ArchiveMember, UnreadMember};
pub use destination::ArchiveDestination;
pub use link_target::leads_within;
pub(super) use source::ArchiveSource;
