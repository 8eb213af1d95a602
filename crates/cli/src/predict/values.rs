//! The values of flags: one value, a list, or a range.

use caudal_predict::question::{ParameterKind, Sweep};

/// Defines a value parser for clap.
macro_rules! parser {
    ($name:ident, $kind:ident) => {
        pub(super) fn $name(text: &str) -> Result<Sweep, String> {
            Sweep::parse(ParameterKind::$kind, text)
        }
    };
}
parser!(rate, Rate);
parser!(amount, Amount);
parser!(packet, Packet);
parser!(time, Time);
parser!(share, Share);
parser!(count, Count);
