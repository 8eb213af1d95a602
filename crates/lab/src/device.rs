//! The emulator's side of a host's interface.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use caudal_link::checksum;
use caudal_link::segmentation::{Segmentation, SegmentedProtocol};
use caudal_link::super_frame::SegmentRun;
use caudal_sys::clock;
use caudal_sys::packet::PacketRing;
use caudal_sys::tap::Tap;
use caudal_sys::virtio::VirtioNetHeader;

/// The emulator's side of a host's interface.
#[derive(Debug)]
pub(crate) enum Device {
    /// A TAP device in the host.
    Tap(Tap),
    /// The far end of a veth pair, in the emulator's own namespace.
    Packet(PacketRing),
}

/// What a host has sent.
pub(crate) struct ReceivedFrame<'a> {
    /// Its content.
    pub(crate) bytes: &'a [u8],
    /// How it is to be segmented; `None` for a frame as it is sent on a wire.
    pub(crate) segmentation: Option<Segmentation>,
    /// The monotonic time in nanoseconds at which it was sent: the kernel's timestamp for a packet ring, the time of reading for a TAP device.
    pub(crate) sent_ns: u64,
}

impl Device {
    /// Calls `handle` with what the host has sent next, read at `now`. `None` when there is nothing.
    pub(crate) fn receive<T>(
        &mut self,
        buffer: &mut [u8],
        now: u64,
        handle: impl FnOnce(ReceivedFrame<'_>) -> T,
    ) -> io::Result<Option<T>> {
        match self {
            Self::Tap(tap) => match tap.read(buffer) {
                Ok((length, header)) => {
                    let bytes = &mut buffer[..length];
                    let segmentation = segmentation(header);
                    if segmentation.is_none() && header.needs_checksum {
                        checksum::complete(
                            bytes,
                            header.checksum_start.into(),
                            header.checksum_offset.into(),
                        );
                    }
                    Ok(Some(handle(ReceivedFrame {
                        bytes,
                        segmentation,
                        sent_ns: now,
                    })))
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(None),
                Err(error) => Err(error),
            },
            Self::Packet(ring) => Ok(ring.receive(|frame| {
                // The timestamp is of the real-time clock, which may be set: an age of more than a second is not credible.
                let age = clock::realtime_ns().saturating_sub(frame.realtime_ns);
                let age = if age > 1_000_000_000 { 0 } else { age };
                handle(ReceivedFrame {
                    bytes: frame.bytes,
                    segmentation: None,
                    sent_ns: clock::monotonic_ns().saturating_sub(age),
                })
            })),
        }
    }

    /// Delivers a frame to the host.
    pub(crate) fn send(&self, frame: &[u8]) -> io::Result<()> {
        match self {
            // The host's kernel checks the checksum, as it does behind a network card that cannot.
            Self::Tap(tap) => tap.write(VirtioNetHeader::default(), [frame, &[]]),
            Self::Packet(ring) => ring.send(frame),
        }
    }

    /// Delivers the frames of a run to the host, as one packet where there are several.
    pub(crate) fn send_run(&self, run: &SegmentRun) -> io::Result<()> {
        let headers = run.headers();
        match self {
            Self::Tap(tap) => tap.write(header(run, headers.len()), [&headers, run.payload()]),
            Self::Packet(ring) => ring.send(&[&headers, run.payload()].concat()),
        }
    }

    /// `true` when frames can be delivered as one packet.
    pub(crate) const fn takes_runs(&self) -> bool {
        matches!(self, Self::Tap(_))
    }

    /// Lets the host leave checksums and segmentation to this side, or nothing.
    pub(crate) fn set_segmentation(&self, is_on: bool) -> io::Result<()> {
        match self {
            Self::Tap(tap) => tap.set_segmentation(is_on),
            Self::Packet(_) if is_on => Err(io::ErrorKind::Unsupported.into()),
            Self::Packet(_) => Ok(()),
        }
    }

    /// The frames dropped since the last call because the ring was full.
    pub(crate) fn take_unread(&self) -> u64 {
        match self {
            Self::Tap(_) => 0,
            Self::Packet(ring) => ring.dropped().unwrap_or(0).into(),
        }
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tap(tap) => tap.as_fd(),
            Self::Packet(ring) => ring.as_fd(),
        }
    }
}

/// How a packet with this header is to be segmented.
fn segmentation(header: VirtioNetHeader) -> Option<Segmentation> {
    let protocol = match header.gso_type {
        VirtioNetHeader::TCP_IPV4 | VirtioNetHeader::TCP_IPV6 => SegmentedProtocol::Tcp,
        VirtioNetHeader::UDP => SegmentedProtocol::Udp,
        _ => return None,
    };
    Some(Segmentation {
        protocol,
        transport_at: header.checksum_start.into(),
        segment_bytes: header.gso_size.into(),
    })
}

/// The header of the packet of a run whose headers are this long.
fn header(run: &SegmentRun, header_bytes: usize) -> VirtioNetHeader {
    // Headers and segments are shorter than 64 KiB, as the packets that they were read in are.
    run.segmentation()
        .map_or_else(VirtioNetHeader::default, |segmentation| VirtioNetHeader {
            needs_checksum: true,
            gso_type: match (segmentation.protocol, run.is_ipv6()) {
                (SegmentedProtocol::Tcp, false) => VirtioNetHeader::TCP_IPV4,
                (SegmentedProtocol::Tcp, true) => VirtioNetHeader::TCP_IPV6,
                (SegmentedProtocol::Udp, _) => VirtioNetHeader::UDP,
            },
            header_bytes: header_bytes as u16,
            gso_size: segmentation.segment_bytes as u16,
            checksum_start: segmentation.transport_at as u16,
            checksum_offset: segmentation.checksum_at() as u16,
        })
}
