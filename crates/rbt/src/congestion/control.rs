//! The controllers by name.

use super::bbr::BbrController;
use super::controller::{AckedPackets, CongestionController, LostPackets, SentPackets};
use super::cubic::CubicController;
use super::fixed::FixedController;
use super::newreno::NewRenoController;

/// A name for which there is no congestion control.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownCongestionControl {
    /// No controller has this name.
    #[error("there is no congestion control {0:?}: cubic, newreno, bbr and fixed are known")]
    Name(String),
    /// A fixed rate needs a rate.
    #[error("the congestion control `fixed` needs a rate above zero")]
    MissingRate,
}

/// One of the congestion controllers.
#[derive(Debug, Clone)]
pub enum RbtCongestion {
    /// CUBIC with HyStart++, the default.
    Cubic(CubicController),
    /// NewReno.
    NewReno(NewRenoController),
    /// BBR version 3, boxed for its history of what was in flight.
    Bbr(Box<BbrController>),
    /// A fixed rate.
    Fixed(FixedController),
}

/// Calls the controller, whichever it is.
macro_rules! each {
    ($control:expr, $controller:ident => $call:expr) => {
        match $control {
            RbtCongestion::Cubic($controller) => $call,
            RbtCongestion::NewReno($controller) => $call,
            RbtCongestion::Bbr($controller) => $call,
            RbtCongestion::Fixed($controller) => $call,
        }
    };
}

impl RbtCongestion {
    /// The controller with a name, for packets with `packet_bytes` of payload. `fixed` sends at `rate_bits_per_s`, which the others
    /// do not read; `seed` is that of random decisions.
    ///
    /// # Errors
    ///
    /// [`UnknownCongestionControl`] for a name that is none, and for `fixed` without a rate.
    pub fn from_name(
        name: &str,
        packet_bytes: u32,
        rate_bits_per_s: Option<u64>,
        seed: u64,
    ) -> Result<Self, UnknownCongestionControl> {
        Ok(match name {
            "cubic" => Self::Cubic(CubicController::new(packet_bytes)),
            "newreno" => Self::NewReno(NewRenoController::new(packet_bytes)),
            "bbr" => Self::Bbr(Box::new(BbrController::new(packet_bytes, seed))),
            "fixed" => {
                let rate = rate_bits_per_s
                    .filter(|rate| *rate > 0)
                    .ok_or(UnknownCongestionControl::MissingRate)?;
                Self::Fixed(FixedController::new(packet_bytes, rate))
            }
            _ => return Err(UnknownCongestionControl::Name(name.to_owned())),
        })
    }
}

impl CongestionController for RbtCongestion {
    fn on_sent(&mut self, sent: &SentPackets) {
        each!(self, controller => controller.on_sent(sent));
    }

    fn on_acked(&mut self, acked: &AckedPackets) {
        each!(self, controller => controller.on_acked(acked));
    }

    fn on_lost(&mut self, lost: &LostPackets) {
        each!(self, controller => controller.on_lost(lost));
    }

    fn on_spurious_loss(&mut self, now_ns: u64) {
        each!(self, controller => controller.on_spurious_loss(now_ns));
    }

    fn window(&self) -> u64 {
        each!(self, controller => controller.window())
    }

    fn pacing_rate(&self) -> Option<u64> {
        each!(self, controller => controller.pacing_rate())
    }

    fn is_slow_start(&self) -> bool {
        each!(self, controller => controller.is_slow_start())
    }

    fn name(&self) -> &'static str {
        each!(self, controller => controller.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_controller_tells_the_name_it_was_made_by() {
        for name in ["cubic", "newreno", "bbr", "fixed"] {
            let control = RbtCongestion::from_name(name, 1400, Some(1_000_000), 1);
            assert_eq!(control.map(|control| control.name()), Ok(name));
        }
    }

    #[test]
    fn other_names_and_a_missing_rate_are_refused() {
        let refused = |name, rate| RbtCongestion::from_name(name, 1400, rate, 1).err();
        let unknown = UnknownCongestionControl::Name("vegas".to_owned());
        assert_eq!(refused("vegas", None), Some(unknown));
        for rate in [None, Some(0)] {
            assert_eq!(
                refused("fixed", rate),
                Some(UnknownCongestionControl::MissingRate)
            );
        }
    }
}
