//! Network namespaces without names, and processes that enter them.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr;
use std::sync::Arc;

use crate::raw::number;

/// A network namespace, alive as long as this value, a copy of its descriptor, or a process in it.
#[derive(Debug, Clone)]
pub struct NetworkNamespace(Arc<OwnedFd>);

/// What tells a namespace from all others that are alive: device and inode.
pub type NamespaceId = (u64, u64);

impl NetworkNamespace {
    /// A new one with nothing in it but a loopback device that is down.
    ///
    /// # Errors
    /// [`io::ErrorKind::PermissionDenied`] without the capability `CAP_SYS_ADMIN`;
    /// [`io::ErrorKind::InvalidInput`] on a kernel without network namespaces; when there are too many.
    pub fn create() -> io::Result<Self> {
        in_thread(|| {
            // SAFETY: the call takes a number and moves only the calling thread, which ends here.
            number(unsafe { libc::unshare(libc::CLONE_NEWNET) })?;
            Self::of_this_thread()
        })
    }

    /// The one the calling thread is in.
    ///
    /// # Errors
    /// When `/proc` is not mounted.
    pub fn of_this_thread() -> io::Result<Self> {
        Self::at("/proc/thread-self/ns/net")
    }

    /// The one that a file such as `/proc/1/ns/net` leads to.
    ///
    /// # Errors
    /// When there is none, or it is not for us.
    pub fn at(path: &str) -> io::Result<Self> {
        Ok(Self(Arc::new(File::open(path)?.into())))
    }

    /// What tells it from all others that are alive.
    ///
    /// # Errors
    /// None that is known.
    pub fn id(&self) -> io::Result<NamespaceId> {
        let metadata = File::from(self.0.try_clone()?).metadata()?;
        Ok((metadata.dev(), metadata.ino()))
    }

    /// Does `work` in this namespace, on a thread of its own: sockets and devices made there are its own.
    ///
    /// # Errors
    /// When it may not be entered, and what `work` answers.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        in_thread(|| {
            enter(self.0.as_fd(), libc::CLONE_NEWNET)?;
            work()
        })
    }
}

impl AsFd for NetworkNamespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Does `work` on a thread of its own, so that what it does to its namespaces ends with it.
fn in_thread<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, work)?;
        match thread.join() {
            Ok(answer) => answer,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

fn enter(namespace: BorrowedFd<'_>, kind: i32) -> io::Result<()> {
    // SAFETY: the descriptor is borrowed for the call.
    number(unsafe { libc::setns(namespace.as_raw_fd(), kind) }).map(drop)
}

/// Moves this process, which must have one thread only, to a new user namespace in which it is root.
///
/// # Errors
/// [`io::ErrorKind::PermissionDenied`] where ordinary users may not have one; [`io::ErrorKind::InvalidInput`] with more
/// than one thread or without user namespaces.
pub fn become_root_of_user_namespace() -> io::Result<()> {
    // SAFETY: both calls take nothing and cannot fail.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    // SAFETY: the call takes a number and moves only the calling process.
    number(unsafe { libc::unshare(libc::CLONE_NEWUSER) })?;
    // Without this the group map may not be written by somebody without privileges, user_namespaces(7).
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("0 {user} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("0 {group} 1"))
}

/// What a process does to be on a host: whose network it uses, what the host is called, whom it knows by name.
#[derive(Debug, Clone)]
pub struct Entry {
    user: Option<Arc<OwnedFd>>,
    network: NetworkNamespace,
    name: CString,
    hosts_file: CString,
    die_with_parent: bool,
}

impl Entry {
    /// An entry to `network` on a host called `name` that knows others by the file at `hosts_file`.
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

    /// The same entry from outside of the user namespace that `path`, such as `/proc/7/ns/user`, leads to.
    ///
    /// # Errors
    /// When there is none, or it is not for us.
    pub fn through_user_namespace(mut self, path: &str) -> io::Result<Self> {
        let theirs = File::open(path)?;
        let own = File::open("/proc/self/ns/user")?;
        let id = |file: &File| file.metadata().map(|it| (it.dev(), it.ino()));
        if id(&theirs)? != id(&own)? {
            self.user = Some(Arc::new(theirs.into()));
        }
        Ok(self)
    }

    /// The same entry, killed when the thread that starts it ends.
    #[must_use]
    pub fn dying_with_parent(mut self) -> Self {
        self.die_with_parent = true;
        self
    }

    /// Lets `command` start there.
    pub fn apply<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        let entry = self.clone();
        // SAFETY: between fork and exec only system calls are made, on memory that was allocated before.
        unsafe { command.pre_exec(move || entry.go()) }
    }

    /// Enters with the whole process, which must have one thread only: the last thing before another program replaces it.
    ///
    /// # Errors
    /// When one of the namespaces may not be entered.
    pub fn go(&self) -> io::Result<()> {
        if let Some(user) = &self.user {
            enter(user.as_fd(), libc::CLONE_NEWUSER)?;
        }
        enter(self.network.as_fd(), libc::CLONE_NEWNET)?;
        // SAFETY: the call takes a number and moves only the calling process.
        number(unsafe { libc::unshare(libc::CLONE_NEWNS | libc::CLONE_NEWUTS) })?;
        // SAFETY: the name is readable for its length.
        let named = unsafe { libc::sethostname(self.name.as_ptr(), self.name.to_bytes().len()) };
        number(named)?;
        mount(None, c"/", None, libc::MS_REC | libc::MS_PRIVATE)?;
        // A host without its own names or its own view of devices is still a host.
        let _ = mount(Some(&self.hosts_file), c"/etc/hosts", None, libc::MS_BIND);
        let _ = mount(Some(c"sysfs"), c"/sys", Some(c"sysfs"), 0);
        // Last, because a change of credentials takes it back.
        if self.die_with_parent {
            crate::schedule::die_with_parent()?;
        }
        Ok(())
    }
}

fn mount(
    source: Option<&CStr>,
    target: &CStr,
    kind: Option<&CStr>,
    flags: libc::c_ulong,
) -> io::Result<()> {
    let pointer = |text: Option<&CStr>| text.map_or(ptr::null(), CStr::as_ptr);
    // SAFETY: all texts are live and end with a zero byte; a null pointer is allowed for source, kind and data.
    let answer = unsafe {
        libc::mount(
            pointer(source),
            target.as_ptr(),
            pointer(kind),
            flags,
            ptr::null(),
        )
    };
    number(answer).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_of_its_own_has_another_identity() {
        let own = NetworkNamespace::of_this_thread().unwrap();
        let Ok(other) = NetworkNamespace::create() else {
            return;
        };
        assert_ne!(own.id().unwrap(), other.id().unwrap());
        let seen = other.run(|| NetworkNamespace::of_this_thread()?.id());
        assert_eq!(seen.unwrap(), other.id().unwrap());
        let now = NetworkNamespace::of_this_thread().unwrap();
        assert_eq!(own.id().unwrap(), now.id().unwrap());
    }

    #[test]
    fn texts_with_a_zero_byte_are_refused() {
        let own = NetworkNamespace::of_this_thread().unwrap();
        assert!(Entry::new(own, "a\0b", "/x").is_err());
    }
}
