//! Doubts about a finished run, each with its remedy.

mod code;
mod texts;
mod warning;

pub use code::WarningCode;
pub use warning::Warning;
