//! The groups of options.

/// The ends of a test that have an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OptionGroup {
    /// Both.
    Common,
    /// The client.
    Client,
    /// The server.
    Server,
}
