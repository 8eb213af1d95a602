//! What both ends say of trains of datagrams: how many left and arrived, and when.

mod account;
mod series;
mod times;

pub use account::{ReceivedTrains, SentTrains, TrainsAccount};
pub use series::{SeriesReadings, TrainTimes};
pub use times::DatagramTimes;
