//! How many episodes of each name a test had.

use super::episode::Episode;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::AddAssign;

/// The number of episodes by their names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EpisodeTally(BTreeMap<(&'static str, &'static str), usize>);

impl EpisodeTally {
    /// `true` where there were none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'e> FromIterator<&'e Episode> for EpisodeTally {
    fn from_iter<T: IntoIterator<Item = &'e Episode>>(episodes: T) -> Self {
        let mut tally = Self::default();
        for episode in episodes {
            *tally.0.entry(episode.kind.names()).or_default() += 1;
        }
        tally
    }
}

impl AddAssign for EpisodeTally {
    fn add_assign(&mut self, other: Self) {
        for (names, count) in other.0 {
            *self.0.entry(names).or_default() += count;
        }
    }
}

/// Such as "2 outages, 1 delay episode"; "none" where there were none.
impl fmt::Display for EpisodeTally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("none");
        }
        for (nth, ((one, several), count)) in self.0.iter().enumerate() {
            let name = if *count == 1 { one } else { several };
            let between = if nth > 0 { ", " } else { "" };
            write!(f, "{between}{count} {name}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::episode::EpisodeKind;

    #[test]
    fn episodes_are_counted_by_their_names() {
        let of = |kind| Episode {
            kind,
            from_s: 0.0,
            to_s: None,
            direction: None,
            evidence: String::new(),
        };
        let episodes = [
            of(EpisodeKind::Delay),
            of(EpisodeKind::PathSilent),
            of(EpisodeKind::DataSilent),
        ];
        let mut tally: EpisodeTally = episodes.iter().collect();
        assert_eq!(tally.to_string(), "1 delay episode, 2 outages");
        tally += episodes[..1].iter().collect();
        assert_eq!(tally.to_string(), "2 delay episodes, 2 outages");
        assert_eq!(EpisodeTally::default().to_string(), "none");
    }
}
