//! Several things may hold a rate back: the lowest of them is the prediction, and is named.

use caudal_core::prediction::{Prediction, Tolerance};
use caudal_core::quantity::{Unit, rate};
use caudal_core::units::BitRate;

/// What may hold a rate back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Term {
    /// The rate that was asked for.
    Asked,
    /// The link and its framing.
    Wire,
    /// The receiver's window over the round-trip time.
    Window,
    /// Loss, and what congestion control makes of it.
    Loss,
    /// The time slow start takes.
    SlowStart,
    /// A policer.
    Policer,
    /// What other flows leave.
    Sharing,
    /// Data and acknowledgements that take turns on one medium.
    HalfDuplex,
    /// A shaper.
    Shaper,
}

impl Term {
    /// The term as JSON writes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Asked => "asked",
            Self::Wire => "wire",
            Self::Window => "window",
            Self::Loss => "loss",
            Self::SlowStart => "slow_start",
            Self::Policer => "policer",
            Self::Sharing => "sharing",
            Self::HalfDuplex => "half_duplex",
            Self::Shaper => "shaper",
        }
    }

    /// The term in words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Asked => "the rate asked for",
            Self::Wire => "the wire",
            Self::Window => "the window",
            Self::Loss => "loss",
            Self::SlowStart => "slow start",
            Self::Policer => "the policer",
            Self::Sharing => "sharing",
            Self::HalfDuplex => "half duplex",
            Self::Shaper => "the shaper",
        }
    }
}

/// The most one thing allows.
#[derive(Debug, Clone, PartialEq)]
pub struct Ceiling {
    /// What holds the rate back.
    pub term: Term,
    /// The most it allows.
    pub rate: BitRate,
    /// How that was reckoned.
    pub why: String,
    /// What must hold for it.
    pub assumes: String,
    /// Where the formula is from.
    pub source: String,
    /// How far an observation may lie off when this one binds.
    pub tolerance: Tolerance,
}

/// All that applies to one rate.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ceilings(Vec<Ceiling>);

impl Ceilings {
    /// None yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds one.
    pub fn push(&mut self, ceiling: Ceiling) {
        self.0.push(ceiling);
    }

    /// Each of them, as they were added.
    #[must_use]
    pub fn all(&self) -> &[Ceiling] {
        &self.0
    }

    /// The lowest, which decides; of equals the first added. `None` when nothing applies.
    #[must_use]
    pub fn binding(&self) -> Option<&Ceiling> {
        self.0.iter().min_by_key(|ceiling| ceiling.rate)
    }

    /// The lowest as a prediction that names it; `None` when nothing applies.
    #[must_use]
    pub fn prediction(&self, name: &str, title: &str) -> Option<Prediction> {
        let least = self.binding()?;
        let compared: Vec<String> = self
            .0
            .iter()
            .map(|ceiling| format!("{} {}", ceiling.term.words(), rate(ceiling.rate)))
            .collect();
        let lowest = if self.0.len() > 1 {
            format!(
                "the smallest of: {}; so {} binds",
                compared.join(", "),
                least.term.words()
            )
        } else {
            format!("{} alone applies", least.term.words())
        };
        Some(
            Prediction::new(name, title, least.rate.as_f64(), Unit::BitPerSecond)
                .bound_by(least.term.name())
                .detail(format!("bound by {}", least.term.words()))
                .assumes(least.assumes.clone())
                .source(least.source.clone())
                .within(least.tolerance)
                .steps(
                    self.0
                        .iter()
                        .map(|ceiling| format!("{}: {}", ceiling.term.words(), ceiling.why)),
                )
                .step(lowest),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ceiling(term: Term, bps: u64) -> Ceiling {
        Ceiling {
            term,
            rate: BitRate::from_bps(bps),
            why: "for a test".to_owned(),
            assumes: String::new(),
            source: String::new(),
            tolerance: Tolerance::EXACT,
        }
    }

    #[test]
    fn the_lowest_binds_and_is_named() {
        let mut ceilings = Ceilings::new();
        assert_eq!(ceilings.prediction("goodput", "goodput"), None);
        ceilings.push(ceiling(Term::Wire, 94_148_000));
        ceilings.push(ceiling(Term::Window, 10_485_600));
        ceilings.push(ceiling(Term::Loss, 10_485_600));
        let prediction = ceilings.prediction("goodput", "goodput").unwrap();
        assert_eq!(prediction.value, 10_485_600.0);
        assert_eq!(prediction.binding.as_deref(), Some("window"));
        assert_eq!(prediction.explanation.len(), 4);
        assert_eq!(
            prediction.explanation[3],
            "the smallest of: the wire 94.15 Mbit/s, the window 10.49 Mbit/s, loss 10.49 Mbit/s; so the window binds"
        );
    }
}
