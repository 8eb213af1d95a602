//! Hours in which nothing is measured.

use jiff::civil::Time;
use std::str::FromStr;

/// A part of each day in which no test begins, in local time; one that ends before it begins goes past midnight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct QuietHours {
    from: Time,
    to: Time,
}

/// A text that is no such hours.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected two times of day such as 22:00-06:00")]
pub(super) struct QuietHoursError;

impl FromStr for QuietHours {
    type Err = QuietHoursError;

    fn from_str(text: &str) -> Result<Self, QuietHoursError> {
        let time = |text: &str| {
            let text = text.trim();
            let is_short = text.len() == 5 && text.as_bytes()[2] == b':';
            let time: Option<Time> = text.parse().ok();
            time.filter(|_| is_short).ok_or(QuietHoursError)
        };
        let (from, to) = text.split_once('-').ok_or(QuietHoursError)?;
        let (from, to) = (time(from)?, time(to)?);
        if from == to {
            return Err(QuietHoursError);
        }
        Ok(Self { from, to })
    }
}

impl QuietHours {
    /// `true` at this time of day.
    pub(super) fn contain(self, time: Time) -> bool {
        if self.from < self.to {
            self.from <= time && time < self.to
        } else {
            time >= self.from || time < self.to
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::time;

    #[test]
    fn hours_past_midnight_are_two_parts_of_a_day() {
        let hours: QuietHours = "22:00-06:30".parse().unwrap();
        for (hour, minute, is_quiet) in [
            (22, 0, true),
            (23, 59, true),
            (0, 0, true),
            (6, 29, true),
            (6, 30, false),
            (12, 0, false),
        ] {
            assert_eq!(hours.contain(time(hour, minute, 0, 0)), is_quiet);
        }
        let noon: QuietHours = "12:00-13:00".parse().unwrap();
        assert!(noon.contain(time(12, 30, 0, 0)) && !noon.contain(time(13, 0, 0, 0)));
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "22:00",
            "22-06",
            "22:00-22:00",
            "24:00-06:00",
            "1:00-2:00",
            "22:00-06:00:00",
        ] {
            assert_eq!(text.parse::<QuietHours>(), Err(QuietHoursError), "{text:?}");
        }
    }
}
