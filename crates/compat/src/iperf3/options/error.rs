//! The errors of a command line.

/// An error in a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandLineError {
    /// It cannot be read: shown with the usage.
    Usage(String),
    /// A parameter makes no sense, or is not available.
    Parameter(String),
}
