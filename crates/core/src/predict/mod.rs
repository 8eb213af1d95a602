//! What should come out, before anything is sent: a formula for each question, with its arithmetic and its source.
//!
//! A question (`LinkQuestion`, `WindowQuestion`, …) is answered by a list of [`Prediction`]s. Several predictions of
//! one name are answers to one question by different [`Method`]s, and are shown beside one another.

pub mod ceilings;
pub mod compare;
pub mod echo;
pub mod efficiency;
pub mod half_duplex;
pub mod loss;
pub mod prediction;
pub mod rfc6349;
pub mod round_trips;
pub mod share;
pub mod topology;
pub mod traffic;
pub mod transfer;
pub mod window;
pub mod wire;

pub use ceilings::{Ceiling, Ceilings, Term};
pub use compare::Compared;
pub use prediction::{Method, Prediction, Tolerance, Unit};
