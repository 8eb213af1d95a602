//! Links: names, ends, duplex mode.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use super::half_duplex::{check_half_duplex, check_readiness};
use super::impairments::impairments;
use super::interfaces::InterfaceNames;
use super::limits::check_name;
use crate::error::{Location, Result, TopologyError};
use crate::file::{DuplexFile, LateCollision, LinkFile, SegmentationFile, TopologyFile};
use crate::link::{Duplex, Endpoint, Link, Readiness, StationDuplex};
use crate::node::{Node, NodeRole};

const MAX_LINKS: usize = 512;
const MTU_RANGE: RangeInclusive<u32> = 68..=65_521;

/// The links of `file` between `nodes`.
pub(super) fn links(file: &TopologyFile, nodes: &[Node]) -> Result<Vec<Link>> {
    if file.link.len() > MAX_LINKS {
        return Err(TopologyError::new(
            &Location::element("link", MAX_LINKS),
            format!("{} links are more than {MAX_LINKS}", file.link.len()),
            "use fewer links",
        ));
    }
    let mut interfaces = InterfaceNames::new(nodes.len());
    let mut links: Vec<Link> = Vec::with_capacity(file.link.len());
    let mut names = BTreeSet::new();
    for (index, written) in file.link.iter().enumerate() {
        let at = Location::element("link", index);
        let mut link = link(written, nodes, &mut interfaces, &at)?;
        if let Some(name) = &written.name {
            check_name(name, &at.key("name"))?;
            if !names.insert(name.clone()) {
                return Err(TopologyError::new(
                    &at.key("name"),
                    format!("{name:?} is the name of two links"),
                    "rename one",
                ));
            }
        } else {
            let base = link.name.clone();
            for number in 2.. {
                if names.insert(link.name.clone()) {
                    break;
                }
                link.name = format!("{base}-{number}");
            }
        }
        links.push(link);
    }
    Ok(links)
}

fn link(
    written: &LinkFile,
    nodes: &[Node],
    interfaces: &mut InterfaceNames,
    at: &Location,
) -> Result<Link> {
    let ends = endpoints(written, nodes, interfaces, at)?;
    let mtu = written.mtu.unwrap_or(1500);
    if !MTU_RANGE.contains(&mtu) {
        return Err(TopologyError::new(
            &at.key("mtu"),
            format!("an MTU of {mtu} bytes is out of range"),
            format!("choose {} to {}", MTU_RANGE.start(), MTU_RANGE.end()),
        ));
    }
    let name = written
        .name
        .clone()
        .unwrap_or_else(|| written.between.join("-"));
    let duplex = duplex(written, &ends, nodes, at)?;
    let hub = ends.iter().find_map(|end| match nodes[end.node].role {
        NodeRole::Hub(rate) => Some(rate),
        _ => None,
    });
    let direction = |own, key| impairments(written, own, hub, mtu, at, &at.key(key));
    let directions = [
        direction(written.forward.as_ref(), "forward")?,
        direction(written.backward.as_ref(), "backward")?,
    ];
    if duplex != Duplex::Full {
        check_half_duplex(&name, &directions, hub, at)?;
    }
    let is_full = duplex == Duplex::Full;
    if written.segmentation == Some(SegmentationFile::On) && !is_full {
        return Err(TopologyError::new(
            &at.key("segmentation"),
            format!("half-duplex link {name} carries single frames"),
            "leave segmentation out",
        ));
    }
    Ok(Link {
        name,
        ends,
        directions,
        duplex,
        mtu,
        segmentation: is_full && written.segmentation != Some(SegmentationFile::Off),
        driver: written.driver.unwrap_or_default(),
    })
}

fn endpoints(
    written: &LinkFile,
    nodes: &[Node],
    interfaces: &mut InterfaceNames,
    at: &Location,
) -> Result<[Endpoint; 2]> {
    let mut endpoint = |end: usize| {
        let name = &written.between[end];
        let Some(node) = nodes.iter().position(|node| node.name == *name) else {
            let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
            return Err(TopologyError::new(
                &at.key("between"),
                format!("there is no node {name:?}"),
                format!("choose one of {}", names.join(", ")),
            ));
        };
        let requested = written.devices.as_ref().map(|devices| &devices[end]);
        let device = interfaces.take(node, nodes, requested, &at.key("devices"))?;
        Ok(Endpoint { node, device })
    };
    let ends = [endpoint(0)?, endpoint(1)?];
    if ends[0].node == ends[1].node {
        return Err(TopologyError::new(
            &at.key("between"),
            format!("{:?} is linked to itself", written.between[0]),
            "link two different nodes",
        ));
    }
    Ok(ends)
}

fn duplex(
    written: &LinkFile,
    ends: &[Endpoint; 2],
    nodes: &[Node],
    at: &Location,
) -> Result<Duplex> {
    use StationDuplex::{Full, Half};
    let hubs = ends
        .iter()
        .filter(|end| matches!(nodes[end.node].role, NodeRole::Hub(_)))
        .count();
    if hubs == 2 {
        return Err(TopologyError::new(
            &at.key("between"),
            "two hubs are linked",
            "make them one hub, or put a switch between",
        ));
    }
    let default = if hubs > 0 {
        DuplexFile::Half
    } else {
        DuplexFile::Full
    };
    let stations = ends.each_ref().map(|end| end.node);
    let ends = match written.duplex.unwrap_or(default) {
        DuplexFile::Full => [Full, Full],
        DuplexFile::Half => [Half, Half],
        DuplexFile::HalfFull => [Half, Full],
        DuplexFile::FullHalf => [Full, Half],
    };
    if hubs > 0 && ends != [Half, Half] {
        return Err(TopologyError::new(
            &at.key("duplex"),
            "a hub is half duplex",
            "leave duplex out, or make it a switch",
        ));
    }
    if let Some(readiness) = written.readiness {
        check_readiness(readiness, &at.key("readiness"))?;
    }
    if ends == [Full, Full] {
        return Ok(Duplex::Full);
    }
    Ok(Duplex::Half {
        ends,
        late_collision: written.late_collision.unwrap_or(LateCollision::Drop),
        readiness: stations.map(|node| match written.readiness {
            Some(readiness) if nodes[node].has_addresses() => Readiness {
                constant_bits: readiness.constant,
                random_bits: readiness.random,
            },
            _ => Readiness::default(),
        }),
    })
}
