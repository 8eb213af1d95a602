//! The path from one host to another, link by link.

use std::collections::VecDeque;

use crate::impairments::Impairments;
use crate::link::{Duplex, LinkEnd};
use crate::node::NodeRole;
use crate::topology::Topology;

/// A link on a path, and the end at which the path enters it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hop {
    /// The link's number.
    pub link: usize,
    /// The end at which it is entered, 0 or 1.
    pub from: usize,
}

impl Hop {
    /// The hop that enters a link at `at`.
    #[must_use]
    pub const fn entering(at: LinkEnd) -> Self {
        Self {
            link: at.link,
            from: at.end,
        }
    }

    /// The end at which the link is left.
    #[must_use]
    pub const fn exit(self) -> LinkEnd {
        LinkEnd::new(self.link, 1 - self.from)
    }
}

impl Topology {
    /// The impairments in the direction of a hop.
    #[must_use]
    pub fn impairments(&self, hop: Hop) -> &Impairments {
        &self.links[hop.link].directions[hop.from]
    }

    /// The node a hop leads to.
    #[must_use]
    pub fn node_after(&self, hop: Hop) -> usize {
        self.node_at(hop.exit())
    }

    /// `true` when a hop crosses a half-duplex link.
    #[must_use]
    pub fn is_half_duplex(&self, hop: Hop) -> bool {
        self.links[hop.link].duplex != Duplex::Full
    }

    /// The links from one host or router to the first address of another, over the fewest routers.
    ///
    /// Of paths of equal length the first is taken. `None` when there is no path; empty from a node to itself.
    #[must_use]
    pub fn path(&self, from: usize, to: usize) -> Option<Vec<Hop>> {
        let mut path = Vec::new();
        let mut at = from;
        let segment_of = |end| {
            let mut all = self.segments.iter();
            all.position(|segment| segment.members.contains(&end))
        };
        let goal = self.attachments(to).find_map(|end| {
            let segment = segment_of(end)?;
            Some((segment, end))
        });
        let routes = self.routes();
        // A path passes no node twice.
        for _ in 0..=self.nodes.len() {
            if at == to {
                return Some(path);
            }
            let (segment, end) = goal?;
            let own = self.segments[segment]
                .members
                .iter()
                .find(|member| self.node_at(**member) == at);
            let (exit, entry) = match own {
                Some(own) => (*own, end),
                None => {
                    let route = routes.get(at)?.iter().find(|it| it.segment == segment)?;
                    let hop = route.next_hops.first()?;
                    let near = self.segments.get(segment_of(hop.via)?)?;
                    let position =
                        (0..near.members.len()).find(|at| near.address4(*at) == hop.v4)?;
                    (hop.via, near.members[position])
                }
            };
            path.extend(self.path_in_segment(exit, entry)?);
            at = self.node_at(entry);
        }
        None
    }

    /// The links from one end of a segment to another, through its switches and hubs.
    fn path_in_segment(&self, from: LinkEnd, to: LinkEnd) -> Option<Vec<Hop>> {
        let first = Hop::entering(from);
        // The hop before each link that was reached.
        let mut before: Vec<Option<Option<Hop>>> = vec![None; self.links.len()];
        before[first.link] = Some(None);
        let mut frontier = VecDeque::from([first]);
        while let Some(hop) = frontier.pop_front() {
            if hop.exit() == to {
                let mut path = vec![hop];
                while let Some(Some(Some(earlier))) = path.last().map(|last| before[last.link]) {
                    path.push(earlier);
                }
                path.reverse();
                return Some(path);
            }
            let node = self.node_after(hop);
            if !matches!(
                self.nodes[node].role,
                NodeRole::Switch(_) | NodeRole::Hub(_)
            ) {
                continue;
            }
            for at in self.attachments(node) {
                if before[at.link].is_none() {
                    before[at.link] = Some(Some(hop));
                    frontier.push_back(Hop::entering(at));
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::TopologyFile;
    use crate::preset::{PRESETS, Preset};

    fn names(topology: &Topology, from: &str, to: &str) -> Vec<String> {
        let node = |name| topology.node(name).unwrap();
        let path = topology.path(node(from), node(to)).unwrap();
        path.iter()
            .map(|hop| format!("{}/{}", topology.links[hop.link].name, hop.from))
            .collect()
    }

    #[test]
    fn a_path_leads_through_routers_switches_and_hubs() {
        let text = "host = [{ name = \"a\" }, { name = \"b\" }]\nrouter = [{ name = \"r\" }]\nswitch = [{ name = \"s\" }, { name = \"t\" }]\nhub = [{ name = \"u\" }]\nlink = [{ between = [\"a\", \"s\"] }, { between = [\"t\", \"s\"] }, { between = [\"t\", \"r\"] }, { between = [\"b\", \"u\"] }, { between = [\"u\", \"r\"] }]";
        let file: TopologyFile = toml::from_str(text).unwrap();
        let topology = Topology::resolve(&file).unwrap();
        assert_eq!(
            names(&topology, "a", "b"),
            ["a-s/0", "t-s/1", "t-r/0", "u-r/1", "b-u/1"]
        );
        assert_eq!(
            names(&topology, "b", "a"),
            ["b-u/0", "u-r/0", "t-r/1", "t-s/0", "a-s/1"]
        );
        assert!(names(&topology, "a", "a").is_empty());
    }

    #[test]
    fn every_host_of_every_preset_has_a_contiguous_path_to_every_other() {
        for preset in PRESETS.iter().filter_map(|it| Preset::by_name(it.name)) {
            let topology = Topology::resolve(&preset.file(None).unwrap()).unwrap();
            let hosts = (0..topology.nodes.len()).filter(|n| topology.nodes[*n].has_addresses());
            for from in hosts.clone() {
                for to in hosts.clone() {
                    let mut at = from;
                    for hop in topology.path(from, to).unwrap() {
                        assert_eq!(topology.links[hop.link].ends[hop.from].node, at);
                        at = topology.node_after(hop);
                    }
                    assert_eq!(at, to, "{}", preset.name);
                }
            }
        }
    }
}
