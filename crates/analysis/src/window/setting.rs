//! The command that changes a setting of a kernel.

/// The command line that sets a setting of the kernel until the next boot.
#[must_use]
pub fn set_line(name: &str, value: impl std::fmt::Display) -> String {
    format!("sysctl -w {name}=\"{value}\"")
}
