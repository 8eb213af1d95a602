//! Entering namespaces, existing ones and new ones.

use std::io;
use std::os::fd::BorrowedFd;

use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

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
