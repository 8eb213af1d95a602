//! Loss.

use std::collections::BTreeSet;

use crate::counters::{DropReason, FrameCounters};
use crate::error::LinkError;
use crate::frame::Frame;
use crate::probability::Probability;
use crate::random::Rng;
use crate::stage::{Setting, Stage, TimedFrame};
use crate::time::SimTime;

/// The choice of the frames that are lost.
#[derive(Debug, Clone)]
pub enum LossModel {
    /// Each frame with the same probability, independently of others.
    Independent(Probability),
    /// In bursts, by a two-state channel.
    Bursts(GilbertElliott),
    /// The frames at these positions, counted from 0.
    Positions(BTreeSet<u64>),
}

/// A channel with a good and a bad state, which may change before each frame; it starts in the good one.
///
/// Source: Gilbert, "Capacity of a Burst-Noise Channel", 1960; Elliott, "Estimates of Error Rates for Codes on
/// Burst-Noise Channels", 1963.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GilbertElliott {
    /// The probability of a transition from the good to the bad state.
    pub good_to_bad: Probability,
    /// The probability of a transition from the bad to the good state.
    pub bad_to_good: Probability,
    /// The loss probability in the good state, zero in Gilbert's model.
    pub loss_in_good: Probability,
    /// The loss probability in the bad state.
    pub loss_in_bad: Probability,
}

impl GilbertElliott {
    /// The long-term loss ratio; `None` when the state never changes.
    #[must_use]
    pub fn mean_loss(&self) -> Option<f64> {
        let (good_to_bad, bad_to_good) = (self.good_to_bad.fraction(), self.bad_to_good.fraction());
        let changes = good_to_bad + bad_to_good;
        (changes > 0.0).then(|| {
            let (good, bad) = (bad_to_good / changes, good_to_bad / changes);
            good * self.loss_in_good.fraction() + bad * self.loss_in_bad.fraction()
        })
    }
}

/// A stage that loses frames.
#[derive(Debug)]
pub struct FrameLoss {
    model: LossModel,
    is_bad: bool,
    rng: Rng,
    counters: FrameCounters,
}

impl FrameLoss {
    /// A stage that loses the frames `model` chooses.
    #[must_use]
    pub fn new(model: LossModel, rng: Rng) -> Self {
        Self {
            model,
            is_bad: false,
            rng,
            counters: FrameCounters::default(),
        }
    }

    fn loses(&mut self) -> bool {
        match &self.model {
            LossModel::Independent(probability) => self.rng.bernoulli(*probability),
            LossModel::Bursts(channel) => {
                let changes = if self.is_bad {
                    channel.bad_to_good
                } else {
                    channel.good_to_bad
                };
                self.is_bad ^= self.rng.bernoulli(changes);
                self.rng.bernoulli(if self.is_bad {
                    channel.loss_in_bad
                } else {
                    channel.loss_in_good
                })
            }
            LossModel::Positions(positions) => positions.contains(&(self.counters.offered.frames)),
        }
    }
}

impl Stage for FrameLoss {
    fn kind(&self) -> &'static str {
        "loss"
    }

    fn offer(&mut self, now: SimTime, frame: Frame, out: &mut Vec<TimedFrame>) {
        let loses = self.loses();
        self.counters.offered.add(&frame);
        if loses {
            self.counters.drop(&frame, DropReason::Loss);
        } else {
            self.counters.delivered.add(&frame);
            out.push(TimedFrame { at: now, frame });
        }
    }

    fn counters(&self) -> FrameCounters {
        self.counters.clone()
    }

    fn set(&mut self, _now: SimTime, setting: Setting) -> Result<bool, LinkError> {
        let Setting::Loss(probability) = setting else {
            return Ok(false);
        };
        self.model = LossModel::Independent(probability);
        Ok(true)
    }
}
