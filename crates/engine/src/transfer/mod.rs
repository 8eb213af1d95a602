//! Carrying a file over one socket.
//!
//! A mover carries a content from a [`ContentSource`] to a [`RunSink`] over one socket; `movers.rs` lists them.

mod arriving_content;
mod beneath;
mod certificate;
mod content_counts;
mod content_destination;
mod content_source;
mod content_to_send;
mod cpu_time;
mod discard_sink;
mod failure;
mod file_error;
mod file_sink;
mod file_source;
mod generated_content;
mod generated_source;
mod in_band_content;
mod in_band_end;
mod journal;
mod mover_control;
mod mover_terms;
pub(crate) mod movers;
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
mod stored_file;
mod tcp;
#[cfg(test)]
mod test_doubles;
#[cfg(test)]
mod testing;
mod tls;
mod tree_digest;

pub use file_error::TransferFileError;
pub use prepared_content::PreparedContent;
pub use served_directory::ServedDirectory;
pub use store_directory::StoreDirectory;

pub(crate) use certificate::SessionCertificate;
pub(crate) use content_destination::ContentDestination;
pub(crate) use content_source::ContentSource;
pub(crate) use content_to_send::ContentToSend;
pub(crate) use failure::TransferFailure;
pub(crate) use mover_control::MoverControl;
pub(crate) use mover_terms::MoverTerms;
pub(crate) use run_sink::RunSink;
pub(crate) use sink_worker::SinkSignals;
pub(crate) use store_directory::stored_name;
