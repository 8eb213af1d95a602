//! The capacity of each hop from round-trip times of probes of different sizes (variable packet size probing).
//!
//! The minimum round-trip time of an `L`-byte probe to hop n is `T_n(L) = alpha_n + L · Σ 1/C_i`, where the sum is over the
//! links up to it, as long as replies have one size. So `1/C_n` is what the slope grows by from the hop before. Sources: Jacobson,
//! "pathchar: A Tool to Infer Characteristics of Internet Paths", 1997; Downey, "Using pathchar to Estimate Internet Link
//! Characteristics", 1999. A shaper lets a probe that comes alone pass at once; probes right behind primers, large packets that
//! empty its bucket, show it.

mod demand;
mod hop_slope;
mod link_class;
mod path;
mod primed_model;
mod reading;
mod settings;
mod size_minima;
mod slope_step;

pub use demand::{HopDemand, demands};
pub use hop_slope::HopSlope;
pub use link_class::{LinkClass, LinkStatement};
pub use path::{HopLink, NarrowLink, PathCapacities};
pub use reading::{HopAnswer, HopReading, Priming};
pub use settings::{Primers, VpsSettings};
pub use size_minima::ReplyHandling;
pub use slope_step::SlopeStep;
