//! TAP devices: Ethernet devices whose frames a process reads and writes.

use std::ffi::c_ulong;
use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

use crate::interface::ifreq;
use crate::raw::number;
use crate::virtio::VirtioNetHeader;

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
        let flags = libc::IFF_TAP | libc::IFF_NO_PI | libc::IFF_TUN_EXCL | libc::IFF_VNET_HDR;
        interface.ifr_ifru.ifru_flags = flags as _;
        // SAFETY: `interface` is live and the descriptor is borrowed for the call.
        number(unsafe { libc::ioctl(file.as_raw_fd(), TUNSETIFF as _, &mut interface) })?;
        Ok(Self(file))
    }

    /// Lets the host leave checksums and the segmentation of TCP and UDP to the reader, as network cards do, or nothing.
    ///
    /// # Errors
    /// When the kernel does not have it.
    pub fn set_segmentation(&self, is_on: bool) -> io::Result<()> {
        /// Source: include/uapi/linux/if_tun.h, as are the flags.
        const TUNSETOFFLOAD: c_ulong = 0x4004_54d0;
        const CHECKSUM: c_ulong = 0x01;
        const TCP: c_ulong = 0x02 | 0x04;
        /// Since Linux 6.2.
        const UDP: c_ulong = 0x20 | 0x40;
        let set = |flags: c_ulong| {
            // SAFETY: the request takes a number, and the descriptor is borrowed for the call.
            number(unsafe { libc::ioctl(self.0.as_raw_fd(), TUNSETOFFLOAD as _, flags) })
        };
        if !is_on {
            return set(0).map(drop);
        }
        set(CHECKSUM | TCP | UDP)
            .or_else(|_| set(CHECKSUM | TCP))
            .map(drop)
    }

    /// The next frame the device sends, from destination address to the end of the payload: its length, and how it is to be checksummed and
    /// segmented.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] when there is none.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<(usize, VirtioNetHeader)> {
        let mut header = [0; VirtioNetHeader::BYTES];
        let mut parts = [IoSliceMut::new(&mut header), IoSliceMut::new(buffer)];
        let length = (&self.0).read_vectored(&mut parts)?;
        let read = VirtioNetHeader::read(&header).unwrap_or_default();
        Ok((length.saturating_sub(VirtioNetHeader::BYTES), read))
    }

    /// Passes a frame of two parts to the device to receive.
    ///
    /// # Errors
    /// When the device is down, the frame is too short, or its header is wrong.
    pub fn write(&self, header: VirtioNetHeader, frame: [&[u8]; 2]) -> io::Result<()> {
        let header = header.to_bytes();
        let [first, second] = frame;
        let parts = [&header, first, second].map(IoSlice::new);
        (&self.0).write_vectored(&parts).map(drop)
    }
}

impl AsFd for Tap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
