//! Packages: everything that a release consists of, in one directory.
//!
//! The same sources, toolchain and `SOURCE_DATE_EPOCH` give the same bytes.

mod archive;
mod build;
mod cargo_metadata;
mod deb;
mod documents;
mod elf;
mod licences;
mod packages;
mod sbom;
mod wheel;

pub use packages::{DistArgs, dist};
