//! Captures of the frames that cross a device, in both directions.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use socket2::{Domain, Socket, Type};

use super::address::{bind_to_device, hardware_type};
use super::block_ring::{BlockRing, RETIRE_MS};
use super::filter::{TrafficFilter, attach};
use crate::poll::poll_readable;
use crate::raw;
use crate::virtio::VirtioNetHeader;

/// Offsets in a `struct tpacket3_hdr`, include/uapi/linux/if_packet.h.
mod header {
    pub(super) const SECONDS: usize = 4;
    pub(super) const NANOSECONDS: usize = 8;
    pub(super) const CAPTURED: usize = 12;
    pub(super) const LENGTH: usize = 16;
    pub(super) const STATUS: usize = 20;
    pub(super) const FRAME: usize = 24;
    pub(super) const VLAN_TAG: usize = 32;
    pub(super) const VLAN_PROTOCOL: usize = 36;
    /// The type of the packet, in the `struct sockaddr_ll` behind the header.
    pub(super) const PACKET_TYPE: usize = 48 + 10;
}
/// Two Ethernet addresses, behind which a VLAN tag belongs.
const ADDRESSES: usize = 12;
/// The length of a VLAN tag.
const TAG: usize = 4;
/// The type of a frame that this machine sent.
const OUTGOING: u8 = 4;
/// The type of a VLAN tag whose own is not known: `ETH_P_8021Q`.
const VLAN: u16 = 0x8100;
/// The devices of modems, whose frames begin with IP: `ARPHRD_RAWIP`.
const RAW_IP: u16 = 519;
/// Maximum time the kernel holds back a block that is not full, with a margin for a busy machine.
const SETTLED: Duration = Duration::from_millis(5 * RETIRE_MS as u64);

/// What to capture.
#[derive(Debug, Clone, Copy)]
pub struct CaptureRequest {
    /// The index of the device, in the namespace of the calling thread.
    pub index: u32,
    /// `true` for a loopback device.
    pub is_loopback: bool,
    /// The number of bytes of a frame that are kept.
    pub snap_bytes: u32,
    /// The size of the ring, bytes.
    pub ring_bytes: usize,
    /// The traffic; all of it without a filter.
    pub filter: Option<TrafficFilter>,
}

/// The format of the first header of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstHeader {
    /// Ethernet, which loopback has as well.
    Ethernet,
    /// IP, as on a tunnel.
    Ip,
}

/// A frame as it crossed the device.
#[derive(Debug, Clone, Copy)]
pub struct ObservedFrame<'a> {
    /// What was kept of it.
    pub bytes: &'a [u8],
    /// The time the kernel saw it, ns since 1970.
    pub realtime_ns: u64,
    /// The bytes it had.
    pub original_bytes: u32,
    /// `true` when this machine sent it.
    pub is_outgoing: bool,
    /// What the kernel knows about its segmentation.
    pub virtio: VirtioNetHeader,
}

/// The frames a capture saw: `struct tpacket_stats_v3`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CaptureCounters {
    /// Frames that the filter selected, with those that were dropped.
    pub seen: u64,
    /// Frames that were dropped, as there was no room in the ring.
    pub dropped: u64,
}

/// A capture of a device.
#[derive(Debug)]
pub struct FrameCapture {
    ring: BlockRing,
    socket: Socket,
    first_header: FirstHeader,
    snap_bytes: usize,
    counters: CaptureCounters,
    tagged: Vec<u8>,
}

impl FrameCapture {
    /// Begins to capture.
    ///
    /// # Errors
    /// [`io::ErrorKind::PermissionDenied`] without the capability `CAP_NET_RAW`, [`io::ErrorKind::Unsupported`] for a device whose frames begin
    /// neither with Ethernet nor with IP; `ENOMEM` without memory.
    pub fn open(request: &CaptureRequest) -> io::Result<Self> {
        // No protocol yet, so that nothing is received before the filter and the ring are there.
        let socket = Socket::new(Domain::PACKET, Type::RAW, None)?;
        attach(
            &socket,
            request.filter.as_ref(),
            request.is_loopback,
            request.snap_bytes,
        )?;
        // Before the ring: the kernel leaves room for it in each frame.
        raw::set_int(&socket, libc::SOL_PACKET, libc::PACKET_VNET_HDR, 1)?;
        let ring = BlockRing::open(&socket, request.ring_bytes)?;
        bind_to_device(&socket, request.index)?;
        let first_header = match hardware_type(&socket)? {
            libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK => FirstHeader::Ethernet,
            libc::ARPHRD_NONE | libc::ARPHRD_TUNNEL | libc::ARPHRD_TUNNEL6 | RAW_IP => {
                FirstHeader::Ip
            }
            _ => return Err(io::ErrorKind::Unsupported.into()),
        };
        Ok(Self {
            ring,
            socket,
            first_header,
            snap_bytes: request.snap_bytes as usize,
            counters: CaptureCounters::default(),
            tagged: Vec::new(),
        })
    }

    /// What its frames begin with.
    #[must_use]
    pub const fn first_header(&self) -> FirstHeader {
        self.first_header
    }

