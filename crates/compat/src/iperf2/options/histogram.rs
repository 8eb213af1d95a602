//! The histograms of one-way times that `--histograms` asks for.

use super::values::invalid;
use crate::option_table::OptionArgument;
use caudal_foreign::iperf2::HistogramBins;
use std::time::Duration;

/// Maximum number of bins: those of the default.
const MAX_BINS: u32 = 10_000;

/// The histograms of one-way times that are shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HistogramOptions {
    /// The bins.
    pub bins: HistogramBins,
    /// The unit in which their width is shown.
    pub unit: BinUnit,
    /// The parts of the times, in percent, between which most of them lie.
    pub shown_percent: (f64, f64),
}

/// The unit of the width of bins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BinUnit {
    /// Milliseconds.
    Milliseconds,
    /// Microseconds.
    Microseconds,
}

impl Default for HistogramOptions {
    fn default() -> Self {
        Self {
            bins: HistogramBins {
                width: Duration::from_micros(100),
                count: MAX_BINS,
            },
            unit: BinUnit::Microseconds,
            shown_percent: (5.0, 95.0),
        }
    }
}

impl HistogramOptions {
    /// Reads `width[u|m][,bins[,lower,upper]]`: the width of a bin in milliseconds unless a `u` follows it.
    pub(super) fn parse(argument: &OptionArgument<'_>) -> Result<Self, String> {
        let expected =
            "WIDTH[u|m],BINS,LOWER,UPPER, such as 100u,10000,5,95 with at most 10000 bins";
        Self::from_text(argument.text).ok_or_else(|| invalid(argument, expected))
    }

    fn from_text(text: &str) -> Option<Self> {
        let mut options = Self::default();
        let mut parts = text.split(',');
        let width = parts.next()?;
        let number = width.trim_end_matches(['u', 'm']);
        let width_in_units: u32 = number.parse().ok().filter(|width| *width > 0)?;
        let width = match &width[number.len()..] {
            "" | "m" => {
                options.unit = BinUnit::Milliseconds;
                Duration::from_millis(u64::from(width_in_units))
            }
            "u" => Duration::from_micros(u64::from(width_in_units)),
            _ => return None,
        };
        options.bins.width = width;
        if let Some(count) = parts.next() {
            let count = count.parse().ok();
            options.bins.count = count.filter(|count| (1..=MAX_BINS).contains(count))?;
        }
        let mut percent = |default: f64| match parts.next() {
            Some(part) => part
                .parse()
                .ok()
                .filter(|part| (0.0..=100.0).contains(part)),
            None => Some(default),
        };
        let (lower, upper) = options.shown_percent;
        options.shown_percent = (percent(lower)?, percent(upper)?);
        (parts.next().is_none() && options.shown_percent.0 <= options.shown_percent.1)
            .then_some(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bins_are_those_of_the_argument() {
        let read = |text| HistogramOptions::from_text(text);
        let bins = |text| {
            let options = read(text).unwrap();
            (
                options.bins.width.as_micros(),
                options.bins.count,
                options.shown_percent,
            )
        };
        assert_eq!(bins("100u,50,10,90"), (100, 50, (10.0, 90.0)));
        assert_eq!(bins("1"), (1000, 10_000, (5.0, 95.0)));
        assert_eq!(bins("2m,7"), (2000, 7, (5.0, 95.0)));
        for wrong in [
            "",
            "0",
            "u",
            "1k",
            "1,0",
            "1,10001",
            "1,2,3,4,5",
            "1,2,90,10",
            "1,2,x",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
