//! Diagnostics on standard error.

use caudal_core::text::on_one_line;
use std::io::Write;

/// Writes one line in the name of the program on standard error. That nobody reads it is no error.
pub fn diagnostic(line: &str) {
    let _ = writeln!(std::io::stderr(), "caudal: {}", on_one_line(line));
}
