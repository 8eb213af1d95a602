//! The way from one host to another, link by link.

use std::collections::VecDeque;

use super::{Course, Duplex, Role, Topology};

/// A link on the way, and the end it is entered at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hop {
    /// The link, by its number.
    pub link: usize,
    /// The end it is entered at, 0 or 1.
    pub from: usize,
}

impl Topology {
    /// The course that a hop takes.
    #[must_use]
    pub fn course(&self, hop: Hop) -> &Course {
        &self.links[hop.link].courses[hop.from]
    }

    /// The node a hop leads to.
    #[must_use]
    pub fn behind(&self, hop: Hop) -> usize {
        self.links[hop.link].ends[1 - hop.from].node
    }

    /// Whether a hop leads over a medium on which one sends at a time.
    #[must_use]
    pub fn is_half_duplex(&self, hop: Hop) -> bool {
        self.links[hop.link].duplex != Duplex::Full
    }

    /// The links from one host or router to the first address of another, over the fewest routers; of equally near ones
    /// the first. `None` when there is no way, and empty from a node to itself.
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
        // No way passes a node twice.
        for _ in 0..=self.nodes.len() {
            if at == to {
                return Some(path);
            }
            let (segment, end) = goal?;
            let own = self.segments[segment]
                .members
                .iter()
                .find(|member| self.links[member.0].ends[member.1].node == at);
            let (leave, reach) = match own {
                Some(own) => (*own, end),
                None => {
                    let route = routes.get(at)?.iter().find(|it| it.segment == segment)?;
                    let hop = route.hops.first()?;
                    let near = self.segments.get(segment_of(hop.from)?)?;
                    let position =
                        (0..near.members.len()).find(|at| near.address4(*at) == hop.to.0)?;
                    (hop.from, near.members[position])
                }
            };
            path.extend(self.within(leave, reach)?);
            at = self.links[reach.0].ends[reach.1].node;
        }
        None
    }

    /// The links from one end of a segment to another, through its switches and hubs.
    fn within(&self, leave: (usize, usize), reach: (usize, usize)) -> Option<Vec<Hop>> {
        let first = Hop {
            link: leave.0,
            from: leave.1,
        };
        // How each link was come to.
        let mut before: Vec<Option<Option<Hop>>> = vec![None; self.links.len()];
        before[first.link] = Some(None);
        let mut frontier = VecDeque::from([first]);
        while let Some(hop) = frontier.pop_front() {
            if (hop.link, 1 - hop.from) == reach {
                let mut path = vec![hop];
                while let Some(Some(Some(earlier))) = path.last().map(|last| before[last.link]) {
                    path.push(earlier);
                }
                path.reverse();
                return Some(path);
            }
            let node = self.behind(hop);
            if !matches!(self.nodes[node].role, Role::Switch(_) | Role::Hub(_)) {
                continue;
            }
            for (link, from) in self.attachments(node) {
                if before[link].is_none() {
                    before[link] = Some(Some(hop));
                    frontier.push_back(Hop { link, from });
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::{PRESETS, Preset, TopologyFile};
    use super::*;

    fn names(topology: &Topology, from: &str, to: &str) -> Vec<String> {
        let node = |name| topology.node(name).unwrap();
        let path = topology.path(node(from), node(to)).unwrap();
        path.iter()
            .map(|hop| format!("{}/{}", topology.links[hop.link].name, hop.from))
            .collect()
    }

    #[test]
    fn a_way_leads_through_routers_switches_and_hubs() {
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
    fn every_host_of_every_preset_has_a_way_to_every_other_that_hangs_together() {
        for preset in PRESETS.iter().filter_map(|it| Preset::by_name(it.name)) {
            let topology = Topology::resolve(&preset.file(None).unwrap()).unwrap();
            let hosts = (0..topology.nodes.len()).filter(|n| topology.nodes[*n].has_addresses());
            for from in hosts.clone() {
                for to in hosts.clone() {
                    let mut at = from;
                    for hop in topology.path(from, to).unwrap() {
                        assert_eq!(topology.links[hop.link].ends[hop.from].node, at);
                        at = topology.behind(hop);
                    }
                    assert_eq!(at, to, "{}", preset.name);
                }
            }
        }
    }
}
