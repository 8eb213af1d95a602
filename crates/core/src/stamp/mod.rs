//! The results of tests with STAMP (RFC 8762).

mod extension;
mod report;
mod way;

pub use extension::{ExtensionAnswer, StampExtension};
pub use report::{StampClock, StampReflector, StampReport};
pub use way::{ReflectorNumbering, StampWay, StampWays};
