//! The options of iperf3 as people type them at caudal: the flag that each is here, for one line of advice and for
//! docs/from-iperf3.md.

mod advice;
mod equivalent;
mod section;

pub use advice::advice;
pub use equivalent::{EQUIVALENTS, Equivalent, Iperf3Equivalent};
pub use section::flag_table;
