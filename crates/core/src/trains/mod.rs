//! What both ends say of trains of datagrams: how many left and arrived, and when.

mod account;
mod times;

pub use account::{ReceivedTrains, SentTrains, TrainsAccount};
pub use times::DatagramTimes;
