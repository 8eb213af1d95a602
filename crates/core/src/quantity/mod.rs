//! Quantities as text: the one place that decides how many digits are shown, where thousands are separated and which
//! prefix a unit has.
//!
//! A value by itself has four significant digits. A value with an interval has the digits that its interval warrants: two
//! significant ones of half the interval's width. Whole numbers of five digits and more have a blank between every three.

mod estimate;
mod number;
mod unit;
mod unit_value;

pub use estimate::{EstimateInUnit, confidence_level};
pub(crate) use number::scaled;
pub use number::{digits, short};
pub use unit::Unit;
pub use unit_value::{UnitValue, rate, size, time};
