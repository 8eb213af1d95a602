//! Ethernet devices whose wire is a file descriptor.

use std::ffi::c_ulong;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

use crate::raw::number;

/// A device that hands over the frames it sends, and receives the frames it is handed. It is gone with this value.
#[derive(Debug)]
pub struct Tap(File);

impl Tap {
    /// Makes a device called `name` in the namespace of the calling thread. It is down.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] and [`io::ErrorKind::PermissionDenied`] when `/dev/net/tun` is not there or not for us;
    /// when the name is taken.
    pub fn create(name: &str) -> io::Result<Self> {
        const SET_INTERFACE: c_ulong = 0x4004_54ca;
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open("/dev/net/tun")?;
        // SAFETY: every part of the structure is made of numbers and pointers; all zero is a value.
        let mut interface: libc::ifreq = unsafe { mem::zeroed() };
        // The last byte stays zero, to end the name.
        if name.len() >= interface.ifr_name.len() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        for (into, byte) in interface.ifr_name.iter_mut().zip(name.bytes()) {
            *into = byte as _;
        }
        let flags = libc::IFF_TAP | libc::IFF_NO_PI | libc::IFF_TUN_EXCL;
        interface.ifr_ifru.ifru_flags = flags as _;
        // SAFETY: `interface` is live and the descriptor is borrowed for the call.
        number(unsafe { libc::ioctl(file.as_raw_fd(), SET_INTERFACE as _, &mut interface) })?;
        Ok(Self(file))
    }

    /// The next frame the device sends, from destination address to the end of the payload.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] when there is none.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        (&self.0).read(buffer)
    }

    /// Lets the device receive a frame.
    ///
    /// # Errors
    /// When the device is down or the frame is too short for one.
    pub fn write(&self, frame: &[u8]) -> io::Result<()> {
        (&self.0).write(frame).map(drop)
    }
}

impl AsFd for Tap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
