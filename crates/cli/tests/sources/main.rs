//! The sources of the workspace and what they depend on.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod architecture;
mod circles;
mod crate_sources;
mod dependencies;
mod imports;
mod modules;
mod prose;
