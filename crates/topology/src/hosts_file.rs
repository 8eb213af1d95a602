//! Name resolution between the hosts of a topology.

use std::net::IpAddr;

use crate::topology::Topology;

impl Topology {
    /// The content of a hosts(5) file: every host and router by its name, and by name and interface.
    #[must_use]
    pub fn hosts_file(&self) -> String {
        let mut lines =
            String::from("127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n");
        for (number, node) in self.nodes.iter().enumerate() {
            for (position, at) in self.attachments(number).enumerate() {
                let Some((_, v4, v6)) = self.addresses(at) else {
                    continue;
                };
                let device = &self.links[at.link].ends[at.end].device;
                let name = &node.name;
                let names = if position == 0 {
                    format!("{name} {name}-{device}")
                } else {
                    format!("{name}-{device}")
                };
                for address in [Some(IpAddr::V4(v4)), v6.map(IpAddr::V6)]
                    .into_iter()
                    .flatten()
                {
                    lines.push_str(&format!("{address}\t{names}\n"));
                }
            }
        }
        lines
    }
}
