//! The link of a lab behind an interface, as the lab writes it into the interface's alias.

use crate::plan::Direction;
use crate::text::ExternalText;
use crate::units::BitRate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The beginning of the alias of a lab's interface.
const ALIAS: &str = "caudal lab";
/// Maximum length of an alias, bytes. Source: `IFALIASZ`, include/uapi/linux/if.h.
const MAX_ALIAS: usize = 255;

/// The link of a lab behind an interface of one of its hosts, and its rates.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LabLink {
    /// The identifier of the lab.
    pub lab: ExternalText,
    /// The number of the link in it.
    pub link: u32,
    /// The rate of frames that leave by the interface, bit/s; null when it is not constant, or without limit.
    pub out_bps: Option<u64>,
    /// The rate of frames that arrive by the interface, bit/s; null when it is not constant, or without limit.
    pub in_bps: Option<u64>,
}

impl LabLink {
    /// `true` when this is the same link as the one behind another interface.
    #[must_use]
    pub fn is_same_link(&self, other: &Self) -> bool {
        (&self.lab, self.link) == (&other.lab, other.link)
    }

    /// The rate of what a client behind this interface sends (up) or receives (down).
    #[must_use]
    pub fn rate(&self, direction: Direction) -> Option<BitRate> {
        match direction {
            Direction::Up => self.out_bps,
            Direction::Down => self.in_bps,
        }
        .map(BitRate::from_bps)
    }

    /// The alias of the interface; `None` when it would be longer than the kernel allows.
    #[must_use]
    pub fn to_alias(&self) -> Option<String> {
        let alias = self.to_string();
        (alias.len() <= MAX_ALIAS).then_some(alias)
    }
}

impl fmt::Display for LabLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = |bps: Option<u64>| bps.map_or_else(|| "none".to_owned(), |bps| bps.to_string());
        write!(
            f,
            "{ALIAS} {} link {} out {} in {}",
            self.lab.as_received(),
            self.link,
            rate(self.out_bps),
            rate(self.in_bps)
        )
    }
}

/// An alias that no lab has written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the alias is not that of a lab's interface")]
pub struct NotALabLink;

impl FromStr for LabLink {
    type Err = NotALabLink;

    fn from_str(alias: &str) -> Result<Self, NotALabLink> {
        let rate = |text: &str| match text {
            "none" => Ok(None),
            bps => bps.parse().map(Some).map_err(|_| NotALabLink),
        };
        let rest = alias.strip_prefix(ALIAS).ok_or(NotALabLink)?;
        let words: Vec<&str> = rest.split_ascii_whitespace().collect();
        let [lab, "link", link, "out", out, "in", r#in] = words[..] else {
            return Err(NotALabLink);
        };
        Ok(Self {
            lab: lab.into(),
            link: link.parse().map_err(|_| NotALabLink)?,
            out_bps: rate(out)?,
            in_bps: rate(r#in)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alias_is_read_as_it_was_written() {
        for (out_bps, in_bps) in [
            (Some(20_000_000), Some(5_000_000)),
            (None, Some(1)),
            (None, None),
        ] {
            let link = LabLink {
                lab: "a1b2".into(),
                link: 3,
                out_bps,
                in_bps,
            };
            let alias = link.to_alias().unwrap();
            assert_eq!(alias.parse(), Ok(link));
        }
    }

    #[test]
    fn other_aliases_are_no_lab_links() {
        for alias in [
            "",
            "uplink",
            "caudal lab",
            "caudal lab x link 1 out 5 in",
            "caudal lab x link -1 out 5 in 6",
            "caudal lab x link 1 out 5.5 in 6",
            "caudal lab x y link 1 out 5 in 6",
        ] {
            assert_eq!(alias.parse::<LabLink>(), Err(NotALabLink), "{alias}");
        }
        let long = LabLink {
            lab: "x".repeat(300).as_str().into(),
            ..LabLink::default()
        };
        assert_eq!(long.to_alias(), None);
    }
}
