//! The framing flags of the predictions.

use super::values;
use crate::exit::Failure;
use caudal_analysis::framing::{Framing, IpVersion};
use caudal_predict::question::Sweep;
use clap::Args;
use std::fmt;

/// The headers and options that surround the payload.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Framing")]
pub struct FramingArgs {
    /// The largest IP packet, 68 to 65535 bytes
    #[arg(long, value_name = "BYTES", default_value = "1500", value_parser = values::packet, allow_hyphen_values = true)]
    pub mtu: Sweep,
    /// IPv6 instead of IPv4
    #[arg(short = '6', long)]
    pub ipv6: bool,
    /// Frames with an IEEE 802.1Q tag
    #[arg(long)]
    pub vlan: bool,
    /// TCP without timestamps
    #[arg(long)]
    pub no_timestamps: bool,
    /// Number of SACK blocks in each TCP segment, 0 to 4
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=4), allow_negative_numbers = true)]
    pub sack: u8,
}

impl FramingArgs {
    /// The framing with an MTU.
    ///
    /// # Errors
    /// When the version of IP does not allow the MTU, or its headers leave no room for payload.
    pub(super) fn at_mtu(&self, mtu: f64) -> Result<Framing, Failure> {
        let (min, ip) = if self.ipv6 {
            (1280.0, IpVersion::V6)
        } else {
            (68.0, IpVersion::V4)
        };
        if !(min..=65_535.0).contains(&mtu) {
            return Err(Failure::usage(
                format!("--mtu {mtu:.0} is not a valid MTU for this version of IP"),
                format!("it must lie between {min:.0} and 65535"),
            ));
        }
        let framing = Framing {
            mtu: mtu as u32,
            ip,
            vlan: self.vlan,
            timestamps: !self.no_timestamps,
            sack_blocks: self.sack,
        };
        if framing.tcp_payload_per_frame() == 0 || framing.udp_payload_per_frame() == 0 {
            return Err(Failure::usage(
                format!("--mtu {mtu:.0} leaves no room for payload after the headers"),
                "give a larger one, or --no-timestamps",
            ));
        }
        Ok(framing)
    }
}

impl fmt::Display for FramingArgs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.ipv6 { "IPv6" } else { "IPv4" })?;
        if self.vlan {
            f.write_str(", VLAN tag")?;
        }
        f.write_str(if self.no_timestamps {
            ", no TCP timestamps"
        } else {
            ", TCP timestamps"
        })?;
        if self.sack > 0 {
            write!(f, ", {} SACK blocks", self.sack)?;
        }
        Ok(())
    }
}
