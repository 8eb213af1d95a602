//! `caudal predict`: the results that theory expects, with the arithmetic.
//!
//! Each question is a file with its flags and its `Question`: the parameters, and the predictions for one
//! value of each.

mod command;
mod echo;
mod framing_args;
mod half_duplex;
mod link;
mod loss;
mod output;
mod question;
mod share;
mod topology;
mod transfer;
mod values;
mod window;

pub use command::{PredictArgs, PredictCommand, predict};
