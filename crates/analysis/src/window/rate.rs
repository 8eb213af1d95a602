//! The rate of a path that its window is calculated for.

use crate::link::LinkRateSource;
use caudal_core::units::BitRate;
use caudal_core::window::PathRateSource;

impl From<LinkRateSource> for PathRateSource {
    fn from(source: LinkRateSource) -> Self {
        match source {
            LinkRateSource::Given => Self::Given,
            LinkRateSource::Lab => Self::Lab,
            LinkRateSource::Interface => Self::Interface,
        }
    }
}

/// The rate of a path, with its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathRate {
    /// The rate.
    pub rate: BitRate,
    /// Where it comes from.
    pub source: PathRateSource,
    /// `true` when the path may carry more: a rate that was measured while something else limited it.
    pub is_lower_bound: bool,
}

impl PathRate {
    /// The rate of a known link.
    #[must_use]
    pub fn of_link(rate: BitRate, source: LinkRateSource) -> Self {
        Self {
            rate,
            source: source.into(),
            is_lower_bound: false,
        }
    }
}
