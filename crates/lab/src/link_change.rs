//! Changes of links while a lab is up.

use std::io;
use std::time::Duration;

use caudal_core::units::BitRate;
use caudal_link::probability::Probability;
use caudal_link::stage::Setting;
use caudal_topology::{Driver, Duplex, LinkEnd};

use crate::control::LinkChange;
use crate::error::LabError;
use crate::kernel_link;
use crate::lab::Lab;

impl Lab {
    /// Changes a link while frames flow.
    ///
    /// # Errors
    /// When there is no such link, its driver cannot change the setting, or it cannot have the value.
    pub fn set(&mut self, change: &LinkChange) -> Result<(), LabError> {
        let Some(link) = self.topology.link(&change.link) else {
            let links = self.topology.links.iter();
            let names: Vec<&str> = links.map(|link| link.name.as_str()).collect();
            return Err(LabError::invalid(
                format!("there is no link {:?}", change.link),
                format!("choose one of {}", names.join(", ")),
            ));
        };
        let ends = change.end.map_or(vec![0, 1], |end| vec![end.min(1)]);
        for (name, setting) in settings(change)? {
            for end in &ends {
                let from = LinkEnd::new(link, *end);
                if !self.set_direction(from, setting)? {
                    return Err(LabError::invalid(
                        format!("link {} has no {name} that can be changed", change.link),
                        "give it one in the topology, or driver = \"emulated\"; half duplex keeps its rate",
                    ));
                }
                let changed = self.changed.entry(from).or_default();
                match setting {
                    Setting::Rate(rate) => changed.rate = Some(rate),
                    Setting::Delay(delay) => changed.delay = Some(delay),
                    Setting::Loss(loss) => changed.loss = Some(loss),
                }
                self.write_aliases(from.link);
            }
        }
        if let Some(is_on) = change.segmentation {
            self.change_segmentation(link, is_on)?;
        }
        Ok(())
    }

    fn change_segmentation(&mut self, link: usize, is_on: bool) -> Result<(), LabError> {
        let name = &self.topology.links[link].name;
        if self.topology.links[link].duplex != Duplex::Full {
            return Err(LabError::invalid(
                format!("half-duplex link {name} carries single frames"),
                "leave segmentation out",
            ));
        }
        match self.set_segmentation(link, is_on) {
            Ok(()) => self.has_segmentation[link] = is_on,
            Err(cause) if cause.kind() == io::ErrorKind::Unsupported => {
                return Err(LabError::invalid(
                    format!("the segmentation of link {name} cannot be changed"),
                    "use ethtool -K on its interfaces: the kernel drives the link, or packet sockets replace TAP devices",
                ));
            }
            Err(cause) => return Err(LabError::kernel(format!("set link {name}"))(cause)),
        }
        Ok(())
    }

    /// Changes one direction; `false` when its driver cannot change the setting.
    fn set_direction(&self, from: LinkEnd, setting: Setting) -> Result<bool, LabError> {
        match (self.topology.driver(from.link), setting) {
            (Driver::Kernel, Setting::Rate(rate)) => self.set_kernel_rate(from, rate),
            (Driver::Kernel, _) => Ok(false),
            (Driver::Auto | Driver::Emulated, _) => {
                let Some(emulator) = &self.emulator else {
                    return Ok(false);
                };
                let changed = emulator.set(from, setting).ok_or_else(|| {
                    LabError::kernel("reach the emulator")(io::ErrorKind::BrokenPipe.into())
                })?;
                Ok(changed?)
            }
        }
    }

    fn set_kernel_rate(&self, from: LinkEnd, rate: BitRate) -> Result<bool, LabError> {
        const MIN_BPS: u64 = 8;
        let link = &self.topology.links[from.link];
        let bucket = kernel_link::bucket_at_rate(link, &link.directions[from.end], rate);
        let host = self.hosts[link.ends[from.end].node].as_ref();
        let (Some(bucket), Some(host)) = (bucket, host) else {
            return Ok(false);
        };
        let Some(interface) = host.interface(from) else {
            return Ok(false);
        };
        if rate.bps() < MIN_BPS {
            return Err(LabError::invalid(
                format!("a link at {rate} never delivers"),
                "give it a rate above zero",
            ));
        }
        host.netlink
            .set_token_bucket(interface.index, bucket)
            .map_err(LabError::kernel(format!("set link {}", link.name)))?;
        Ok(true)
    }
}

/// The settings of `change` by name.
fn settings(change: &LinkChange) -> Result<Vec<(&'static str, Setting)>, LabError> {
    let mut settings = Vec::new();
    if let Some(bps) = change.rate_bps {
        settings.push(("rate", Setting::Rate(BitRate::from_bps(bps))));
    }
    if let Some(ns) = change.delay_ns {
        settings.push(("delay", Setting::Delay(Duration::from_nanos(ns))));
    }
    if let Some(loss) = change.loss {
        settings.push(("loss", Setting::Loss(Probability::new(loss)?)));
    }
    Ok(settings)
}
