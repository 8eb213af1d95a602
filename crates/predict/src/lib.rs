//! Predictions of what TCP and UDP should achieve, each by a formula with its derivation and its source; of small networks also by
//! simulation.
//!
//! A function `predict_…` computes a list of [`Prediction`]s from parameters (`LinkParameters`, `WindowParameters`, …).
//! Predictions of one name by different [`Method`]s answer the same question and are compared with one another.
//!
//! [`Prediction`]: caudal_core::prediction::Prediction
//! [`Method`]: caudal_core::prediction::Method
#![forbid(unsafe_code)]

pub mod csma_cd;
pub mod echo;
pub mod efficiency;
pub mod file_transfer;
pub mod half_duplex;
pub mod link;
pub mod loss;
pub mod question;
pub mod rate_bounds;
pub mod rfc6349;
pub mod round_trips;
pub mod share;
pub mod simulated;
pub mod throughput;
pub mod topology;
pub mod topology_report;
pub mod transfer;
pub mod window;

pub use rate_bounds::{LimitingFactor, RateBound, RateBounds};
