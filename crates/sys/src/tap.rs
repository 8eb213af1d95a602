//! TAP devices: Ethernet devices whose frames a process reads and writes.

use std::ffi::c_ulong;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

use crate::interface::ifreq;
use crate::raw::number;

/// A TAP device: the frames it sends are read here, and those written here it receives. Dropping this value removes it.
#[derive(Debug)]
pub struct Tap(File);

impl Tap {
    /// Creates a device called `name` in the namespace of the calling thread. It is down.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] and [`io::ErrorKind::PermissionDenied`] when `/dev/net/tun` is missing or may not be
    /// opened; [`io::ErrorKind::InvalidInput`] when the name is too long; when it is taken.
    pub fn create(name: &str) -> io::Result<Self> {
        /// Source: include/uapi/linux/if_tun.h.
        const TUNSETIFF: c_ulong = 0x4004_54ca;
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open("/dev/net/tun")?;
        let mut interface = ifreq(name)?;
        let flags = libc::IFF_TAP | libc::IFF_NO_PI | libc::IFF_TUN_EXCL;
        interface.ifr_ifru.ifru_flags = flags as _;
        // SAFETY: `interface` is live and the descriptor is borrowed for the call.
        number(unsafe { libc::ioctl(file.as_raw_fd(), TUNSETIFF as _, &mut interface) })?;
        Ok(Self(file))
    }

    /// The next frame the device sends, from destination address to the end of the payload.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] when there is none.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        (&self.0).read(buffer)
    }

    /// Passes a frame to the device to receive.
    ///
    /// # Errors
    /// When the device is down or the frame is too short.
    pub fn write(&self, frame: &[u8]) -> io::Result<()> {
        (&self.0).write(frame).map(drop)
    }
}

impl AsFd for Tap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
