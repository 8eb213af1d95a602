//! Entering namespaces, existing ones and new ones.

use rustix::process::{getegid, geteuid};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};
use std::io;
use std::os::fd::BorrowedFd;

/// Moves the calling thread into the namespace of type `kind` that a descriptor refers to.
pub(super) fn enter(namespace: BorrowedFd<'_>, kind: LinkNameSpaceType) -> io::Result<()> {
    Ok(move_into_link_name_space(namespace, Some(kind))?)
}

/// Moves the calling thread into new namespaces of these types.
pub(super) fn enter_new(namespaces: UnshareFlags) -> io::Result<()> {
    debug_assert!(!namespaces.contains(UnshareFlags::FILES));
    // SAFETY: namespaces leave the table of open files alone, which is all that could invalidate descriptors.
    Ok(unsafe { unshare_unsafe(namespaces) }?)
}

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
