//! Carrying a file over one socket.
//!
//! A mover carries a content from a [`ContentSource`] to a [`RunSink`] over one socket: TCP, TLS, QUIC or RBT (module `movers`). A
//! content is generated, or read from a file, from many small ones or standard input; it is verified and discarded, or stored below a directory, where a
//! transfer that broke off is resumed.
#![forbid(unsafe_code)]

mod archive;
mod arriving_content;
mod beneath;
mod certificate;
mod content_destination;
mod content_source;
mod content_to_send;
mod digest_time;
mod failure;
mod file_sink;
mod file_source;
mod generated_content;
mod generated_source;
mod handshake;
mod holes;
mod in_band_content;
mod in_band_end;
mod journal;
mod mover_terms;
pub mod movers;
mod nameless_file;
mod prepared_content;
mod quic;
mod rbt;
mod run_ring;
mod run_sink;
mod secure_account;
mod secure_end;
#[cfg(test)]
mod secure_tests;
mod served_directory;
mod sink_worker;
mod source_file;
mod stall_watch;
mod stdin_source;
mod store_directory;
mod store_quota;
mod stored_file;
mod tcp;
#[cfg(test)]
mod test_doubles;
#[cfg(test)]
mod testing;
mod tls;
mod tree_digest;
mod worker_sink;

pub use archive::{ArchiveDestination, ArchiveMember, UnreadMember, leads_within};
pub use certificate::{CertificateFingerprint, SessionCertificate};
pub use content_destination::ContentDestination;
pub use content_source::ContentSource;
pub use content_to_send::{ContentToSend, PreparationPriority};
pub use digest_time::time_to_begin;
pub use failure::TransferFailure;
pub use handshake::{TlsAnswerer, TlsClient, TlsRequest};
pub use mover_terms::{MoverControl, MoverTerms};
pub use prepared_content::{MAX_READ_BEFORE, PreparedContent};
pub use run_sink::RunSink;
pub use served_directory::ServedDirectory;
pub use sink_worker::SinkSignals;
pub use source_file::SourceFile;
pub use store_directory::{StoreDirectory, stored_name};
pub use stored_file::StoredFile;
