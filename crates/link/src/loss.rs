//! Frames that do not arrive.

use std::collections::BTreeSet;

use crate::cell::{Cell, Delivery, Setting};
use crate::counters::{Counters, DropReason};
use crate::dice::{Dice, Probability};
use crate::error::LinkError;
use crate::frame::Frame;
use crate::moment::Moment;

/// Which frames are lost.
#[derive(Debug, Clone)]
pub enum LossModel {
    /// Each with the same probability, whatever became of the others.
    Independent(Probability),
    /// In bursts.
    Bursts(GilbertElliott),
    /// Those that come at these places, the first frame at 0.
    At(BTreeSet<u64>),
}

/// Two states with a loss each, changed or kept before every frame; it starts in the good one.
///
/// Source: Gilbert, "Capacity of a Burst-Noise Channel", 1960; Elliott, "Estimates of Error Rates for Codes on
/// Burst-Noise Channels", 1963.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GilbertElliott {
    /// From good to bad.
    pub worsens: Probability,
    /// From bad to good.
    pub recovers: Probability,
    /// Loss in the good state, zero in Gilbert's model.
    pub loss_in_good: Probability,
    /// Loss in the bad state.
    pub loss_in_bad: Probability,
}

impl GilbertElliott {
    /// The share lost in the long run; `None` when the state never changes.
    #[must_use]
    pub fn mean_loss(&self) -> Option<f64> {
        let (worsens, recovers) = (self.worsens.fraction(), self.recovers.fraction());
        let changes = worsens + recovers;
        (changes > 0.0).then(|| {
            let (good, bad) = (recovers / changes, worsens / changes);
            good * self.loss_in_good.fraction() + bad * self.loss_in_bad.fraction()
        })
    }
}

/// Loses frames by a model.
#[derive(Debug)]
pub struct Loss {
    model: LossModel,
    bad: bool,
    dice: Dice,
    counters: Counters,
}

impl Loss {
    /// Loses by `model`.
    #[must_use]
    pub fn new(model: LossModel, dice: Dice) -> Self {
        Self {
            model,
            bad: false,
            dice,
            counters: Counters::default(),
        }
    }

    fn loses(&mut self) -> bool {
        match &self.model {
            LossModel::Independent(probability) => self.dice.happens(*probability),
            LossModel::Bursts(channel) => {
                let changes = if self.bad {
                    channel.recovers
                } else {
                    channel.worsens
                };
                self.bad ^= self.dice.happens(changes);
                self.dice.happens(if self.bad {
                    channel.loss_in_bad
                } else {
                    channel.loss_in_good
                })
            }
            LossModel::At(places) => places.contains(&(self.counters.offered.frames)),
        }
    }
}

impl Cell for Loss {
    fn kind(&self) -> &'static str {
        "loss"
    }

    fn offer(&mut self, now: Moment, frame: Frame, out: &mut Vec<Delivery>) {
        let loses = self.loses();
        self.counters.offered.count(&frame);
        if loses {
            self.counters.drop(&frame, DropReason::Loss);
        } else {
            self.counters.delivered.count(&frame);
            out.push(Delivery { at: now, frame });
        }
    }

    fn counters(&self) -> Counters {
        self.counters.clone()
    }

    fn set(&mut self, _now: Moment, setting: Setting) -> Result<bool, LinkError> {
        let Setting::Loss(probability) = setting else {
            return Ok(false);
        };
        self.model = LossModel::Independent(probability);
        Ok(true)
    }
}
