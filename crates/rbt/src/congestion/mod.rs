//! Congestion control: how much may be in flight, and how fast it may leave.

mod bbr;
mod control;
mod controller;
mod cubic;
mod cubic_curve;
mod fixed;
mod hystart;
mod newreno;
mod pacer;
#[cfg(test)]
mod pipe;
mod rate;
mod recovery;
mod rtt;
#[cfg(test)]
mod simulations;
mod slow_start;
mod window;

pub use bbr::BbrController;
pub use control::{RbtCongestion, UnknownCongestionControl};
pub use controller::{
    AckedPackets, CongestionController, DeliveryRateSample, LostPackets, SentPackets,
};
pub use cubic::CubicController;
pub use fixed::FixedController;
pub use newreno::NewRenoController;
pub use pacer::DatagramPacer;
pub use rate::{DeliveryRate, RateStamp};
pub use rtt::RoundTripTime;
