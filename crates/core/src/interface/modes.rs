//! The modes that an end of a link advertises.

use crate::text::ExternalText;
use schemars::JsonSchema;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

/// The names of link modes, as `100baseT/Half`: those of ethtool(8), which are the kernel's.
///
/// There are at most [`Self::MAX_MODES`], none longer than [`Self::MAX_BYTES`]: a document with more is refused while it is read, since a
/// peer may have written it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(transparent)]
#[schemars(transparent, inline)]
pub struct LinkModes(#[schemars(length(max = 128))] Vec<ExternalText>);

impl LinkModes {
    /// Maximum number of modes. The kernel knew 121 in 2025, of which an interface has a few.
    pub const MAX_MODES: usize = 128;
    /// Maximum length of a name, bytes. Source: `ETH_GSTRING_LEN`, include/uapi/linux/ethtool.h.
    pub const MAX_BYTES: usize = 32;

    /// The modes among what an end advertises: ports, flow control and error correction are no modes. What is beyond the limits is left
    /// out.
    pub fn new<'a>(advertised: impl IntoIterator<Item = &'a str>) -> Self {
        let modes = advertised
            .into_iter()
            .filter(|name| duplex_suffix(name).is_some() && name.len() <= Self::MAX_BYTES)
            .take(Self::MAX_MODES)
            .map(ExternalText::from);
        Self(modes.collect())
    }

    /// The names.
    #[must_use]
    pub fn names(&self) -> &[ExternalText] {
        &self.0
    }

    /// `true` when there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The speeds of the full-duplex modes by their names, Mbit/s.
    pub fn full_duplex_mbps(&self) -> impl Iterator<Item = u32> {
        self.mbps_of("Full")
    }

    /// The speeds of the half-duplex modes by their names, Mbit/s.
    pub fn half_duplex_mbps(&self) -> impl Iterator<Item = u32> {
        self.mbps_of("Half")
    }

    fn mbps_of(&self, suffix: &'static str) -> impl Iterator<Item = u32> {
        let modes = self.0.iter().map(ExternalText::as_received);
        let modes = modes.filter(move |name| duplex_suffix(name) == Some(suffix));
        modes.filter_map(|name| {
            let end = name.find(|c: char| !c.is_ascii_digit())?;
            name.get(..end)?.parse().ok()
        })
    }
}

/// The duplex at the end of the name of a mode, `Full` or `Half`; `None` for other names.
fn duplex_suffix(name: &str) -> Option<&str> {
    let (_, suffix) = name.rsplit_once('/')?;
    ["Full", "Half"].contains(&suffix).then_some(suffix)
}

impl<'de> Deserialize<'de> for LinkModes {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_seq(ModesVisitor).map(Self)
    }
}

/// Reads names up to the limits.
struct ModesVisitor;

impl<'de> Visitor<'de> for ModesVisitor {
    type Value = Vec<ExternalText>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at most {} names of link modes", LinkModes::MAX_MODES)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut names: A) -> Result<Self::Value, A::Error> {
        let mut modes = Vec::new();
        while let Some(name) = names.next_element::<ExternalText>()? {
            if modes.len() == LinkModes::MAX_MODES {
                return Err(Error::invalid_length(modes.len() + 1, &self));
            }
            let length = name.as_received().len();
            if length > LinkModes::MAX_BYTES {
                return Err(Error::custom(format_args!(
                    "the name of a link mode has {length} bytes, and at most {} are allowed",
                    LinkModes::MAX_BYTES
                )));
            }
            modes.push(name);
        }
        Ok(modes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_told_from_ports_and_have_a_speed_and_a_duplex() {
        let advertised = [
            "10baseT/Half",
            "Autoneg",
            "TP",
            "100baseT/Full",
            "Asym_Pause",
            "10000baseR_FEC",
            "1000baseKX/Full",
            "99999999999baseT/Full",
        ];
        let modes = LinkModes::new(advertised);
        assert_eq!(modes.names().len(), 4);
        let full: Vec<u32> = modes.full_duplex_mbps().collect();
        assert_eq!(full, [100, 1000]);
        assert_eq!(modes.half_duplex_mbps().collect::<Vec<u32>>(), [10]);
        assert!(LinkModes::new(["MII"]).is_empty());
    }

    #[test]
    fn more_or_longer_modes_than_allowed_are_left_out_here_and_refused_from_a_peer() {
        let long = format!("100base{}/Half", "T".repeat(32));
        let many = vec!["100baseT/Half"; 200];
        let modes = LinkModes::new(many.iter().copied().chain([&*long]));
        assert_eq!(modes.names().len(), LinkModes::MAX_MODES);
        let read = |document: &str| serde_json::from_str::<LinkModes>(document);
        let document = serde_json::to_string(&modes).unwrap();
        assert_eq!(read(&document).unwrap(), modes);
        for names in [serde_json::json!(many), serde_json::json!([long])] {
            let error = read(&names.to_string()).unwrap_err().to_string();
            assert!(error.contains("at most"), "{error}");
        }
        assert!(read("[1]").is_err() && read("\"100baseT/Half\"").is_err());
    }

    #[test]
    fn what_a_peer_calls_a_mode_does_not_steer_a_terminal() {
        let modes: LinkModes = serde_json::from_str(r#"["\u001b[2J/Full", "é/", ""]"#).unwrap();
        assert_eq!(modes.names()[0].to_string(), "\\u001b[2J/Full");
        assert_eq!(modes.full_duplex_mbps().count(), 0);
    }
}
