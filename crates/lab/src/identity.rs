//! The identity of a lab.

use std::path::Path;

/// The names by which a lab and what belongs to it are found.
#[derive(Debug, Clone, Copy)]
pub struct LabIdentity<'a> {
    /// Its name.
    pub name: &'a str,
    /// The identifier that marks its namespaces, so that processes in them are found after the lab's was killed.
    pub id: &'a str,
    /// The directory for its files, which exists and is used by nothing else.
    pub directory: &'a Path,
}
