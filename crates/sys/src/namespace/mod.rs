//! Network namespaces without names, and processes that enter them.

mod enter;
mod entry;
mod network;
mod user;

pub use entry::NamespaceEntry;
pub use network::{NamespaceId, NetworkNamespace};
pub use user::enter_new_user_namespace;
