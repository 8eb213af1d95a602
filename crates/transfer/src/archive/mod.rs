//! Archives: several small files and empty directories as one content (spec/protocol.md, section 4.2).

mod builder;
mod entry;
mod reader;
mod sink;
mod source;
#[cfg(test)]
mod tests;

pub(super) use builder::BuiltArchive;
pub use builder::{ArchiveMember, UnreadMember};
pub use sink::ArchiveDestination;
pub(super) use sink::ArchiveSink;
pub(super) use source::ArchiveSource;
