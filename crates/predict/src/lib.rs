//! What should come out, before anything is sent: a formula for each question, with its arithmetic and its source.
//!
//! A question (`LinkQuestion`, `WindowQuestion`, …) is answered by a list of [`Prediction`]s. Several predictions of
//! one name are answers to one question by different [`Method`]s, and are shown beside one another.
#![forbid(unsafe_code)]

pub mod ceilings;
pub mod echo;
pub mod efficiency;
pub mod half_duplex;
pub mod loss;
pub mod rfc6349;
pub mod round_trips;
pub mod share;
pub mod throughput;
pub mod topology;
pub mod transfer;
pub mod window;

pub use ceilings::{Ceiling, Ceilings, Term};
