//! Amounts and rates that carry their unit, and the text people write them as.

mod bit_rate;
mod byte_count;
mod decimal;
mod duration;
mod error;
mod fraction;
mod prefix;
mod rate_unit;
mod transfer;

pub use bit_rate::BitRate;
pub use byte_count::ByteCount;
pub use duration::{format_duration, parse_duration};
pub use error::ParseUnitError;
pub use fraction::parse_fraction;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_text_makes_a_parser_panic(text in ".{0,40}") {
            let _ = (text.parse::<BitRate>(), text.parse::<ByteCount>());
            let _ = (parse_duration(&text), parse_fraction(&text));
        }

        #[test]
        fn numbers_with_any_ending_do_not_make_a_parser_panic(text in "[0-9.]{0,30}[kKmMGTiBs%]{0,3}") {
            let _ = (text.parse::<BitRate>(), text.parse::<ByteCount>());
            let _ = (parse_duration(&text), parse_fraction(&text));
        }
    }
}
