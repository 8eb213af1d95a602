//! Network namespaces.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

use rustix::thread::{LinkNameSpaceType, UnshareFlags};
use socket2::{Domain, Socket, Type};

use crate::raw;

use super::enter::{enter, enter_new};

/// A network namespace, alive as long as this value, a copy of its descriptor, or a process in it.
#[derive(Debug, Clone)]
pub struct NetworkNamespace(Arc<OwnedFd>);

/// The identity of a namespace among all that are alive: device and inode.
pub type NamespaceId = (u64, u64);

impl NetworkNamespace {
    /// A new namespace with nothing in it but a loopback device that is down.
    ///
    /// # Errors
    /// [`io::ErrorKind::PermissionDenied`] without the capability `CAP_SYS_ADMIN`;
    /// [`io::ErrorKind::InvalidInput`] on a kernel without network namespaces; when there are too many.
    pub fn create() -> io::Result<Self> {
        in_thread(|| {
            enter_new(UnshareFlags::NEWNET)?;
            Self::of_this_thread()
        })
    }

    /// The namespace of the calling thread.
    ///
    /// # Errors
    /// When `/proc` is not mounted.
    pub fn of_this_thread() -> io::Result<Self> {
        Self::open("/proc/thread-self/ns/net")
    }

    /// The namespace to which a file such as `/proc/1/ns/net` refers.
    ///
    /// # Errors
    /// When there is no such file, or it may not be opened.
    pub fn open(path: &str) -> io::Result<Self> {
        Ok(Self(Arc::new(File::open(path)?.into())))
    }

    /// The identity of the namespace.
    ///
    /// # Errors
    /// Any error of fstat(2).
    pub fn id(&self) -> io::Result<NamespaceId> {
        let metadata = File::from(self.0.try_clone()?).metadata()?;
        Ok((metadata.dev(), metadata.ino()))
    }

    /// A number of the namespace of the calling thread that no other gets until the machine restarts (`SO_NETNS_COOKIE`); on kernels
    /// before 5.14 the inode of the namespace, which another may get once this one is gone.
    ///
    /// # Errors
    /// When no socket can be made.
    pub fn cookie() -> io::Result<u64> {
        let socket = Socket::new(Domain::UNIX, Type::DGRAM, None)?;
        let mut cookie = [0; 8];
        match raw::get_option(
            &socket,
            libc::SOL_SOCKET,
            libc::SO_NETNS_COOKIE,
            &mut cookie,
        ) {
            Ok(8) => Ok(u64::from_ne_bytes(cookie)),
            _ => Ok(Self::of_this_thread()?.id()?.1),
        }
    }

    /// Calls `work` in this namespace, on a thread of its own: the sockets and devices it makes belong to the namespace.
    ///
    /// # Errors
    /// When the namespace may not be entered, and the errors of `work`.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        in_thread(|| {
            enter(self.0.as_fd(), LinkNameSpaceType::Network)?;
            work()
        })
    }
}

impl AsFd for NetworkNamespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Calls `work` on a thread of its own, so that changes of its namespaces end with it.
fn in_thread<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, work)?;
        match thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_namespace_has_another_identity() {
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
}
