//! The connections of one client that belong together: their sums are shown.

use caudal_core::plan::Transport;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

/// The time in which the connections of a group arrive, ns.
const GROUP_NS: u64 = 10_000_000_000;
/// Maximum number of connections of a group.
const MAX_MEMBERS: u32 = 4096;

/// A group of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GroupMembership {
    /// The number of the group.
    pub(super) group: u64,
    /// Its connections.
    pub(super) members: u32,
}

struct OpenGroup {
    membership: GroupMembership,
    joined: u32,
    since_ns: u64,
}

#[derive(Default)]
struct Groups {
    last: u64,
    open: HashMap<(IpAddr, Transport), OpenGroup>,
}

impl Groups {
    fn next(&mut self, members: u32) -> GroupMembership {
        self.last += 1;
        GroupMembership {
            group: self.last,
            members,
        }
    }
}

/// The groups whose connections are still arriving.
#[derive(Default)]
pub(super) struct SessionGroups(Mutex<Groups>);

impl SessionGroups {
    /// The group of a connection that arrived at `now_ns`: clients announce how many connections they make.
    pub(super) fn join(
        &self,
        address: IpAddr,
        transport: Transport,
        members: u32,
        now_ns: u64,
    ) -> GroupMembership {
        let mut groups = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !(2..=MAX_MEMBERS).contains(&members) {
            return groups.next(1);
        }
        groups.open.retain(|_, group| {
            group.joined < group.membership.members && now_ns - group.since_ns < GROUP_NS
        });
        let key = (address, transport);
        if !groups.open.contains_key(&key) {
            let group = OpenGroup {
                membership: groups.next(members),
                joined: 0,
                since_ns: now_ns,
            };
            groups.open.insert(key, group);
        }
        match groups.open.get_mut(&key) {
            Some(group) => {
                group.joined += 1;
                group.membership
            }
            None => groups.next(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_of_one_client_form_a_group_until_all_have_arrived() {
        let groups = SessionGroups::default();
        let join = |host: u8, members, now_ns| {
            let address = IpAddr::from([192, 0, 2, host]);
            groups.join(address, Transport::Tcp, members, now_ns).group
        };
        let first = join(1, 2, 0);
        assert_eq!(join(1, 2, 1), first);
        let second = join(1, 2, 2);
        assert_ne!(second, first, "the first has all its connections");
        assert_ne!(join(2, 2, 3), second, "another client");
        assert_ne!(join(1, 2, GROUP_NS + 2), second, "it came too late");
        assert_ne!(join(1, 1, 4), join(1, 1, 4), "no group");
    }
}
