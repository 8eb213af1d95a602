//! User namespaces.

use std::io;

use rustix::process::{getegid, geteuid};
use rustix::thread::UnshareFlags;

use super::enter::enter_new;

/// Moves this process, which must have one thread only, to a new user namespace in which it is root.
///
/// # Errors
/// [`io::ErrorKind::PermissionDenied`] where ordinary users may not have one; [`io::ErrorKind::InvalidInput`] with more
/// than one thread or without user namespaces.
pub fn enter_new_user_namespace() -> io::Result<()> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    enter_new(UnshareFlags::NEWUSER)?;
    // Without this a process without privileges may not write the group map, user_namespaces(7).
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("0 {user} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("0 {group} 1"))
}
