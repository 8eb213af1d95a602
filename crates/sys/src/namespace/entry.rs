//! Processes that enter namespaces.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;

use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_bind, mount_change};
use rustix::system::sethostname;
use rustix::thread::{LinkNameSpaceType, UnshareFlags};

use super::enter::{enter, enter_new};
use super::network::NetworkNamespace;
use crate::process::set_parent_death_signal;

/// The namespaces that a process enters to be on a host: its network, its host name and its `/etc/hosts`.
#[derive(Debug, Clone)]
pub struct NamespaceEntry {
    user: Option<Arc<OwnedFd>>,
    network: NetworkNamespace,
    name: CString,
    hosts_file: CString,
    die_with_parent: bool,
}

impl NamespaceEntry {
    /// An entry to `network` on a host called `name` that resolves the names of others by the file at `hosts_file`.
    ///
    /// # Errors
    /// When a text has a zero byte in it.
    pub fn new(network: NetworkNamespace, name: &str, hosts_file: &str) -> io::Result<Self> {
        Ok(Self {
            user: None,
            network,
            name: CString::new(name)?,
            hosts_file: CString::new(hosts_file)?,
            die_with_parent: false,
        })
    }

    /// The same entry from outside of the user namespace to which `path`, such as `/proc/7/ns/user`, refers.
    ///
    /// # Errors
    /// When there is no such file, or it may not be opened.
    pub fn through_user_namespace(mut self, path: &str) -> io::Result<Self> {
        let theirs = File::open(path)?;
        let own = File::open("/proc/self/ns/user")?;
        let id = |file: &File| {
            file.metadata()
                .map(|metadata| (metadata.dev(), metadata.ino()))
        };
        if id(&theirs)? != id(&own)? {
            self.user = Some(Arc::new(theirs.into()));
        }
        Ok(self)
    }

    /// The same entry for a process that is killed when the thread that starts it ends.
    #[must_use]
    pub fn dying_with_parent(mut self) -> Self {
        self.die_with_parent = true;
        self
    }

    /// Arranges that the process of `command` enters before it executes its program.
    pub fn apply<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        let entry = self.clone();
        // SAFETY: between fork and exec only system calls are made, on memory that was allocated before.
        unsafe { command.pre_exec(move || entry.enter()) }
    }

    /// Enters with the calling process, which must have one thread only.
    fn enter(&self) -> io::Result<()> {
        if let Some(user) = &self.user {
            enter(user.as_fd(), LinkNameSpaceType::User)?;
        }
        enter(self.network.as_fd(), LinkNameSpaceType::Network)?;
        enter_new(UnshareFlags::NEWNS | UnshareFlags::NEWUTS)?;
        sethostname(self.name.to_bytes())?;
        let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
        mount_change(c"/", private)?;
        // A host without its own names or its own view of devices is still a host.
        let _ = mount_bind(self.hosts_file.as_c_str(), c"/etc/hosts");
        let _ = mount(c"sysfs", c"/sys", c"sysfs", MountFlags::empty(), None);
        // Last, because a change of credentials resets it: prctl(2), `PR_SET_PDEATHSIG`.
        if self.die_with_parent {
            set_parent_death_signal()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_with_a_zero_byte_are_refused() {
        let own = NetworkNamespace::of_this_thread().unwrap();
        assert!(NamespaceEntry::new(own, "a\0b", "/x").is_err());
    }
}
