//! Network namespaces without names, and processes that enter them.

mod enter;
mod entry;
mod network;

pub use enter::enter_new_user_namespace;
pub use entry::NamespaceEntry;
pub use network::{NamespaceId, NetworkNamespace};
