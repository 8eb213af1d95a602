//! The network of a case.

use super::error::{ExperimentError, Result, element, top};
use super::filler::Filler;
use crate::file::TestbedFile;
use crate::scalar::Scalar;
use caudal_core::units::BitRate;
use caudal_topology::{Location, TopologyFile};

/// The network with the parameters filled in.
pub(super) fn fill_testbed(written: &TestbedFile, filler: &mut Filler<'_>) -> Result<TestbedFile> {
    let at = top("topology");
    let kinds = [
        written.preset.is_some(),
        written.file.is_some(),
        written.lab.is_some(),
        written.hosts.is_some(),
        written.loopback == Some(true),
    ];
    if kinds.iter().filter(|given| **given).count() != 1 {
        return Err(ExperimentError::new(
            at,
            "there is no network, or more than one",
            "give exactly one of preset, file, lab, hosts, and loopback = true",
        ));
    }
    let mut testbed = written.clone();
    testbed.preset = filler.optional(&at.key("preset"), written.preset.as_ref())?;
    testbed.file = filler.optional(&at.key("file"), written.file.as_ref())?;
    testbed.number = filler
        .integer(&at.key("number"), written.number.as_ref(), 1..=100)?
        .map(|number| Scalar::Integer(number as i64));
    for (index, change) in testbed.set.iter_mut().enumerate() {
        let at = element(&at.key("set"), index);
        *change = filler.text(&at, change)?;
        if !change.contains('=') {
            return Err(ExperimentError::new(
                at,
                format!("{change:?} is not a change"),
                "write it as bottleneck.rate=5M",
            ));
        }
    }
    if let Some(hosts) = &mut testbed.hosts {
        for (name, host) in hosts {
            *host = filler.text(&at.key("hosts").key(name), host)?;
        }
    }
    if let Some(lab) = &mut testbed.lab {
        fill_lab(lab, &at.key("lab"), filler)?;
    }
    let at = at.key("link_rate");
    testbed.link_rate = filler.optional(&at, written.link_rate.as_ref())?;
    if let Some(rate) = &testbed.link_rate
        && !rate.parse::<BitRate>().is_ok_and(|rate| rate.bps() > 0)
    {
        return Err(ExperimentError::new(
            at,
            format!("`link_rate` cannot be {rate:?}"),
            "write for example 100M",
        ));
    }
    Ok(testbed)
}

fn fill_lab(lab: &mut TopologyFile, at: &Location, filler: &mut Filler<'_>) -> Result<()> {
    for (key, nodes) in [("host", &mut lab.host), ("router", &mut lab.router)] {
        for (index, node) in nodes.iter_mut().enumerate() {
            let at = element(&at.key(key), index);
            node.congestion = filler.optional(&at.key("congestion"), node.congestion.as_ref())?;
            for (name, value) in &mut node.sysctl {
                *value = filler.text(&at.key("sysctl").key(name), value)?;
            }
        }
    }
    Ok(())
}
