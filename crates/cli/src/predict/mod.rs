//! `caudal predict`: the results that theory expects, with the arithmetic.
//!
//! Each question is a file with its flags and its `Question`: the parameters, and the predictions for one
//! value of each.

mod command;
mod echo;
mod evaluation;
mod framing_args;
mod half_duplex;
mod link;
mod loss;
pub mod output;
mod output_args;
mod parameter;
mod parameter_kind;
mod question;
mod share;
mod simulated;
mod sweep;
mod topology;
mod transfer;
mod window;

pub use command::{PredictArgs, PredictCommand, predict};