    /// Waits for frames, at most until the timeout, and passes them to `each`; `false` when none came.
    ///
    /// # Errors
    /// When the device is gone or down.
    pub fn receive(
        &mut self,
        timeout: Duration,
        each: &mut dyn FnMut(&ObservedFrame<'_>),
    ) -> io::Result<bool> {
        if self.take_block(each) {
            return Ok(true);
        }
        if poll_readable(&[self.socket.as_fd()], Some(timeout))? == [true] {
            if self.take_block(each) {
                return Ok(true);
            }
            self.socket.take_error()?.map_or(Ok(false), Err)
        } else {
            Ok(false)
        }
    }

    /// Passes on the frames that the device has seen so far and that were not handed over yet.
    ///
    /// # Errors
    /// When the device is gone or down.
    pub fn finish(
        &mut self,
        now_ns: u64,
        each: &mut dyn FnMut(&ObservedFrame<'_>),
    ) -> io::Result<()> {
        let mut is_past = false;
        while !is_past
            && self.receive(SETTLED, &mut |frame| {
                is_past = frame.realtime_ns > now_ns;
                if !is_past {
                    each(frame);
                }
            })?
        {}
        Ok(())
    }

    fn take_block(&mut self, each: &mut dyn FnMut(&ObservedFrame<'_>)) -> bool {
        let (tagged, first_header) = (&mut self.tagged, self.first_header);
        let snap_bytes = self.snap_bytes;
        self.ring.take(&mut |mut block| {
            while let Some(frame) = block.next() {
                if let Some(frame) = observed(frame, (first_header, snap_bytes), tagged) {
                    each(&frame);
                }
            }
        })
    }

    /// The frames seen and dropped since it began.
    ///
    /// # Errors
    /// Any error of getsockopt(2).
    pub fn counters(&mut self) -> io::Result<CaptureCounters> {
        // Reading sets the kernel's own count back to zero.
        let mut statistics = [0; 12];
        raw::get_option(
            &self.socket,
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            &mut statistics,
        )?;
        let count = |at| u64::from(raw::u32_at(&statistics, at).unwrap_or(0));
        self.counters.seen += count(0);
        self.counters.dropped += count(4);
        Ok(self.counters)
    }
}

impl AsFd for FrameCapture {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The frame behind a `struct tpacket3_hdr`; `None` when its header contradicts itself. A VLAN tag that the kernel took out is put
/// back, with the help of `tagged`; no more than `snap_bytes` bytes are kept with it.
fn observed<'a>(
    frame: &'a [u8],
    (first_header, snap_bytes): (FirstHeader, usize),
    tagged: &'a mut Vec<u8>,
) -> Option<ObservedFrame<'a>> {
    let word = |at| raw::u32_at(frame, at);
    let from = usize::from(raw::u16_at(frame, header::FRAME)?);
    let captured = word(header::CAPTURED)? as usize;
    let mut bytes = frame.get(from..from.checked_add(captured)?)?;
    // Right in front of the frame.
    let virtio = frame.get(from.checked_sub(VirtioNetHeader::BYTES)?..from)?;
    let mut original_bytes = word(header::LENGTH)?;
    let status = word(header::STATUS)?;
    let is_tagged = status & libc::TP_STATUS_VLAN_VALID != 0;
    if is_tagged && first_header == FirstHeader::Ethernet && captured >= ADDRESSES {
        let protocol = match status & libc::TP_STATUS_VLAN_TPID_VALID {
            0 => VLAN,
            _ => raw::u16_at(frame, header::VLAN_PROTOCOL)?,
        };
        let tag = word(header::VLAN_TAG)? as u16;
        tagged.clear();
        tagged.extend_from_slice(&bytes[..ADDRESSES]);
        tagged.extend_from_slice(&protocol.to_be_bytes());
        tagged.extend_from_slice(&tag.to_be_bytes());
        tagged.extend_from_slice(&bytes[ADDRESSES..]);
        // Readers refuse a file with more bytes of a frame than its interface keeps.
        tagged.truncate(snap_bytes);
        bytes = tagged;
        original_bytes = original_bytes.saturating_add(TAG as u32);
    }
    Some(ObservedFrame {
        bytes,
        realtime_ns: u64::from(word(header::SECONDS)?) * 1_000_000_000
            + u64::from(word(header::NANOSECONDS)?),
        original_bytes,
        is_outgoing: *frame.get(header::PACKET_TYPE)? == OUTGOING,
        virtio: VirtioNetHeader::read(virtio)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::Interface;
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};

    fn lo(filter: TrafficFilter) -> Option<FrameCapture> {
        let opened = FrameCapture::open(&CaptureRequest {
            index: Interface::by_name("lo").unwrap().index,
            is_loopback: true,
            snap_bytes: 96,
            ring_bytes: 2 << 20,
            filter: Some(filter),
        });
        match opened {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => None,
            opened => Some(opened.unwrap()),
        }
    }

    fn frames(capture: &mut FrameCapture) -> Vec<(Vec<u8>, u32, VirtioNetHeader)> {
        let mut frames = Vec::new();
        let now = crate::clock::realtime_ns();
        capture
            .finish(now, &mut |frame| {
                frames.push((frame.bytes.to_vec(), frame.original_bytes, frame.virtio));
            })
            .unwrap();
        frames
    }

    #[test]
    fn a_capture_has_the_traffic_of_its_port_and_no_other() {
        let local = (Ipv4Addr::LOCALHOST, 0);
        let (wanted, other) = (
            UdpSocket::bind(local).unwrap(),
            UdpSocket::bind(local).unwrap(),
        );
        let filter = TrafficFilter {
            peer: Ipv4Addr::LOCALHOST.into(),
            port: wanted.local_addr().unwrap().port(),
        };
        let Some(mut capture) = lo(filter) else {
            return;
        };
        let sender = UdpSocket::bind(local).unwrap();
        for (to, number) in [&wanted, &other, &wanted].into_iter().zip(1_u8..) {
            let sent = sender.send_to(&[number; 200], to.local_addr().unwrap());
            assert_eq!(sent.unwrap(), 200);
        }
        let frames = frames(&mut capture);
        let seen: Vec<(usize, u32, u8)> = frames
            .iter()
            .map(|(bytes, original, _)| (bytes.len(), *original, bytes[95]))
            .collect();
        assert_eq!(seen, [(96, 242, 1), (96, 242, 3)]);
        let counters = capture.counters().unwrap();
        assert_eq!((counters.seen, counters.dropped), (2, 0));
    }

    /// A frame of 1500 bytes of which 128 were captured, behind its `struct tpacket3_hdr`, with the VLAN tag 5 in that header.
    fn tagged_frame() -> Vec<u8> {
        let (from, captured) = (82_usize, 128_usize);
        let mut frame = vec![0; from];
        let mut set = |at: usize, bytes: &[u8]| frame[at..at + bytes.len()].copy_from_slice(bytes);
        set(header::CAPTURED, &(captured as u32).to_ne_bytes());
        set(header::LENGTH, &1500_u32.to_ne_bytes());
        let status = libc::TP_STATUS_VLAN_VALID | libc::TP_STATUS_VLAN_TPID_VALID;
        set(header::STATUS, &status.to_ne_bytes());
        set(header::FRAME, &(from as u16).to_ne_bytes());
        set(header::VLAN_TAG, &5_u32.to_ne_bytes());
        set(header::VLAN_PROTOCOL, &0x88a8_u16.to_ne_bytes());
        frame.extend((0..captured).map(|byte| byte as u8));
        frame
    }

    #[test]
    fn a_tag_is_put_back_and_the_frame_is_not_longer_than_what_is_kept() {
        let (frame, mut tagged) = (tagged_frame(), Vec::new());
        for (snap_bytes, kept) in [(128, 128), (131, 131), (262_144, 132)] {
            let ethernet = (FirstHeader::Ethernet, snap_bytes);
            let seen = observed(&frame, ethernet, &mut tagged).unwrap();
            assert_eq!((seen.bytes.len(), seen.original_bytes), (kept, 1504));
            assert_eq!(seen.bytes[11..18], [11, 0x88, 0xa8, 0, 5, 12, 13]);
        }
    }

    #[test]
    fn a_header_that_contradicts_itself_is_no_frame() {
        let whole = tagged_frame();
        let mut tagged = Vec::new();
        for length in 0..whole.len() {
            let ethernet = (FirstHeader::Ethernet, 128);
            assert!(observed(&whole[..length], ethernet, &mut tagged).is_none());
        }
        for (at, bytes) in [
            (header::CAPTURED, u32::MAX.to_ne_bytes().to_vec()),
            (header::FRAME, u16::MAX.to_ne_bytes().to_vec()),
            (header::FRAME, 9_u16.to_ne_bytes().to_vec()),
        ] {
            let mut frame = whole.clone();
            frame[at..at + bytes.len()].copy_from_slice(&bytes);
            assert!(observed(&frame, (FirstHeader::Ethernet, 128), &mut tagged).is_none());
        }
    }

    #[test]
    fn what_the_kernel_is_yet_to_split_is_told() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        // The connection takes it over, so that loopback has segments as Ethernet has.
        socket2::SockRef::from(&listener).set_tcp_mss(1448).unwrap();
        let address = listener.local_addr().unwrap();
        let filter = TrafficFilter {
            peer: address.ip(),
            port: address.port(),
        };
        let Some(mut capture) = lo(filter) else {
            return;
        };
        let mut sender = TcpStream::connect(address).unwrap();
        let mut receiver = listener.accept().unwrap().0;
        sender.write_all(&[7; 300_000]).unwrap();
        drop(sender);
        let mut arrived = Vec::new();
        receiver.read_to_end(&mut arrived).unwrap();
        let frames = frames(&mut capture);
        let large: Vec<_> = frames
            .iter()
            .filter(|(bytes, original, virtio)| {
                bytes.len() == 96 && *original > 10_000 && virtio.gso_type == 1
            })
            .collect();
        let size = large.first().expect("no frame of several segments").2;
        assert!((1400..=1448).contains(&size.gso_size), "{size:?}");
    }
}
